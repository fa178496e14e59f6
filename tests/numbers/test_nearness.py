"""What is said of a number next to a simple one: true to its last digit, and said where 12 digits would hide it."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from fractions import Fraction

import pytest

from exactformer.numbers import Named, exact, exp, sqrt
from exactformer.numbers.digits import digits
from exactformer.numbers.nearness import nearly


def named(value: object) -> Named:
    assert isinstance(value, Named)
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (exp(100) / (exp(100) + 2), "1 - 7.44e-44"),
        (100 * exp(100) / (exp(100) + 2), "100 - 7.44e-42"),
        (exact("1/3") + exp(-60), "1/3 + 8.76e-27"),
        (exp(-60) - exact("2/7"), "-2/7 + 8.76e-27"),
        (-exp(-60) - 5, "-5 - 8.76e-27"),
        (exp(1) / (1 + exp(1)), "0.731058578630"),
        (exp(-100), "3.72007597602e-44"),
        (sqrt(2), "1.41421356237"),
        (1 - exp(-24), "1 - 3.78e-11"),  # 12 digits would say 0.999999999962
        (1 - exp(-19), "0.999999994397"),
    ],
)
def test_texts(value: object, text: str) -> None:
    assert nearly(named(value)) == text


@pytest.mark.parametrize("n", [1, 2, 3, 5, 20])
def test_few_digits_do_not_make_a_number_simple(n: int) -> None:
    logistic = named(exp(1) / (1 + exp(1)))
    assert nearly(logistic, n) == digits(logistic, n)
    assert nearly(named(exp(100) / (exp(100) + 2)), n) == "1 - 7.44e-44"


def test_random_numbers_are_told_truly() -> None:
    rng = random.Random(49)
    near = 0
    for _ in range(150):
        simple = Fraction(rng.randint(-30, 30), rng.randint(1, 12))
        sign = rng.choice((-1, 1))
        power = -rng.randint(1, 130)
        value = named(exact(simple) + sign * exp(power))
        text = nearly(value)
        match = re.fullmatch(r"(?:(-?[\d/]+) ([+-]) )?(\S+)", text)
        assert match
        distance = Fraction(match[3]) * (-1 if match[2] == "-" else 1)
        half = Fraction(Decimal(5).scaleb(int(Decimal(match[3]).as_tuple().exponent) - 1))
        told = Fraction(match[1] or 0) + distance
        assert exact(told - half) <= value <= exact(told + half)
        if match[1]:
            near += 1
            assert Fraction(match[1]) == simple
        elif simple:
            assert power > -30
    assert near > 90
