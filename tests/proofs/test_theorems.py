"""Theorems: what is proved is true, what is false is refuted where it is false, and renaming counts every sequence once."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import exactformer as xf
from exactformer.model.changing import with_weights
from exactformer.model.sight import Mask
from exactformer.proofs import Demand, Lookup, Report, Sequences, prove
from exactformer.worksheets import Worksheet
from plain_pass import PlainPass

Tokens = tuple[str, ...]
VOCABULARY = ("!", "a", "b", "c")


def theorem(sheet: Worksheet, length: int, rule: Any = None, symmetric: bool = True, **options: Any) -> Report:
    domain = Sequences(sheet.model.config.vocabulary, length)
    options = {"workers": 1, "circuit": sheet.circuit if symmetric else None} | options
    return prove(sheet.model, domain, rule or sheet.rule, **options)


def comparable(report: Report) -> tuple[Any, ...]:
    """All that must not depend on how the cases were computed."""
    return report.statement, report.sequences, report.counts, report.kinds, report.failures, report.verdict


@pytest.fixture(scope="module")
def induction() -> Worksheet:
    return xf.load("induction")


@pytest.fixture(scope="module")
def finished(induction: Worksheet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of all sequences up to length 3: what the model says does not depend on the rule, so any rule can be judged."""
    journal = tmp_path_factory.mktemp("proofs") / "journal"
    theorem(induction, 3, journal=journal)
    return journal


@pytest.fixture(scope="module")
def winners(induction: Worksheet) -> dict[Tokens, set[str]]:
    """What the model says after each of them, from another pass, with so many digits that only true ties look like ties."""
    plain = PlainPass(induction.model, 300)
    return {tokens: plain.winners(tokens, plain.context.mpf(10) ** -250) for tokens in Sequences(VOCABULARY, 3)}


def test_the_theorem_of_5460_sequences(induction: Worksheet) -> None:
    report = theorem(induction, 6, workers=2)
    assert report.verdict == "proved"
    assert (report.cases, report.sequences) == (261, 5460)
    assert report.counts == {"proved": 5460, "refuted": 0, "undecided": 0}
    assert report.failures == []
    kinds = {name: kind.sequences for name, kind in report.kinds.items()}
    rule, expected = Lookup(), dict.fromkeys(kinds, 0)
    for tokens in Sequences(VOCABULARY, 6):
        expected[rule(tokens).kind] += 1
    assert kinds == expected
    assert report.kinds["one follower"].margin > xf.exact("99.99").fraction  # type: ignore[operator]


@pytest.mark.parametrize(
    ("changes", "length", "verdict"),
    [
        ([], 4, "proved"),
        (["blocks.1.attn.W_V[0,1,1]=0"], 3, "refuted"),
        (["blocks.0.attn.W_Q[0,6,1]=0"], 3, "proved"),  # position 2 looks at both before it: still at half the one that matters
        (["W_U[16,1]=60", "W_U[16,2]=-3"], 3, "refuted"),
    ],
)
def test_counting_orbits_agrees_with_counting_sequences(
    induction: Worksheet, changes: list[str], length: int, verdict: str
) -> None:
    sheet = replace(induction, model=with_weights(induction.model, changes))
    with_symmetry, without = theorem(sheet, length), theorem(sheet, length, symmetric=False)
    assert with_symmetry.cases < without.cases == without.sequences == len(Sequences(VOCABULARY, length))
    assert comparable(with_symmetry) == comparable(without)
    assert with_symmetry.verdict == verdict


@pytest.mark.parametrize(("name", "length"), [("similar", 3), ("context", 4), ("skip", 4)])
def test_the_theorems_of_the_other_examples(name: str, length: int) -> None:
    report = theorem(xf.load(name), length)
    assert report.verdict == "proved"
    assert report.counts["proved"] == report.sequences == len(Sequences(xf.load(name).model.config.vocabulary, length))


@pytest.mark.parametrize("mask", ["strict", "causal", "none"])
@pytest.mark.parametrize("hard", [True, False])
def test_every_mask_and_the_hard_limit(induction: Worksheet, mask: Any, hard: bool) -> None:
    sheet = induction.changed(mask=mask, hard=hard)
    assert theorem(sheet, 4).verdict == "proved"
    other = Lookup(mask="causal" if mask == "strict" else "strict")
    assert theorem(sheet, 4, other).verdict == "refuted"


