"""What is drawn: the token that the exact distribution and the endless string of bits give."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath_decoding import drawn as drawn_by_mpmath
from mpmath_decoding import kept_and_probabilities
from random_logits import balls, fractions

from exactformer.decoding import distribution
from exactformer.decoding.rows import row_of
from exactformer.decoding.selection import drawn
from exactformer.decoding.uniform import Uniform
from exactformer.numbers import Undecided, exact, log


class Bits(Uniform):
    """A number whose bits are given, and then all alike."""

    def __init__(self, first: str, then: str) -> None:
        super().__init__(0, 0)
        object.__setattr__(self, "text", (first, then))

    def prefix(self, bits: int) -> int:
        first, then = self.text  # type: ignore[attr-defined]
        return int(first.ljust(bits, then)[:bits], 2)


def test_thousands_of_draws_are_those_of_mpmath() -> None:
    rng = random.Random("draws")
    seed = 0
    with mpmath.workdps(200):
        for _ in range(40):
            logits = fractions(rng, ties=rng.random() < 0.3)
            temperature, top_k = Fraction(rng.randint(1, 6), rng.randint(1, 6)), rng.randint(1, 9)
            found = distribution(logits, temperature, top_k)
            probabilities, _ = kept_and_probabilities(logits, temperature, top_k, None)
            in_balls = row_of(balls(logits), exact(temperature))
            in_floats = row_of(np.array([float(x) for x in logits]), exact(temperature))
            for _ in range(75):
                seed, place = seed + 1, rng.randint(0, 2000)
                token = found.draw(seed, place)
                assert token == drawn_by_mpmath(probabilities, seed, place), (logits, seed, place)
                assert token == drawn(in_balls, found.ids, Uniform(seed, place))
                assert token == drawn(in_floats, found.ids, Uniform(seed, place))
    assert seed == 3000


def test_frequencies_are_those_of_the_distribution() -> None:
    found = distribution([log(1), log(2), log(3), log(4)])
    counts = Counter(found.draw(seed=7, place=place) for place in range(5000))
    expected = {i: 500 * (i + 1) for i in range(4)}
    assert sum((counts[i] - n) ** 2 / n for i, n in expected.items()) < 16.27  # chi-square, 3 degrees of freedom: 0.1 %


def test_seeds_and_places_give_different_numbers_that_stay_the_same() -> None:
    assert Uniform(1, 0).prefix(64) == 0x5276958A372FEBA8
    numbers = {Uniform(seed, place).prefix(64) for seed in range(-5, 50) for place in range(50)}
    assert len(numbers) == 55 * 50
    assert Uniform(3, 4).prefix(1000) >> 1000 - 77 == Uniform(3, 4).prefix(77)


def test_a_number_on_the_border_belongs_to_the_next_token() -> None:
    row = row_of([0, 0])
    assert drawn(row, [0, 1], Bits("1", "0")) == 1  # u = 1/2 = C(0)
    assert drawn(row, [0, 1], Bits("0", "1")) == 0  # every prefix lies below 1/2
    third = row_of([0, log(2)])
    assert drawn(third, [0, 1], Bits("01" * 500 + "0", "0")) == 0  # 1/3 but for the bits from the thousandth on
    assert drawn(third, [0, 1], Bits("01" * 500 + "1", "0")) == 1


def test_balls_read_more_bits_and_do_not_guess() -> None:
    row = row_of(balls([0, 0]))
    assert drawn(row, [0, 1], Bits("1".ljust(70, "0") + "1", "0")) == 1  # 64 bits do not tell, 128 do
    with pytest.raises(Undecided, match="which token the uniform number draws"):
        drawn(row, [0, 1], Bits("1", "0"))


def test_what_is_not_kept_is_never_drawn() -> None:
    logits = [0, 3, 3, 1, 2]
    assert {distribution(logits, top_k=2).draw(seed) for seed in range(100)} == {1, 2}
    assert {distribution(logits, top_p="1/10").draw(seed) for seed in range(100)} == {1}
