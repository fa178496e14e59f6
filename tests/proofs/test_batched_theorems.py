"""Theorems by batches: verdicts, counts, journals, positions, and whatever the way in which they are run."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.trials import batches as trials
from render_reports import comparable

import exactformer as xf
from exactformer.model import Model, forward
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.proofs import Demand, Product, Report, Sequences, prove
from exactformer.proofs.batches import Batches, asking
from exactformer.proofs.chunks import RunError
from exactformer.proofs.journal import JournalError

Tokens = tuple[str, ...]


@pytest.mark.parametrize("seed", range(3))
def test_batch_single_and_balls_say_the_same(seed: int) -> None:
    assert trials.verdicts(random.Random(seed), 8).failed == []


@pytest.mark.parametrize("seed", range(8))
def test_no_rule_is_proved_that_is_false(seed: int) -> None:
    assert trials.rules(random.Random(100 + seed), 6).failed == []


@pytest.mark.parametrize("seed", range(8))
def test_damaged_weights_are_refuted_where_they_matter(seed: int) -> None:
    assert trials.damaged(random.Random(200 + seed)).failed == []


@pytest.fixture(scope="module")
def model() -> Model:
    return trials.drawn_model(random.Random(5), near_tie=False)


def own(model: Model, flipped: Tokens | None = None) -> Any:
    """What the model says in floats; something else of one input."""
    plain = FloatArithmetic("float64")

    def rule(tokens: Tokens) -> Any:
        """what floats say"""
        said = int(forward(model, model.ids(tokens), plain)[-1].argmax())
        return Demand(frozenset([model.config.vocabulary[said - (tokens == flipped)]]), "ends in " + tokens[-1])

    return rule


def proof(model: Model, rule: Any, **options: Any) -> Report:
    domain = options.pop("domain", Sequences(model.config.vocabulary, 3))
    return prove(model, domain, rule, arithmetic_name="certified", **({"workers": 1} | options))


def test_a_rule_changed_in_one_place_is_refuted_at_exactly_that_input(model: Model) -> None:
    assert proof(model, own(model)).verdict == "proved"
    report = proof(model, own(model, ("b", "a", "c")))
    assert [failure.tokens for failure in report.failures] == [("b", "a", "c")]
    assert report.counts["refuted"] == 1


def test_the_report_is_the_same_however_it_is_run(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactformer.proofs.batches._FEWEST", 16)
    rule, journal = own(model, ("b", "a", "c")), tmp_path / "journal"
    whole = proof(model, rule, loss=True)
    assert comparable(proof(model, rule, loss=True, workers=2)) == comparable(whole)
    proof(model, rule, loss=True, journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) > 4  # a header, and one for every batch
    journal.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # killed while the third batch was written
    resumed = proof(model, rule, loss=True, journal=journal)
    assert resumed.resumed > 0
    assert comparable(resumed) == comparable(whole)
    with pytest.raises(JournalError, match="was judged by another rule"):
        proof(model, own(model), loss=True, journal=journal)


def test_results_that_cannot_be_are_refused(model: Model, tmp_path: Path) -> None:
    """Each field of a result, changed, with checksums renewed: refused, or the same report."""
    from exactformer.proofs.journal import _seal

    rule, journal = own(model, ("b", "a", "c")), tmp_path / "journal"
    proof(model, rule, domain=Sequences(model.config.vocabulary, 3, 3), journal=journal)
    header, line = journal.read_bytes().splitlines(keepends=True)
    _, number, result = json.loads(line)
    first = json.loads(header)[0].encode()
    for name, value in {
        "first": 1, "inputs": 5, "demanded": "0" * 16, "right": result["right"] + 1, "wrong": [], "least": {}, "leads": [{}],
        "loss": [1.0, 0.0], "open": {"0": []}, "more": 1,
    }.items():  # fmt: skip
        body = json.dumps([number, result | {name: value}], separators=(",", ":"))[1:-1].encode()
        journal.write_bytes(header + _seal(first, body)[1])
        with pytest.raises(JournalError, match="case 0"):
            proof(model, rule, domain=Sequences(model.config.vocabulary, 3, 3), journal=journal)


def test_everything_that_is_wrong_in_the_order_of_the_domain(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactformer.proofs.batches._FEWEST", 16)
    wrong: list[Any] = []
    report = proof(model, lambda tokens: "a", workers=2, wrong=wrong.append)
    assert len(wrong) == report.counts["refuted"] > 10
    expected = [tokens for tokens in Sequences(model.config.vocabulary, 3) if own(model)(tokens).right != {"a"}]
    assert [failure.tokens for failure, _ in wrong] == expected
    assert all(lead > 0 for _, lead in wrong)


def test_counts_leads_and_loss_against_floats(model: Model) -> None:
    report = proof(model, lambda tokens: tokens[0], domain=Sequences(model.config.vocabulary, 3, 3), loss=True)
    plain, losses, right = FloatArithmetic("float64"), [], 0
    for tokens in product(model.config.vocabulary, repeat=3):
        row = forward(model, model.ids(tokens), plain)[-1]
        wanted = model.ids(tokens[:1])[0]
        losses.append(float(np.log(np.exp(row - row[wanted]).sum())))
        right += int(row.argmax()) == wanted
    assert report.counts["proved"] == right
    assert report.accuracy == (Fraction(right, len(losses)), Fraction(right, len(losses)))
    assert report.loss is not None
    low, high = map(float, report.loss)
    assert low <= np.mean(losses) <= high < low * (1 + 1e-6)
    assert report.leads is not None
    assert sum(report.leads.right.values()) == right
    assert sum(report.leads.wrong.values()) == len(losses) - right


def test_answers_at_other_positions(model: Model) -> None:
    if not model.config.keeps_past:
        pytest.skip("a model with a mask is meant")
    plain, domain = FloatArithmetic("float64"), Product((("a", "b"), ("c",), model.config.vocabulary))

    def each(tokens: Tokens) -> list[str]:
        said = forward(model, model.ids(tokens), plain).argmax(axis=1)
        return [model.config.vocabulary[int(said[position])] for position in (0, 2)]

    report = proof(model, each, domain=domain, positions=[0, 2])
    assert report.verdict == "proved"
    assert report.sequences == 2 * len(model.config.vocabulary)
    with pytest.raises(ValueError, match="it must name 2 tokens"):
        proof(model, lambda tokens: "a", domain=domain, positions=[0, 2])
    for positions in ([3], [2, 0], [], [0, 0]):
        with pytest.raises(RunError, match="positions"):
            proof(model, each, domain=domain, positions=positions)


def test_several_right_tokens_and_none(model: Model) -> None:
    everything = frozenset(model.config.vocabulary)
    two = proof(model, lambda tokens: everything - {"a"}, domain=Sequences(model.config.vocabulary, 2))
    one = proof(model, lambda tokens: "a", domain=Sequences(model.config.vocabulary, 2))
    assert two.counts["proved"] == one.counts["refuted"]
    assert proof(model, lambda tokens: everything, domain=Sequences(("a",), 2)).verdict == "proved"
    assert proof(model, lambda tokens: Demand(frozenset()), domain=Sequences(("a",), 2)).verdict == "refuted"
    assert proof(model, lambda tokens: "not there", domain=Sequences(("a",), 2)).verdict == "refuted"


def test_tokens_that_are_fed_back(model: Model) -> None:
    """Three tokens, one after the other, as the arithmetic of balls says them."""
    inputs = [("a",), ("b",), ("c",)]
    said = {tokens: [a["token"] for a in trials.Case(model, "arb", 3)(tokens)] for tokens in inputs}

    def rule(tokens: Tokens) -> str:
        return said[tokens[:1]][len(tokens) - 1]

    assert proof(model, rule, domain=inputs, steps=3).verdict == "proved"
    said["b",][1] = next(token for token in model.config.vocabulary if token != said["b",][1])
    report = proof(model, rule, domain=inputs, steps=3)
    assert [failure.tokens for failure in report.failures] == [("b", said["b",][0])]


def test_a_domain_of_any_size_takes_no_memory(model: Model) -> None:
    batches = Batches(Sequences(tuple("abc"), 30, 30), model.config, 30, asking(lambda tokens: "a", model.config, 1, None))
    assert batches.inputs == 3**30
    last = batches[len(batches) - 1]
    assert last.ids[-1].tolist() == [2] * 30
    assert last.first + len(last) == 3**30
    assert batches.number_of(last.first) == len(batches) - 1
    with pytest.raises(RunError, match="too many to count"):
        Batches(Sequences(tuple("abc"), 64), model.config, 64, asking(lambda tokens: "a", model.config, 1, None))


def test_batches_cover_the_domain_once_in_order(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactformer.proofs.batches._FEWEST", 5)
    domain = Sequences(tuple("abc"), 3)
    batches = Batches(domain, model.config, 3, asking(lambda tokens: "a", model.config, 1, None))
    rows = [tuple("abc"[i] for i in row) for batch in batches for row in batch.ids.tolist()]
    assert rows == list(domain)


def test_a_case_knows_what_it_is_asked_in_other_arithmetics(model: Model) -> None:
    for option in ({"loss": True}, {"wrong": print}):
        with pytest.raises(RunError, match=r"go(es)? with the arithmetic certified"):
            prove(xf.load("capstone").model, [("a",)], lambda tokens: "a", workers=1, **option)