def test_hundreds_of_rules_changed_at_one_sequence(induction: Worksheet, finished: Path, winners: dict[Tokens, set[str]]) -> None:
    rng = random.Random(46)
    domain = list(winners)
    wrong = 0
    for _ in range(200):
        odd = rng.choice(domain)
        instead = frozenset(rng.sample(VOCABULARY, rng.randint(1, 3)))
        true: Callable[[Tokens], Demand] = Lookup()

        def rule(tokens: Tokens, odd: Tokens = odd, instead: frozenset[str] = instead, true: Any = true) -> Demand:
            return Demand(instead, "changed") if tokens == odd else true(tokens)  # type: ignore[no-any-return]

        report = theorem(induction, 3, rule, journal=finished)
        if winners[odd] <= instead:
            assert report.verdict == "proved", (odd, instead)
        else:
            wrong += 1
            assert report.counts == {"proved": 83, "refuted": 1, "undecided": 0}, (odd, instead)
            (failure,) = report.failures
            assert (failure.tokens, failure.right) == (odd, tuple(sorted(instead)))
            assert {failure.token, *failure.ties} == winners[odd]
        assert report.resumed == report.cases == 8  # judged, not computed again
    assert wrong > 100


def test_thousands_of_false_demands_are_refuted_exactly_where_they_are_false(
    induction: Worksheet, finished: Path, winners: dict[Tokens, set[str]]
) -> None:
    rng, false = random.Random(47), 0
    matches: list[Any] = [((0, 0),), ((0, 2),), ((1, 1),), ((0, 1), (1, 2))]
    rules: list[Any] = [Lookup(match, mask) for match in matches for mask in get_args(Mask)]
    for _ in range(100):
        answers = {tokens: {rng.choice(VOCABULARY) for _ in range(rng.randint(1, 4))} for tokens in winners}
        rules.append(answers.__getitem__)
    for rule in rules:
        report = theorem(induction, 3, rule, journal=finished)
        right = {tokens: rule(tokens) for tokens in winners}
        demanded = {tokens: set(w.right) if isinstance(w, Demand) else w for tokens, w in right.items()}
        wrong = {tokens for tokens, w in winners.items() if not w <= (demanded[tokens] or set(VOCABULARY))}
        assert report.counts == {"proved": 84 - len(wrong), "refuted": len(wrong), "undecided": 0}
        assert {failure.tokens for failure in report.failures} == set(sorted(wrong, key=lambda t: (len(t), t))[:10])
        false += len(wrong)
    assert false > 4000


def test_damaged_heads_are_refuted_where_they_are_wrong(induction: Worksheet) -> None:
    """Random changes of single weights, against a pass in plain floats wherever those can tell."""
    rng = random.Random(48)
    rule, refuted = Lookup(), 0
    for _ in range(12):
        name, weights = rng.choice(list(induction.model.weights.named()))
        place = rng.choice([place for place, value in np.ndenumerate(weights) if value != 0])
        value = rng.choice(["0", "-1", "1/2", "50"])
        change = f"{name}[{','.join(map(str, place))}]={value}"
        sheet = replace(induction, model=with_weights(induction.model, [change]))
        report = theorem(sheet, 3)
        plain, right, wrong = PlainPass(sheet.model), 0, set()
        for tokens in Sequences(VOCABULARY, 3):
            wanted = set(rule(tokens).right) or set(VOCABULARY)
            close, near = plain.winners(tokens, 1e-6), plain.winners(tokens, 0)
            # Where nothing is demanded, all must tie, which floats cannot tell from almost.
            right += close <= wanted and bool(rule(tokens).right)
            if not (close & wanted) and not (near & wanted):
                wrong.add(tokens)
        assert report.counts["undecided"] == 0
        assert report.counts["proved"] >= right, change
        assert report.counts["refuted"] >= len(wrong), change
        assert (report.verdict == "refuted") == bool(report.failures)
        refuted += report.verdict == "refuted"
        for failure in report.failures:
            out = xf.run(sheet.model, failure.tokens).output[-1]
            assert (failure.token, failure.ties) == (out.token, out.ties), change
            assert not plain.winners(failure.tokens, 1e-6) <= set(failure.right) or not failure.right
    assert refuted >= 6


def test_a_counterexample_names_what_the_model_really_says(induction: Worksheet) -> None:
    sheet = replace(induction, model=with_weights(induction.model, ["blocks.1.attn.W_V[0,1,1]=0"]))
    report = theorem(sheet, 3)
    assert [f.tokens for f in report.failures[:3]] == [("a", "!"), ("a", "a"), ("a", "b")]
    for failure in report.failures:
        out = sheet.trace(failure.tokens).output[-1]
        assert (failure.token, failure.ties) == (out.token, out.ties)
        assert (failure.token, failure.ties) == ("!", ("a", "b", "c")) or len(failure.tokens) == 3


def test_where_nothing_is_demanded_all_must_tie(induction: Worksheet) -> None:
    sheet = replace(induction, model=with_weights(induction.model, ["W_U[4,1] = 1/1000"]))  # position 0 leans towards a
    report = theorem(sheet, 1)
    assert report.counts == {"proved": 0, "refuted": 4, "undecided": 0}
    assert [(failure.tokens, failure.right, failure.token) for failure in report.failures[:2]] == [
        (("!",), (), "a"),
        (("a",), (), "a"),
    ]
    assert "after ! it says a, where a tie of all is demanded" in str(report)


