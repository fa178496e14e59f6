"""Activations, their slopes and softmax of balls, against mpmath at far more digits."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import arb, fmpq

from ball_ends import ends
from exactformer.model.arithmetics import ball_functions
from exactformer.numbers.enclosure import precision


def mpmath_functions() -> dict[str, Callable[[Any], Any]]:
    root, cubic = mpmath.sqrt(2 / mpmath.pi), mpmath.mpf("0.044715")
    return {
        "relu": lambda x: max(x, 0),
        "identity": lambda x: x,
        "gelu": lambda x: x / 2 * (1 + mpmath.erf(x / mpmath.sqrt(2))),
        "gelu_tanh": lambda x: x / 2 * (1 + mpmath.tanh(root * (x + cubic * x**3))),
    }


@pytest.mark.parametrize("kind", ["relu", "identity", "gelu", "gelu_tanh"])
def test_activations_and_slopes_agree_with_mpmath(kind: Any) -> None:
    rng = random.Random(kind)
    points = [Fraction(rng.randint(-6400, 6400), 512) for _ in range(40)] + [Fraction(-30), Fraction(20)]
    with mpmath.workdps(240), precision(128):
        function = mpmath_functions()[kind]
        for x in points:
            point = mpmath.mpf(x.numerator) / x.denominator
            ball = arb(fmpq(x.numerator, x.denominator))
            value = ball_functions.activation(kind)(ball)
            assert near(value, function(point)), x
            assert value.is_zero() or value.rel_accuracy_bits() > 100, x  # also where x is very negative
            assert near(ball_functions.slope(kind, None)(ball), mpmath.diff(function, point, h=mpmath.mpf(10) ** -80)), x


def test_softmax_agrees_with_mpmath() -> None:
    rng = random.Random(3)
    with mpmath.workdps(200), precision(128):
        for _ in range(50):
            scores = [rng.randint(-3000, 3000) for _ in range(rng.randint(2, 6))]
            powers = [mpmath.exp(mpmath.mpf(s)) for s in scores]
            balls = [arb(s) for s in scores]
            assert all(near(b, p / sum(powers)) for b, p in zip(ball_functions.softmax(balls), powers, strict=True))
            assert near(ball_functions.log_sum_exp(balls), mpmath.log(sum(powers)))
        (alone,) = ball_functions.softmax([arb(1) / 3])
        assert alone.is_exact()
        assert alone == 1


def near(ball: arb, value: Any) -> bool:
    """Is the value in the ball, give or take what mpmath may be wrong by?"""
    low, high = ends(ball)
    error = Fraction(1, 10**70)
    sign, mantissa, exponent, _ = mpmath.mpf(value)._mpf_
    point = (-1) ** sign * int(mantissa) * Fraction(2) ** exponent
    return low - error <= point <= high + error
