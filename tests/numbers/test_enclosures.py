"""Enclosures, decimals and floats, held against mpmath with 420 digits."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from twins import CERTAIN, Twin, as_decimal, as_fraction, relaxed, samples, twins

from exactformer.numbers import Enclosure, Undecided, UndefinedValue, exact, exp, log, pi, sign, sin, sqrt
from exactformer.numbers.enclosure import ball
from exactformer.numbers.field import subtract
from exactformer.numbers.nodes import Undefined
from exactformer.numbers.powers import power

BITS = (16, 64, 200, 500)


def width(e: Enclosure) -> Fraction:
    return e.high - e.low


def slack(x: Twin) -> Fraction:
    """How far the value of mpmath may be off."""
    return as_fraction(CERTAIN * (1 + abs(x.value)))


@relaxed
@given(twins)
def test_an_enclosure_holds_the_value(x):
    for bits in BITS:
        low, high = x.number.enclosure(bits)
        assert low - slack(x) <= as_fraction(x.value) <= high + slack(x)


def test_enclosures_of_deep_forms_hold_the_value():
    for x in samples(150, depth=6, seed=1):
        for bits in BITS:
            low, high = x.number.enclosure(bits)
            assert low - slack(x) <= as_fraction(x.value) <= high + slack(x)


@pytest.mark.parametrize("known", [64, 1000])
def test_an_enclosure_is_narrow_whatever_was_known_before(known):
    for x in (sqrt(2), log(2), pi()):
        x.enclosure(known)
        for bits in (192, 200, 300, 500):
            ends = x.enclosure(bits)
            assert width(ends) * 2**bits <= ends.low


def test_an_enclosure_is_as_narrow_as_promised():
    """Two ends at most 2**-bits of the value apart."""
    for x in samples(300, seed=2):
        for bits in BITS:
            ends = x.number.enclosure(bits)
            assert width(ends) * 2**bits <= abs(as_fraction(x.value)) + slack(x)


@relaxed
@given(twins)
def test_an_enclosure_is_at_most_four_times_as_wide_as_promised(x):
    for bits in BITS:
        ends = x.number.enclosure(bits)
        assert width(ends) * 2**bits <= 4 * (max(abs(ends.low), abs(ends.high)) if x.sign else 1)


@relaxed
@given(twins)
def test_enclosures_agree_whatever_was_asked_before(x):
    """More bits are never wider, and all enclosures of a number meet."""
    climbing = [x.number.enclosure(bits) for bits in BITS]
    falling = [x.number.enclosure(bits) for bits in reversed(BITS)]
    assert max(e.low for e in climbing + falling) <= min(e.high for e in climbing + falling)
    for wide, narrow in pairwise(climbing):
        assert width(narrow) <= width(wide)


@relaxed
@given(twins)
def test_the_ends_are_dyadic(x):
    for end in x.number.enclosure(64):
        assert end.denominator & (end.denominator - 1) == 0


def test_the_ends_of_a_small_integer_meet():
    assert exact(7).enclosure(64) == (7, 7)


def test_an_enclosure_needs_a_bit():
    with pytest.raises(ValueError, match="1 or more"):
        sqrt(2).enclosure(0)


# -- decimals
@relaxed
@given(twins, st.integers(1, 60))
def test_digits_are_correctly_rounded(x, n):
    try:
        shown = x.number.digits(n)
    except Undecided:
        assert x.sign == 0 or is_tie(x, n)
    else:
        assert Decimal(shown) == (as_decimal(x.value, n) if x.sign else 0)


def is_tie(x: Twin, n: int) -> bool:
    """Does the number end with a 5, one decimal later?"""
    decimals = as_decimal(x.value, 350).normalize().as_tuple().digits
    return len(decimals) == n + 1 and decimals[-1] == 5


@pytest.mark.parametrize("n", [1, 5, 17, 100, 300])
def test_many_digits_of_named_numbers(n):
    for x in samples(60, seed=3):
        shown = x.number.digits(n)
        assert Decimal(shown) == as_decimal(x.value, n)
        assert n < 8 or len(Decimal(shown).as_tuple().digits) == n  # zeros at the end are digits too


@pytest.mark.parametrize(
    ("number", "n", "shown"),
    [
        (exact("2/3"), 4, "0.6667"),
        (exact("999.96"), 4, "1000"),
        (exact("-0.00001234"), 2, "-0.000012"),
        (exact("0.000001234"), 2, "1.2e-6"),
        (exact("123456789"), 3, "1.23e8"),
        (exact(0), 5, "0"),
        (exp(-100), 3, "3.72e-44"),
        (sqrt(2) * 10**6, 9, "1414213.56"),
        (pi(), 10, "3.141592654"),
        (sin(exact(11)), 6, "-0.999990"),
        (sqrt(exact(10) ** 40 + 1), 25, "100000000000000000000.0000"),
    ],
)
def test_digits_as_written(number, n, shown):
    assert number.digits(n) == shown


@pytest.mark.parametrize(("rational", "n"), [("0.15", 1), ("-2.5", 1), ("1/8", 2), ("9.5", 1), ("1000.5", 4), ("25e-30", 1)])
def test_a_tie_of_a_rational_is_undecided_and_one_digit_more_is_not(rational, n):
    x = exact(rational)
    with pytest.raises(Undecided, match="tie"):
        x.digits(n)
    assert Decimal(x.digits(n + 1)) == Decimal(x.fraction.numerator) / Decimal(x.fraction.denominator)


def test_a_tie_that_is_missed_by_a_hair_is_decided():
    hair = exact("1e-90")
    assert (exact("0.15") + hair).digits(1) == "0.2"
    assert (exact("0.15") - hair).digits(1) == "0.1"
    assert (exact("0.15") + exp(-200)).digits(1) == "0.2"
    assert (exact("0.15") - exp(-200)).digits(1) == "0.1"


def test_digits_need_a_digit():
    with pytest.raises(ValueError, match="1 or more"):
        sqrt(2).digits(0)


# -- floats
@relaxed
@given(twins)
def test_to_float_is_the_nearest_float(x):
    if x.sign or x.number.status == "exact":
        assert x.number.to_float() == (float(as_fraction(x.value)) if x.sign else 0.0)


def test_to_float_of_many_named_numbers():
    for x in samples(300, depth=4, seed=4):
        assert x.number.to_float() == float(as_fraction(x.value))


@pytest.mark.parametrize("x", [1.0, 1 / 3, 5e-324, 1.7976931348623155e308, -(2.0**-1050)])
def test_to_float_is_right_beside_a_tie_of_floats(x):
    """Halfway between x and the next float, moved by a factor of 1 ± e^-300."""
    after = math.nextafter(x, math.copysign(math.inf, x))
    middle = exact((Fraction(x) + Fraction(after)) / 2)
    hair = abs(middle) * exp(-300)
    assert {(middle + hair).to_float(), (middle - hair).to_float()} == {x, after}
    assert (middle + hair).to_float() > (middle - hair).to_float()


def test_a_float_may_be_subnormal_or_zero():
    assert exp(-745).to_float() == 5e-324
    assert exp(-746).to_float() == 0.0


@pytest.mark.parametrize("x", [exp(800), -exp(800), exact("1e400")])
def test_what_no_float_holds_overflows(x):
    with pytest.raises(OverflowError):
        x.to_float()


# -- what has no value has no approximation
@pytest.mark.parametrize("ask", [Undefined.enclosure, Undefined.digits, Undefined.to_float])
def test_an_undefined_value_has_no_approximation(ask):
    with pytest.raises(UndefinedValue, match="no such row"):
        ask(Undefined("no such row"))


def test_powers_of_a_ball_around_zero_are_balls_around_zero() -> None:
    nought = subtract(exp(1), exp(1))  # not simplified: a ball around 0
    for exponent in (2, 3, 10):
        found = ball(power(nought, exact(exponent)), 256)
        assert found.contains(0)
        assert found.abs_upper() < arb(2) ** -400
    assert sign(1 + power(nought, exact(2))) == 1
