"""What a proof is bound to: a journal of other inputs or weights, a symmetry that does not hold, a domain that lies: none helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from exactformer.circuits import Circuit, CircuitError, Head
from exactformer.model import Config, Model, Weights
from exactformer.model.changing import with_weights
from exactformer.numbers import exact, exp
from exactformer.proofs import Report, Sequences, prove
from exactformer.proofs.chunks import RunError
from exactformer.proofs.fingerprint import fingerprint, model_fingerprint
from exactformer.proofs.journal import JournalError

Tokens = tuple[str, ...]


def echo(vocabulary: Tokens) -> Model:
    """After any tokens, it says the last one."""
    size = len(vocabulary)
    identity = xf.array([[int(i == j) for j in range(size)] for i in range(size)])
    config = Config(vocabulary=vocabulary, dim=size, blocks=0, norm="none", mask="causal", scale="none")
    return Model(config, Weights(W_E=identity))


def last(tokens: Tokens) -> str:
    return tokens[-1]


def anything(vocabulary: Tokens) -> Any:
    return lambda tokens: set(vocabulary)


# -- journals
@pytest.mark.parametrize(
    ("vocabulary", "one", "other"),
    [
        (("\n", "\n\n"), Sequences(("\n", "\n\n"), 1), Sequences(("\n\n", "\n"), 1)),
        (("a", "b", "a\0b"), [("a", "b")], [("a\0b",)]),
    ],
)
def test_a_journal_of_other_inputs_proves_nothing(tmp_path: Path, vocabulary: Tokens, one: Any, other: Any) -> None:
    """What is believed of one list of inputs would be false of the other."""
    model, journal = echo(vocabulary), tmp_path / "journal"
    assert prove(model, one, last, journal=journal, workers=1).verdict == "proved"
    false = dict(zip(other, map(last, one), strict=True)).__getitem__
    assert prove(model, other, false, workers=1).verdict == "refuted"
    with pytest.raises(JournalError, match=f"^{journal}: is the journal of another proof"):
        prove(model, other, false, journal=journal, workers=1)


def test_closed_forms_among_the_weights_are_hashed_whole(tmp_path: Path) -> None:
    model, journal = echo(("a", "b")), tmp_path / "journal"

    def with_weight(number: Any) -> Model:
        table = model.weights.W_E.copy()
        table[1, 0] = number
        return replace(model, weights=Weights(W_E=table))

    def tower(top: Any) -> Any:
        x = top
        for n in range(60):
            x = exp(1 / (x + n + 1))
        return x

    one, other = with_weight(tower(exp(exact(1)))), with_weight(tower(exp(exact(1)) + exact("1e-200")))
    domain = [("a",), ("b",)]
    before = prove(one, domain, anything(("a", "b")), arithmetic_name="arb", journal=journal, workers=1)
    again = prove(one, domain, anything(("a", "b")), arithmetic_name="arb", journal=journal, workers=1)
    assert (before.verdict, before.resumed, again.verdict, again.resumed) == ("proved", 0, "proved", 2)
    with pytest.raises(JournalError, match="another proof"):
        prove(other, domain, anything(("a", "b")), arithmetic_name="arb", journal=journal, workers=1)


def test_whatever_an_answer_depends_on_changes_the_fingerprint() -> None:
    model = xf.load("capstone").model
    changed = [
        with_weights(model, ["W_E[0,0]=7"]),
        replace(model, config=replace(model.config, mask="none")),
        replace(model, config=replace(model.config, epsilon=exact("1e-5"))),
        replace(model, config=replace(model.config, epsilon=exact("1e-6"))),
        replace(model, config=replace(model.config, vocabulary=("b", "a", "c"))),
        replace(model, weights=replace(model.weights, W_E=np.zeros(model.weights.W_E.shape, np.float32))),
        replace(model, weights=replace(model.weights, W_E=np.zeros(model.weights.W_E.shape, np.float64))),
        replace(model, weights=replace(model.weights, W_E=np.full(model.weights.W_E.shape, -0.0))),
    ]
    assert len({model_fingerprint(each) for each in [model, *changed]}) == 1 + len(changed)
    of = {fingerprint("m", cases, steps, name) for cases in ([("a",)], [("b",)]) for steps in (1, 11) for name in ("arb", "exact")}
    assert len(of) == 8


# -- symmetry
@pytest.fixture(scope="module")
def broken() -> Model:
    """An induction head that no longer copies a: a and b are not interchangeable."""
    return with_weights(xf.load("induction").model, ["blocks.1.attn.W_V[0,1,1]=0"])


def test_nobody_tells_a_proof_which_tokens_are_interchangeable(broken: Model) -> None:
    classes: Any = (("!", "a", "b", "c"),)
    with pytest.raises(TypeError, match="classes"):
        prove(broken, Sequences(classes[0], 2), last, classes=classes, workers=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "order", ["token position previous output", "output previous token position", "previous output position token"]
)
def test_a_circuit_that_is_not_the_models_own_makes_no_symmetry(broken: Model, order: str) -> None:
    """A circuit says where to look for a symmetry; whether there is one, the weights say."""
    held = {"token": "tokens", "position": "positions", "previous": "tokens", "output": "tokens"}
    wrong = Circuit(
        vocabulary=("!", "a", "b", "c"), length=6, stream={name: held[name] for name in order.split()},
        codes={"token": "one-hot", "position": "one-hot"},
        layers=(
            (Head(query="position", key="position", offset=1, strength=100, value="token", to="previous"),),
            (Head(query="token", key="previous", strength=100, value="token", to="output"),),
        ),
    )  # fmt: skip
    domain, rule = Sequences(("!", "a", "b", "c"), 3), xf.Lookup()
    report, all_of_them = prove(broken, domain, rule, circuit=wrong, workers=1), prove(broken, domain, rule, workers=1)
    assert (report.counts, report.failures) == (all_of_them.counts, all_of_them.failures)
    assert report.verdict == "refuted"
    assert ("!", "a", "b", "c") not in report.classes


def test_a_circuit_of_other_tokens_or_dimensions_is_refused(broken: Model) -> None:
    circuit = xf.load("induction").circuit
    assert circuit is not None
    for other in (replace(circuit, length=7), replace(circuit, vocabulary=("a", "!", "b", "c"))):
        with pytest.raises(CircuitError, match="the circuit is of another model"):
            prove(broken, Sequences(("a", "b"), 2), last, circuit=other, workers=1)


def test_closed_forms_among_the_weights_leave_no_symmetry() -> None:
    sheet = xf.load("induction")
    model = with_weights(sheet.model, [])
    table = model.weights.W_E.copy()
    table[0, 0] = exp(exact(1))
    model = replace(model, weights=replace(model.weights, W_E=table))
    assert all(len(members) == 1 for members in xf.circuits.interchangeable(model, sheet.circuit))


# -- domains, steps and what else is asked
class Shorter(Sequences):
    def representatives(self, classes: Any) -> list[Tokens]:
        return [("a",)]

    @property
    def size(self) -> int:
        return 1


def streamed() -> Iterator[Tokens]:
    yield ("a",)


@pytest.mark.parametrize(
    ("domain", "options", "problem"),
    [
        (Sequences(("a", "b"), 1), {"steps": 0}, "0 steps: at least 1"),
        (Sequences(("a", "b"), 1), {"steps": -1}, "-1 steps: at least 1"),
        (Sequences(("a", "b"), 1), {"steps": True}, "True steps: at least 1"),
        (Sequences(("a", "b"), 1), {"arithmetic_name": "float128"}, "'float128' is not an arithmetic"),
        (Sequences(("a", "z"), 1), {}, "the token 'z', which is not in the vocabulary"),
        (Shorter(("a", "b"), 1), {}, "the domain is of the type Shorter"),
        (streamed(), {}, "the domain is of the type generator"),
        ([], {}, "the domain is empty"),
        ([("a",), ()], {}, "the domain has an empty input"),
        ([("a",), ("b",), ("a",)], {}, "the domain has the input a 2 times"),
        ([("a",), ("z",)], {}, "the token 'z', which is not in the vocabulary"),
        (["ab"], {}, "input 0 of the domain is 'ab'"),
        ([("a", 1)], {}, r"input 0 of the domain is \('a', 1\)"),
    ],
)
def test_questions_that_would_be_answered_too_easily_are_refused(domain: Any, options: dict[str, Any], problem: str) -> None:
    def unasked(tokens: Tokens) -> str:
        raise AssertionError("the rule was asked")

    with pytest.raises(RunError, match=problem):
        prove(echo(("a", "b")), domain, unasked, workers=1, **options)


@pytest.mark.parametrize("demanded", [xf.Demand("a"), xf.Demand(frozenset([1])), {"a": float("nan")}, {}, [], None, [1]])  # type: ignore[arg-type]
def test_rules_that_demand_nothing_that_can_be_right_are_refused(demanded: Any) -> None:
    constant = echo(("a", "b"))
    with pytest.raises(ValueError, match="the rule says"):
        prove(constant, [("a",)], lambda tokens: demanded, workers=1)


def test_a_report_that_has_judged_nothing_proves_nothing() -> None:
    report = Report("for all", "exact", (), 3, 3)
    assert report.verdict == "undecided"
    report.counts["proved"] = 2
    assert report.verdict == "undecided"
    report.counts["proved"] = 3
    assert report.verdict == "proved"
    assert Report("for none", "exact", (), 0, 0).verdict == "undecided"


@pytest.mark.parametrize("name", ["float64", "float32"])
def test_floats_prove_nothing_also_with_several_tokens_or_until_a_failure(name: str) -> None:
    model = echo(("a", "b"))
    for options in ({}, {"steps": 2}, {"stop_at_failure": True}):
        report = prove(model, [("a",), ("b",)], last, arithmetic_name=name, workers=1, **options)
        assert report.verdict == "undecided"
        assert report.counts["proved"] == 0


def test_weights_that_are_changed_during_the_proof_are_noticed() -> None:
    model = echo(("a", "b"))

    def rule(tokens: Tokens) -> str:
        model.weights.W_E.setflags(write=True)  # nobody does that by accident
        model.weights.W_E[:] = exact(1)
        return tokens[-1]

    with pytest.raises(RunError, match="the weights of the model were changed while it was being proved"):
        prove(model, [("a",)], rule, workers=1)


def test_a_model_is_not_changed_through_an_array_that_it_was_made_of() -> None:
    """A view that cannot be written to is no promise: what it shows may be written to elsewhere. So a model has a copy."""
    table = np.array([[1.0, 0.0], [0.0, 1.0]])  # W_E, and transposed the unembedding
    view = table.view()
    view.setflags(write=False)
    model = replace(echo(("a", "b")), weights=Weights(W_E=view))
    changed = replace(model, weights=Weights(W_E=np.array([[1.0, 0.0], [2.0, 0.0]])))
    for _ in range(2):
        assert prove(model, [("a",), ("b",)], last, arithmetic_name="arb", workers=1).verdict == "proved"
        table[1] = (2.0, 0.0)
    report = prove(changed, [("a",), ("b",)], last, arithmetic_name="arb", workers=1)
    assert (report.verdict, report.counts["refuted"]) == ("refuted", 1)