def test_with_hard_attention_ties_are_demanded_exactly(induction: Worksheet) -> None:
    hard = induction.changed(hard=True)

    def loose(tokens: Tokens) -> Demand:
        wanted = Lookup()(tokens)
        return Demand(wanted.right | {"c"} if wanted.kind == "a tie" else wanted.right, wanted.kind)

    assert theorem(hard, 4).verdict == "proved"
    assert theorem(hard, 4, loose).verdict == "refuted"  # the model ties two, and c is not among them
    assert theorem(induction, 4, loose).verdict == "proved"  # one winner, among those that are right


def test_floats_and_balls_prove_no_more_than_they_can(induction: Worksheet) -> None:
    floats = theorem(induction, 2, arithmetic_name="float64")
    assert floats.verdict == "undecided"
    assert floats.counts["proved"] == floats.counts["refuted"] == 0
    balls = theorem(induction, 3, arithmetic_name="arb")
    exact = theorem(induction, 3)
    assert balls.counts["refuted"] == 0
    assert 4 <= balls.counts["undecided"] < 84  # a ball cannot prove a tie
    assert balls.counts["proved"] + balls.counts["undecided"] == exact.counts["proved"]


def test_continuations_of_several_tokens_are_those_of_the_model(induction: Worksheet) -> None:
    """Each token is fed back; of tokens that tie it is the first, which a renaming would not keep."""
    continued: dict[Tokens, Tokens] = {}
    for tokens in Sequences(VOCABULARY, 2):
        sequence = tokens
        for _ in range(3):
            sequence = (*sequence, xf.run(induction.model, sequence).token(len(sequence) - 1) or "")
        continued[tokens] = sequence

    def rule(tokens: Tokens) -> set[str]:
        """what the model says itself"""
        told = {full[len(tokens)] for full in continued.values() if full[: len(tokens)] == tokens and len(full) > len(tokens)}
        ties = xf.run(induction.model, tokens).output[-1].ties
        return told | set(ties)

    report = theorem(induction, 2, rule, steps=3)
    assert (report.verdict, report.cases) == ("proved", 20)
    one = next(tokens for tokens, full in continued.items() if tokens[0] == "b" and len(tokens) == 2)
    wrong = theorem(induction, 2, lambda t: set(VOCABULARY) - {continued[one][3]} if t == continued[one][:3] else rule(t), steps=3)
    assert wrong.verdict == "refuted"
    (found,) = (failure for failure in wrong.failures if failure.tokens == continued[one][:3] and failure.given == one)
    assert (found.fed_back, found.words) == (1, f"{' '.join(one)}, then its own {continued[one][2]}")
    assert f"after {found.words}, it says" in str(wrong)


def test_users_own_models_and_rules() -> None:
    model = xf.load("capstone").model

    def says_a(tokens: Tokens) -> str:
        """always a"""
        return "a"

    domain = Sequences(("a", "b"), 2)
    report = xf.prove(model, domain, says_a, workers=1)
    told = {tokens: xf.run(model, tokens).token(len(tokens) - 1) for tokens in domain}
    assert report.counts["refuted"] == sum(token != "a" for token in told.values()) > 0
    assert {failure.tokens: failure.token for failure in report.failures} == {t: w for t, w in told.items() if w != "a"}
    assert "every sequence of 1 to 2 tokens over a b, the model's next token is always a" in report.statement
    assert xf.prove(model, domain, told.__getitem__, workers=1).verdict == "proved"
    chosen = xf.prove(model, [("a", "b"), ("b", "b")], told.__getitem__, workers=1)
    assert (chosen.verdict, chosen.sequences) == ("proved", 2)
    undefined = xf.prove(model, [("c",)], says_a, workers=1)
    assert (undefined.verdict, undefined.failures[0].token) == ("refuted", None)
    assert "variance is 0" in undefined.failures[0].why


def test_what_cannot_be_proved_about_is_told() -> None:
    with pytest.raises(ValueError, match="no unembedding"):
        xf.prove(xf.load("length4").model, Sequences(("a",), 1), lambda tokens: "a")
    with pytest.raises(ValueError, match="token 'z', which is not in the vocabulary"):
        xf.prove(xf.load("capstone").model, [("a", "z")], lambda tokens: "a", workers=1)


def test_a_proof_that_stops_at_the_first_failure(induction: Worksheet) -> None:
    seen: list[int] = []
    report = theorem(induction, 4, lambda tokens: "a", stop_at_failure=True, progress=lambda done, total: seen.append(done))
    assert report.verdict == "refuted"
    assert sum(report.counts.values()) < 340
    assert seen[0] == 0
