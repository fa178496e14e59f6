"""round(x, n) and f"{x:.20f}": what Python does with fractions, and proved digits of closed forms."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq

from exactformer.numbers import Undecided, Undefined, UndefinedValue, exact, exp, log, pi, sqrt
from exactformer.numbers.balls import Enclosed
from exactformer.numbers.enclosure import precision


def test_fractions_are_rounded_as_python_rounds_them() -> None:
    rng = random.Random(1)
    for _ in range(500):
        value, n = Fraction(rng.randint(-(10**6), 10**6), rng.choice((1, 2, 4, 5, 8, 40, 7, 999))), rng.randint(-3, 6)
        assert round(exact(value), n) == exact(round(value, n))
        assert round(exact(value)) == round(value)
        with localcontext() as context:
            context.prec = 60
            assert (
                abs(Decimal(f"{exact(value):.{abs(n)}f}") - Decimal(value.numerator) / value.denominator)
                <= Decimal(10) ** -abs(n) / 2
            )


def test_closed_forms_have_the_digits_of_mpmath() -> None:
    rng = random.Random(2)
    with mpmath.workdps(80):
        for _ in range(60):
            a, b = rng.randint(1, 50), rng.randint(1, 50)
            ours, theirs = exp(exact(a) / b) / (1 + sqrt(b)) - log(a + 1), mpmath.exp(mpmath.mpf(a) / b) / (1 + mpmath.sqrt(b))
            theirs -= mpmath.log(a + 1)
            n = rng.randint(1, 40)
            assert abs(mpmath.mpf(f"{ours:.{n}f}") - theirs) <= mpmath.mpf(10) ** -n / 2 * (1 + mpmath.mpf(10) ** -20)
            assert abs(mpmath.mpf(f"{ours:.{n}e}") / theirs - 1) <= mpmath.mpf(10) ** -n
            assert round(ours, n) == exact(f"{ours:.{n}f}")


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (exact("1/8"), ".2f", "0.12"),
        (exact("3/8"), ".2f", "0.38"),
        (exact("-1/1000"), ".2f", "0.00"),
        (exact(0), ".3e", "0.000e+0"),
        (exact("2/3"), "+010.3f", "+00000.667"),
        (exact("1/4"), ".1%", "25.0%"),
        (exact(10) ** 9, ",.1f", "1,000,000,000.0"),
        (pi(), ".30f", "3.141592653589793238462643383280"),
        (pi(), "", "π"),
        (pi(), ">4s", "   π"),
        (exp(10**9), ".4e", "8.0030e+434294481"),
        (exp(-1000), ".3f", "0.000"),
        (sqrt(2) ** 2, ".1f", "2.0"),
        (exact("12345/10"), ".3g", "1.23e+3"),
        (exact("1/8"), ".2g", "0.12"),
        (pi(), "f", "3.141593"),
        (pi(), ".3", "3.14"),
    ],
)
def test_formats(value: object, spec: str, text: str) -> None:
    assert format(value, spec) == text


def test_what_is_not_formatted() -> None:
    for spec in ("d", "x", ".2q", ".9999999f"):
        with pytest.raises(ValueError, match="the format"):
            format(pi(), spec)
    with pytest.raises(UndefinedValue):
        format(Undefined("division by zero"), ".2f")
    with pytest.raises(ValueError, match="at most"):
        round(pi(), 10**7)
    with pytest.raises(Undecided):
        round(exp(exp(exp(10))), 2)  # too large to be written out


def test_a_number_next_to_a_tie_is_told_from_it() -> None:
    nearly = exact("1/2") - exp(-200)
    assert (round(nearly), f"{nearly:.0f}", round(exact("1/2") + exp(-200))) == (0, "0", 1)


def test_balls_have_the_digits_that_all_their_numbers_have() -> None:
    rng = random.Random(4)
    kept = 0
    for _ in range(2000):
        middle, radius = (
            Fraction(rng.randint(-(10**7), 10**7), 2 ** rng.randint(0, 30)),
            Fraction(rng.randint(0, 9), 2 ** rng.randint(8, 40)),
        )
        x, n = Enclosed(arb(fmpq(middle.numerator, middle.denominator), float(radius))), rng.randint(0, 9)
        low, high = x.enclosure()
        assert low <= middle - radius <= middle + radius <= high
        for ask in (
            lambda x, n=n: f"{x:.{n}f}",
            lambda x, n=n: f"{x:.{n}e}",
            lambda x, n=n: round(x, n),
            lambda x, n=n: f"{x:.{n}%}",
        ):
            try:
                found = ask(x)
            except Undecided:
                continue
            kept += 1
            assert found == ask(exact(low)) == ask(exact(high)) == ask(exact(middle))
    assert kept > 4000


def test_what_is_computed_with_balls_is_formatted_too() -> None:
    with precision(200):
        x, third = Enclosed(arb(2).sqrt()), arb(1) / 3
    for y in (x + 1, 1 + x, x * third, third * x, x - third, third - x, x / 3, 3 / x, x**2, -x, abs(x), x.exp(), sum([x, x])):
        assert type(y) is Enclosed
        assert y.rel_accuracy_bits() > 50
    assert f"{x * x:.40f}" == f"{exact(2):.40f}"
    assert f"{np.exp(np.array([x, x], dtype=object))[1]:.20f}" == f"{exp(sqrt(2)):.20f}"


def test_what_a_ball_leaves_open_is_an_error() -> None:
    x = Enclosed("1.5 +/- 0.001")
    for ask in (lambda: f"{x:.3f}", lambda: round(x), lambda: x.digits(4), lambda: x.to_float(), lambda: f"{Enclosed('nan'):.2f}"):
        with pytest.raises(Undecided):
            ask()
    assert (repr(x), str(Enclosed("0 +/- 1")), repr(Enclosed("inf"))) == ("<1.50>", "[-1.01, 1.01]", "<?>")


@pytest.mark.parametrize("exponent", [2**21, -(2**21)])
def test_balls_beyond_the_range_of_floats(exponent: int) -> None:
    x = Enclosed(arb(2)) ** exponent
    if exponent < 0:
        assert (x.to_float(), f"{x:.5f}") == (0.0, "0.00000")
    else:
        with pytest.raises((OverflowError, Undecided)):
            x.to_float()
