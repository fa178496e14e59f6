"""Kept sets and probabilities against brute force with mpmath; ties, borders and near ties, where a guess would be wrong."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from mpmath_decoding import by_size, kept_and_probabilities, real
from random_logits import balls, fractions

from exactformer.decoding import DecodingError, Strategy, distribution, ranked
from exactformer.decoding.rows import row_of
from exactformer.decoding.selection import in_order, largest, rank
from exactformer.numbers import Undecided, UndefinedValue, exact, exp, log, sqrt
from exactformer.numbers.nodes import Undefined

TINY = Fraction(1, 10**40)


def test_the_book() -> None:
    logits = {"a": 3, "b": 1, "c": 2}
    assert ranked(logits) == ("a", "c", "b")
    top_2 = distribution(logits, top_k=2)
    assert (set(top_2.kept), top_2.greedy, top_2.proved) == ({"a", "c"}, "a", True)
    assert {token: str(p) for token, p in top_2.probabilities.items()} == {"a": "e/(1+e)", "c": "1/(1+e)"}
    whole = distribution(logits).probabilities
    assert whole["a"] == exp(3) / (exp(1) + exp(2) + exp(3))
    assert str(whole["b"]) == "1/(1+e+e^2)"


@pytest.mark.parametrize("ties", [False, True])
def test_kept_sets_and_probabilities_are_those_of_mpmath(ties: bool) -> None:
    rng = random.Random(f"kept {ties}")
    with mpmath.workdps(60):
        for _ in range(250):
            logits = fractions(rng, ties)
            temperature = Fraction(rng.randint(1, 9), rng.randint(1, 9))
            top_k = rng.choice((None, rng.randint(1, len(logits) + 1)))
            top_p = rng.choice((None, Fraction(rng.randint(1, 99), 100)))
            expected, gap = kept_and_probabilities(logits, temperature, top_k, top_p)
            if gap < mpmath.mpf(10) ** -50:
                continue  # a border: mpmath cannot tell
            found = distribution(logits, temperature, top_k, top_p)
            case = (logits, temperature, top_k, top_p)
            assert found.ids == list(expected), case
            assert found.order == tuple(by_size(logits)), case
            for i, p in found.probabilities.items():
                assert abs(real(p.enclosure(160).low) - expected[i]) < mpmath.mpf(10) ** -45, case
            if not ties:
                in_balls = distribution(balls(logits), temperature, top_k, top_p)
                assert in_balls.proved
                try:
                    assert in_balls.ids == list(expected), case
                except Undecided:
                    assert len(set(logits)) < len(logits), case
                    continue
                for i, p in in_balls.probabilities.items():
                    assert abs(mpmath.mpf(p.mid().str(60, radius=False)) - expected[i]) < mpmath.mpf(10) ** -30, case


def test_floats_agree_and_prove_nothing() -> None:
    rng = random.Random("floats")
    for _ in range(200):
        logits = fractions(rng, ties=rng.random() < 0.5)
        options = {
            "temperature": Fraction(rng.randint(1, 9), 4),
            "top_k": rng.randint(1, 9),
            "top_p": Fraction(rng.randint(1, 99), 101),
        }
        exactly = distribution(logits, **options)  # type: ignore[arg-type]
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
            found = distribution(np.array([float(x) for x in logits], dtype=dtype), **options)  # type: ignore[arg-type]
            assert not found.proved
            assert found.ids == exactly.ids
            assert found.order == exactly.order
            for i in found.ids:
                assert found.probability(i) == pytest.approx(exactly.probability(i).to_float(), rel=tolerance)


def test_temperature_is_exact() -> None:
    third = distribution([1, 0], temperature="1/3")
    assert third.probability(0) == exp(3) / (1 + exp(3))
    assert third.probability(0) != distribution([1, 0], temperature="0.333333333333333333333333333").probability(0)
    assert distribution([exact("1/3"), exact("1/3"), exact("1/3")], temperature="1/7").probability(2) == exact("1/3")
    assert distribution([log(3), 0], temperature=1).probability(0) == exact("3/4")
    assert distribution([log(3), 0], temperature="1/2").probability(0) == exact("9/10")


def test_temperature_zero_is_greedy_with_the_probability_among_all() -> None:
    found = distribution({"a": 3, "b": 1, "c": 2}, temperature=0)
    assert found.kept == ("a",)
    assert found.probability(0) == exp(3) / (exp(1) + exp(2) + exp(3))
    assert found.draw(seed=1) == "a"


@pytest.mark.parametrize("temperature", ["1e-400", "1e400"])
def test_floats_at_temperatures_beyond_floats(temperature: str) -> None:
    found = distribution(np.array([1.0, 2.0]), temperature=temperature)
    assert found.probability(1) == (1.0 if temperature == "1e-400" else 0.5)


def test_ties_go_to_the_lowest_index() -> None:
    assert ranked([1, 2, 1, 2]) == (1, 3, 0, 2)
    assert distribution([1, 2, 1, 2], top_k=1).kept == (1,)
    assert distribution([1, 2, 1, 2], top_k=3).kept == (1, 3, 0)
    equal = [sqrt(2) * sqrt(3), sqrt(6), exact(1)]  # equal by algebra alone
    assert distribution(equal, top_k=1).kept == (0,)
    row = row_of(equal)
    assert [rank(row, i) for i in range(3)] == [1, 2, 3]


def test_the_border_of_a_nucleus_is_decided_exactly() -> None:
    assert distribution([0, 0], top_p="1/2").kept == (0,)
    just_above = Fraction(1, 2) + TINY
    assert distribution([0, 0], top_p=just_above).kept == (0, 1)
    assert distribution([5, 5, 5, 5], top_p="3/4").kept == (0, 1, 2)
    assert distribution([log(3), 0], top_p="3/4").kept == (0,)
    assert distribution([log(3), 0], top_p=Fraction(3, 4) + TINY).kept == (0, 1)
    assert distribution([log(3), 0, -50], top_k=2, top_p="3/4").kept == (0,)  # top-k first, then of what is left
    assert distribution([log(3), 0, -50], top_p="3/4").kept == (0, 1)
    assert distribution([1, -1000], top_p=1).kept == (0, 1)


def test_balls_say_undecided_at_a_border() -> None:
    with pytest.raises(Undecided):
        _ = distribution(balls([0, 0]), top_p="1/2").ids
    with pytest.raises(Undecided):
        _ = distribution(balls([1, 1, 0]), top_k=1).ids
    with pytest.raises(Undecided):
        _ = distribution(balls([1, 1, 0])).order


def test_balls_decide_what_does_not_hang_on_a_tie() -> None:
    assert distribution(balls([1, 1, 0]), top_k=2).ids == [0, 1]
    assert distribution(balls([1, 1, 0, 0]), top_p="0.6").ids == [0, 1]
    assert distribution([arb(1), arb(1), arb(0)], top_k=1).ids == [0]  # points that are equal, and proved to be
    assert distribution([arb(3), arb(3)], top_p="1/2").ids == [0]  # their weights are points, too


def test_an_overlapping_ball_is_not_let_in_unproved() -> None:
    """The second is the second largest, the third overlaps it and might also lie below the fourth."""
    logits = [arb(5), arb(2), arb("2.01 +/- 1"), arb("1.99")]
    with pytest.raises(Undecided):
        _ = distribution(logits, top_k=3).ids
    assert distribution([arb(5), arb(2), arb("2.01 +/- 1"), arb("0.5")], top_k=3).ids == [0, 1, 2]


@pytest.mark.parametrize("position", [0, 1])
def test_near_ties_are_never_proved_wrongly(position: int) -> None:
    logits = [exact(7), exact(7)]
    logits[position] = exact(7) + TINY  # type: ignore[call-overload]
    assert distribution(logits, top_k=1).ids == [position]
    with pytest.raises(Undecided):
        _ = distribution(balls(logits, 64), top_k=1, bits=64).ids
    assert distribution(balls(logits, 256), top_k=1, bits=256).ids == [position]
    assert not distribution(np.array([float(x.fraction) for x in logits]), top_k=1).proved


def test_the_largest_are_found_however_wrong_the_guess_is() -> None:
    rng = random.Random("guess")
    for _ in range(100):
        logits = fractions(rng, ties=True)
        row, size = row_of(logits), len(logits)
        row.hinted = lambda among: rng.sample(list(among), len(among))  # type: ignore[method-assign]
        for k in range(1, size + 1):
            assert largest(row, range(size), k) == sorted(by_size(logits)[:k])
        assert in_order(row, range(size)) == by_size(logits)


def test_what_is_undefined_is_said_with_its_reason() -> None:
    with pytest.raises(UndefinedValue, match="the variance is 0"):
        distribution([exact(1), Undefined("the variance is 0")])
    with pytest.raises(Undecided, match="whether the variance is 0"):
        distribution([exact(1), Undefined("undecided: whether the variance is 0", undecided=True)])
    with pytest.raises(UndefinedValue, match="not a number"):
        distribution(np.array([1.0, np.nan]))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"temperature": "-1/2"}, "temperature: -1/2 is negative"),
        ({"temperature": 0.5}, "temperature: the float 0.5"),
        ({"temperature": "warm"}, "temperature: 'warm' is not a number"),
        ({"top_k": 0}, "top-k: 0 is not a whole number"),
        ({"top_k": True}, "top-k: True is not a whole number"),
        ({"top_p": 0}, "top-p: 0 is not above 0"),
        ({"top_p": "1.1"}, "top-p: 11/10 is not above 0 and at most 1"),
    ],
)
def test_strategies_that_make_no_sense(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(DecodingError, match=problem):
        Strategy(**options)


def test_no_logits() -> None:
    with pytest.raises(DecodingError, match="there are none"):
        distribution([])
