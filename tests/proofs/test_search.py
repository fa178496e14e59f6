"""The smallest strengths: enough is enough, and one less is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

import exactformer as xf
from exactformer.circuits import Circuit
from exactformer.proofs import Lookup, Sequences, prove, search
from exactformer.proofs.search import Strength, smallest_strengths
from plain_pass import PlainPass


@pytest.fixture(scope="module")
def circuit() -> Circuit:
    circuit = xf.load("induction").circuit
    assert circuit is not None
    return circuit


@pytest.fixture(scope="module")
def found(circuit: Circuit) -> list[Strength]:
    return list(smallest_strengths(circuit, Lookup(), 5, workers=1))


def test_growth_with_the_length(found: list[Strength]) -> None:
    assert [row.length for row in found] == [1, 2, 3, 4, 5]
    assert [row.strength for row in found] == [0, 0, 1, 1, 2]
    assert [row.report.sequences for row in found if row.report] == [4, 20, 84, 340, 1364]


def test_the_theorem_holds_at_the_strength_that_was_found(circuit: Circuit, found: list[Strength]) -> None:
    for row in found:
        assert row.strength is not None
        assert row.report is not None
        assert row.report.verdict == "proved"
        if row.length <= 4:  # every sequence again, in floats: no rival comes near
            plain = PlainPass(circuit.stronger(row.strength).build())
            for tokens in Sequences(circuit.vocabulary, row.length):
                right = Lookup()(tokens).right or set(circuit.vocabulary)
                assert plain.winners(tokens, 1e-9) <= right


def test_with_one_less_the_counterexample_is_real(circuit: Circuit, found: list[Strength]) -> None:
    for row in found:
        assert row.strength is not None
        if row.strength == 0:
            assert row.below is None
            continue
        assert row.below is not None
        weaker = circuit.stronger(row.strength - 1).build()
        plain = PlainPass(weaker, 60)
        right = Lookup()(row.below.tokens).right
        winners = plain.winners(row.below.tokens, plain.context.mpf(10) ** -40)
        assert len(row.below.tokens) <= row.length
        assert not winners <= right
        assert {row.below.token, *row.below.ties} == winners
        assert set(row.below.right) == right
        report = prove(weaker, [row.below.tokens], Lookup(), workers=1)
        assert report.verdict == "refuted"


def test_longer_than_the_circuit_without_losing_its_symmetry(circuit: Circuit) -> None:
    short = replace(circuit, length=2)
    rows = list(smallest_strengths(short, Lookup(), 4, workers=1))
    assert [(row.strength, row.report and row.report.cases) for row in rows] == [(0, 1), (0, 3), (1, 8), (1, 23)]


def test_a_rule_that_no_strength_meets_ends_the_search(circuit: Circuit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "CAP", 4)
    (row,) = smallest_strengths(circuit, lambda tokens: "a", 3, workers=1)
    assert (row.length, row.strength, row.report) == (1, None, None)
    assert row.below is not None
    assert row.below.verdict == "refuted"


def test_what_is_undecided_ends_the_search(circuit: Circuit) -> None:
    (row,) = smallest_strengths(circuit, Lookup(), 3, "arb", workers=1)  # a ball cannot prove that all tie
    assert (row.length, row.strength) == (1, None)
    assert row.report is not None
    assert row.report.verdict == "undecided"
