"""Models that say other tokens than they read: theorems, however they are proved, go by names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exactformer import load
from exactformer.certified.one_layer import ShapeError
from exactformer.circuits import interchangeable
from exactformer.messages import Refused
from exactformer.model import Config, Model
from exactformer.proofs import Product, Sequences, prove
from exactformer.proofs.expressions import RuleError, read_rule
from exactformer.proofs.fingerprint import model_fingerprint
from exactformer.proofs.fitting import Fitted
from exactformer.proofs.tables import read_domain
from exactformer.worksheets import loads
from own_outputs import renamed, small, sums

LETTERS = ("a", "b", "c")
ORDER = [2, 0, 3, 1]


def stated(rule: str = "(a + c) mod 5") -> tuple[Model, Product, Fitted]:
    sheet = loads(sums(rule))
    assert sheet.theorem is not None
    config = sheet.model.config
    domain = read_domain(sheet.theorem.domain, config.vocabulary)
    assert isinstance(domain, Product)
    return sheet.model, domain, Fitted(read_rule(rule), config.vocabulary, outputs=config.spoken)


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "certified"])
def test_sums_are_proved_for_all_inputs_and_refuted_with_another_rule(arithmetic: str) -> None:
    for rule, right in (("(a + c) mod 5", 25), ("(a + c + 1) mod 5", 0)):
        model, domain, fitted = stated(rule)
        inputs = domain if arithmetic == "certified" else list(domain)
        report = prove(model, inputs, fitted, arithmetic_name=arithmetic, workers=1)
        assert (report.counts["proved"], report.counts["refuted"]) == (right, 25 - right)


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "certified"])
def test_a_rule_that_is_wrong_of_one_input_is_refuted_there(arithmetic: str) -> None:
    model, domain, _ = stated()

    def rule(tokens: tuple[str, ...]) -> str:
        total = int(tokens[0]) + int(tokens[2])
        return "=" if tokens == ("3", "+", "4", "=") else str(total % 5)  # which is read, and never said

    inputs = domain if arithmetic == "certified" else list(domain)
    report = prove(model, inputs, rule, arithmetic_name=arithmetic, workers=1)
    assert (report.counts["proved"], report.counts["refuted"]) == (24, 1)
    (failure,) = report.failures
    assert (failure.tokens, failure.right, failure.token) == (("3", "+", "4", "="), ("=",), "2")


def test_losses_are_of_the_outputs_that_are_demanded() -> None:
    model, domain, rule = stated()
    loss = prove(model, domain, rule, arithmetic_name="certified", workers=1, loss=True).loss
    assert loss is not None
    assert loss[0] <= np.log(4 + np.e) - 1 <= loss[1]  # one logit of 1, four of 0


def verdicts(model: Model, arithmetic: str, steps: int = 1, **how: object) -> dict[str, tuple[str, ...]]:
    """What is wrong, and what is said there: the same of a model whose outputs are in another order."""
    rule = {"a": "b", "b": "c", "c": "a", "=": "="}

    def follows(tokens: tuple[str, ...]) -> str:
        return rule[tokens[-1]]

    domain = Product((LETTERS, LETTERS, LETTERS))
    inputs = domain if arithmetic == "certified" else list(domain)
    report = prove(model, inputs, follows, arithmetic_name=arithmetic, workers=1, steps=steps, **how)  # type: ignore[arg-type]
    found = {" ".join(each.tokens): (each.token or "", *each.ties, *each.right) for each in report.failures}
    return found | {name: (str(count),) for name, count in report.counts.items()}


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "certified"])
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("seed", [1, 2])
def test_outputs_in_another_order_say_the_same(arithmetic: str, steps: int, seed: int) -> None:
    model = small(seed=seed)
    found = verdicts(renamed(model, ORDER), arithmetic, steps)
    assert found == verdicts(model, arithmetic, steps)
    assert found["proved"] != ("27",)


def test_positions_go_by_names_too() -> None:
    model = small(seed=3)

    def each(tokens: tuple[str, ...]) -> list[str]:
        return list(tokens)

    domain = list(Product((LETTERS, LETTERS)))
    for arithmetic in ("exact", "certified"):
        models = (model, renamed(model, ORDER))
        reports = [prove(one, domain, each, arithmetic_name=arithmetic, workers=1, positions=(0, 1)) for one in models]
        assert reports[0].counts == reports[1].counts
        assert [failure.token for failure in reports[0].failures] == [failure.token for failure in reports[1].failures]


@pytest.mark.parametrize("word", ["max", "min", "first", "last", "copy", "sorted"])
def test_rules_of_tokens_name_outputs(word: str) -> None:
    vocabulary, outputs = ("a", "b", "c"), ("c", "x", "a", "b")
    ids = np.array([[0, 2, 1], [1, 1, 0]])
    plain, _ = read_rule(word).arrays(ids, vocabulary)  # type: ignore[union-attr]
    named, _ = read_rule(word).arrays(ids, vocabulary, outputs)  # type: ignore[union-attr]
    assert [[outputs[i] for i in row] for row in named] == [[vocabulary[i] for i in row] for row in plain]


def test_a_balanced_input_is_answered_by_outputs_alone() -> None:
    rule, brackets = read_rule("balanced"), ("(", ")")
    right, _ = rule.arrays(np.array([[0, 1], [1, 0]]), brackets, ("no", "yes"))  # type: ignore[union-attr]
    assert right.tolist() == [[1], [0]]
    with pytest.raises(RuleError, match="rule 'balanced': 'yes' is not a token that the model says"):
        rule.arrays(np.array([[0, 1]]), (*brackets, "yes", "no"), brackets)  # type: ignore[union-attr]


def test_what_is_read_but_not_said_is_no_answer_of_a_rule_in_words() -> None:
    model, domain, _ = stated()
    config = model.config
    for text, problem in (("last", "the answer '='"), ("(a + c) mod 6", "the answer 5")):
        rule = Fitted(read_rule(text), config.vocabulary, outputs=config.spoken)
        with pytest.raises(Refused, match=f"{problem} is not a token that the model says"):
            prove(model, domain, rule, arithmetic_name="certified", workers=1)


def test_what_cannot_be_read_is_not_fed_back() -> None:
    model = small(("a", "b", "yes"))

    def rule(tokens: tuple[str, ...]) -> str:
        return "a"

    for arithmetic in ("exact", "arb", "certified"):
        prove(model, [("a",)], rule, arithmetic_name=arithmetic, workers=1)
        with pytest.raises(Refused, match=r"the output 'yes' is not in the vocabulary \(a, b, c, =\): it cannot be fed back"):
            prove(model, [("a",)], rule, arithmetic_name=arithmetic, workers=1, steps=2)


@pytest.mark.parametrize("word", ["max", "min", "first", "last"])
@pytest.mark.parametrize("seed", [4, 5])
def test_sets_of_inputs_go_by_names(word: str, seed: int) -> None:
    """Against a proof of every input by itself, of outputs in another order with one among them that is never read."""
    model = small(("=", "c", "x", "a", "b"), seed=seed)
    domain, config = Product((LETTERS,) * 4), model.config
    rule = Fitted(read_rule(word), config.vocabulary, outputs=config.spoken)
    one_by_one = prove(model, list(domain), rule, arithmetic_name="exact", workers=1)
    wrong: list[tuple[str, ...]] = []
    by_sets = prove(
        model, domain, rule, arithmetic_name="certified", workers=1, sets=20_000, last="exact",
        wrong=lambda each: wrong.append(each[0].tokens),
    )  # fmt: skip
    assert by_sets.counts == one_by_one.counts
    few = prove(model, domain, rule, arithmetic_name="certified", workers=1, sets=20).counts
    assert few["proved"] <= by_sets.counts["proved"]
    assert few["refuted"] <= by_sets.counts["refuted"]
    assert len(wrong) == one_by_one.counts["refuted"]
    said = {failure.tokens: failure.token for failure in one_by_one.failures}
    assert all(failure.token == said[failure.tokens] for failure in by_sets.failures if failure.tokens in said)


def test_sets_refuse_answers_that_are_not_said_and_one_output() -> None:
    domain, rule = Product((LETTERS, LETTERS)), Fitted(read_rule("max"), ("a", "b", "c", "="))
    with pytest.raises(Refused, match="sets of inputs: the rule demands 'c', which is not a token that the model says"):
        prove(small(("a", "b")), domain, rule, arithmetic_name="certified", workers=1, sets=9)
    with pytest.raises(ShapeError, match="this one has but one output"):
        prove(small(("a",)), domain, rule, arithmetic_name="certified", workers=1, sets=9)


def test_no_tokens_are_interchangeable_where_two_vocabularies_would_be_renamed() -> None:
    sheet = load("induction")
    assert sheet.circuit is not None
    model = renamed(sheet.model, list(reversed(range(len(sheet.model.config.vocabulary)))))
    assert max(map(len, interchangeable(sheet.model, sheet.circuit))) > 1
    assert max(map(len, interchangeable(model, sheet.circuit))) == 1
    assert sheet.rule is not None
    domain = Sequences(sheet.model.config.vocabulary, 3)
    reports = [prove(one, domain, sheet.rule, circuit=sheet.circuit, workers=1) for one in (sheet.model, model)]
    assert reports[0].counts == reports[1].counts
    assert reports[0].cases < reports[1].cases == domain.size


def test_a_proof_is_of_the_names_of_its_outputs(tmp_path: Path) -> None:
    one, other = small(("a", "b", "c")), small(("a", "c", "b"))
    assert model_fingerprint(one) != model_fingerprint(other) != model_fingerprint(small(("a", "b", "yes")))

    def rule(tokens: tuple[str, ...]) -> str:
        return "b"

    journal = tmp_path / "journal"
    for arithmetic, inputs in (("exact", list(Product((LETTERS, LETTERS)))), ("certified", Product((LETTERS, LETTERS)))):
        path = journal.with_suffix(f".{arithmetic}")
        prove(one, inputs, rule, arithmetic_name=arithmetic, workers=1, journal=path)
        with pytest.raises(Refused):
            prove(other, inputs, rule, arithmetic_name=arithmetic, workers=1, journal=path)


def test_a_configuration_has_outputs_or_has_not() -> None:
    fields = {"dim": 2, "blocks": 0, "norm": "none", "mask": "causal", "scale": "none", "unembedding": "own"}
    same = Config(vocabulary=LETTERS, outputs=LETTERS, **fields)  # type: ignore[arg-type]
    assert same == Config(vocabulary=LETTERS, **fields)  # type: ignore[arg-type]
    assert same.spoken == LETTERS
    assert "outputs" not in same.changed()
