"""The winner is told by enclosures: a lead that floats cannot show is a lead."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_models import gpt2_shaped

from exactformer.arithmetics import arithmetic
from exactformer.certificates import Prepared, prove_token
from exactformer.certified import Ball
from exactformer.certified.choosing import choose_row, largest, leading
from exactformer.certified.limbs import from_integers
from exactformer.model import Config, Model, Weights, forward
from exactformer.numbers import array, exact, from_float


def ball(values: list[Fraction], radius: float, n: int = 12) -> Ball:
    unit = 1 << (21 * (n - 1))
    mid = from_integers(np.array([[round(value * unit) for value in values]], dtype=object), n)
    return Ball(mid, n, np.full((1, len(values)), radius))


@pytest.mark.parametrize("winner", [0, 1, 2, 3])
@pytest.mark.parametrize("bits", [20, 53, 65, 200])
def test_a_lead_below_the_resolution_of_floats_is_told_at_any_place(winner: int, bits: int) -> None:
    values = [Fraction(1)] * 4
    values[winner] += Fraction(1, 1 << bits)
    logits = ball(values, 2.0**-220)
    lead = leading(logits, 0)
    assert not isinstance(lead, str)
    assert (lead.winner, lead.ties) == (winner, ())
    assert lead.margin is not None
    assert lead.margin[0] <= Fraction(1, 1 << bits) <= lead.margin[1]
    choice = choose_row(logits, 0)
    assert (choice.index, choice.proved, choice.runner_up) == (winner, True, lead.runner_up)
    assert largest(logits, 0, 4) == [winner, *(i for i in range(4) if i != winner)]
    assert isinstance(leading(ball(values, 2.0 ** -(bits + 1)), 0), str)


@pytest.mark.parametrize("sign", [1, -1])
def test_models_with_a_lead_below_the_resolution_of_floats_are_decided(sign: int) -> None:
    """Two logits of 1 that differ by 2e-20: whichever leads, it is proved; and the largest come in the right order."""
    config = Config(vocabulary=("a", "b"), dim=2, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
    little = exact("2e-20") * sign
    model = Model(config, Weights(W_E=array([[1, 1], [1, 1]]), W_U=array([[1, 1], [0, little]])))
    result = prove_token(model, [0])
    assert result.token == (1 if sign > 0 else 0)
    assert result.margin is not None
    assert result.margin[0] <= Fraction(2, 10**20) <= result.margin[1]
    assert result.top[0].token == result.token
    ops = arithmetic("certified")
    (choice,) = ops.choose(forward(model, [0], ops, lambda step: step.values))
    assert choice.index == result.token


@pytest.mark.parametrize("place", [0, 1])
def test_limbs_are_added_many_at_a_time_where_floats_show_no_lead(place: int) -> None:
    """A lead of 2^−150: fewer passes than there are numbers of limbs to try, by far."""
    model = gpt2_shaped("trained", 3, blocks=1, dim=8, heads=2, mlp=16, vocabulary=9, activation="relu")
    rows = array([[from_float(x) for x in row] for row in model.weights.W_E.tolist()])
    winner = prove_token(model, [1, 2, 3]).token
    assert winner is not None
    other = (winner + 1) % 9
    low, high = sorted((winner, other))
    rows[other] = rows[winner]
    bias = array([0] * 9)
    bias[(low, high)[place]] = exact(f"1/{2**150}")
    model = replace(model, weights=replace(model.weights, W_E=rows, b_U=bias))
    result = prove_token(model, [1, 2, 3], prepared=Prepared(model), schedule=(4, 4, 4))
    assert result.token == (low, high)[place]
    assert result.attempts <= 5


@pytest.mark.parametrize("n", [0, 6])
def test_brute_force_over_random_enclosures(n: int) -> None:
    """Against fractions, entry by entry: the winner is the one whose lower end is above all other upper ends."""
    random = np.random.default_rng(n)
    decided = 0
    for _ in range(300):
        count = int(random.integers(1, 6))
        mids = random.integers(-3, 4, (1, count)) * 2.0 ** -float(random.integers(0, 40))
        radii = np.abs(random.integers(0, 3, (1, count))) * 2.0 ** -float(random.integers(20, 60))
        if n:
            limbs = from_integers(np.array([[int(Fraction(m) * 2**105) for m in mids[0].tolist()]], dtype=object), 6)
            logits = Ball(limbs, 6, radii)
        else:
            logits = Ball(mids, 0, radii)
        ends = [logits.enclosure((0, i)) for i in range(count)]
        true = [i for i in range(count) if all(ends[i][0] > ends[j][1] for j in range(count) if j != i)]
        found = leading(logits, 0)
        if isinstance(found, str):
            assert not true
        else:
            decided += 1
            assert [found.winner] == true
            if found.margin is not None:
                leads = [ends[found.winner][0] - high for j, (_, high) in enumerate(ends) if j != found.winner]
                assert 0 < found.margin[0] <= min(leads)
    assert 100 < decided < 300


@pytest.mark.parametrize("values", [[1.7e308, -1.7e308], [-1.7e308, 1.7e308], [-1.7e308, -1.6e308]])
def test_ends_beyond_the_range_of_floats(values: list[float]) -> None:
    for radius in (0.0, 1e290, 1.7e308):
        found = leading(Ball(np.array([values]), 0, np.full((1, 2), radius)), 0)
        assert isinstance(found, str) == (radius == 1.7e308), (values, radius)


def test_equal_columns_are_a_tie_wherever_they_stand() -> None:
    config = Config(vocabulary=tuple("abc"), dim=1, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
    model = Model(config, Weights(W_E=np.ones((3, 1)), W_U=np.array([[0.0, 2.0, 2.0]])))
    found = prove_token(model, [0])
    assert (found.token, found.ties, found.margin) == (1, (2,), (0, 0))
    assert math.isclose(float(found.top[0].low), 2)


def test_what_is_not_known_to_be_equal_is_no_tie() -> None:
    def row(entry: Any) -> Model:
        config = Config(vocabulary=("a", "b"), dim=1, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
        return Model(config, Weights(W_E=np.ones((2, 1)), W_U=array([[1, entry]])))

    assert prove_token(row(exact(1)), [0]).ties == (1,)
    assert not prove_token(row(exact("1") + exact("1e-200")), [0]).proved
