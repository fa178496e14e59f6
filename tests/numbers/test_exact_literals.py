"""What comes in as a rational, and what is refused."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactformer.numbers import exact, from_float, sqrt

NOT_FINITE = ("nan", "NaN", "inf", "-inf", "Infinity")


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("0.3", Fraction(3, 10)),
        ("3/10", Fraction(3, 10)),
        ("-3/10", Fraction(-3, 10)),
        ("1e-5", Fraction(1, 100_000)),
        ("2.5E+3", Fraction(2500)),
        ("-1.50", Fraction(-3, 2)),
        (".5", Fraction(1, 2)),
        ("7", Fraction(7)),
        ("1_000", Fraction(1000)),
        (" 3 / 10 ", Fraction(3, 10)),
        ("0.1/0.3", Fraction(1, 3)),
        (7, Fraction(7)),
        (-(10**40), Fraction(-(10**40))),
        (Fraction(3, 7), Fraction(3, 7)),
        (Decimal("-1.50"), Fraction(-3, 2)),
        (Decimal("1E-7"), Fraction(1, 10**7)),
        (np.int8(-4), Fraction(-4)),
        (np.int64(2**62), Fraction(2**62)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    ],
)
def test_exact_is_the_rational_that_is_written(literal, value):
    assert exact(literal).fraction == value


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9))
def test_a_decimal_and_its_text_are_the_same_rational(value):
    assert exact(str(value)).fraction == exact(value).fraction == Fraction(value)


@given(st.fractions())
def test_a_fraction_survives_text(value):
    assert exact(str(value)).fraction == value
    assert str(exact(value)) == str(value)


def test_an_exact_number_is_handed_back():
    x = exact("1/3")
    assert exact(x) is x


@pytest.mark.parametrize("value", [0.3, -0.0, 1e300, np.float64(0.3), np.float32(0.3), np.float16(0.5), np.longdouble(1)])
def test_a_float_is_refused_and_from_float_is_named(value):
    with pytest.raises(TypeError, match="from_float"):
        exact(value)


@pytest.mark.parametrize("value", [True, False, np.bool_(True), None, 1j, [1], b"1", np.array([1, 2]), sqrt(2)])
def test_what_is_no_rational_is_refused(value):
    with pytest.raises(TypeError, match="not a rational"):
        exact(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        ".",
        "e5",
        "3e",
        "1/0",
        "1/0.0",
        "1/2/3",
        "1.5.2",
        "--1",
        "0x10",
        "1 000",
        "1,5",
        "²",
        "１２",
        "١",
        "1__0",
        "1_",
        "_1",
        "1._5",
        "1_.5",
        "1e_5",
        "1e1_0",
        "1.5e٣",
        "३/४",
        "1/２",
        "+-1",
        "1e",
        "∞",
    ],
)
def test_text_that_is_no_number_is_refused_and_quoted(text):
    with pytest.raises(ValueError, match=r"is not a number|divides by zero") as refusal:
        exact(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize("value", [*NOT_FINITE, *map(Decimal, ("NaN", "sNaN", "Infinity", "-Infinity"))])
def test_exact_refuses_what_is_not_finite(value):
    with pytest.raises(ValueError, match="number"):
        exact(value)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", NOT_FINITE)
def test_from_float_refuses_what_is_not_finite(kind, name):
    with pytest.raises(ValueError, match="not a number"):
        from_float(kind(name))


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("name", NOT_FINITE)
def test_no_operator_takes_what_is_not_finite(kind, name):
    for question in (lambda x, v: x + v, lambda x, v: v * x, lambda x, v: x == v, lambda x, v: x < v):
        with pytest.raises((TypeError, ValueError), match=r"not taken|not a number"):
            question(sqrt(2), kind(name))


@pytest.mark.parametrize(
    "literal",
    ["1e999999999", "1e-999999999", "1e99999", "1/1e999999999", "9" * 1_000_000, Decimal("1E+999999"), Decimal("1E-999999")],
)
def test_a_giant_is_refused_at_once(literal):
    start = time.thread_time()
    with pytest.raises(ValueError, match=r"beyond|longer"):
        exact(literal)
    assert time.thread_time() - start < 10  # to write the largest out takes minutes


def test_a_long_literal_within_the_limit_is_read_to_the_last_digit():
    assert exact("7" * 9_999).value * 9 == 7 * (10**9_999 - 1)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_from_float_is_exact_to_the_last_bit(value):
    assert from_float(value).fraction == Fraction(value)
    assert from_float(np.float64(value)).fraction == Fraction(value)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_from_float_takes_a_float32_for_what_it_is(value):
    assert from_float(np.float32(value)).fraction == Fraction(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_comes_back_from_its_rational(value):
    assert from_float(value).to_float() == value


@pytest.mark.parametrize("value", [3, True, "0.5", None, Fraction(1, 2), np.int64(3), np.bool_(True)])
def test_from_float_takes_floats_only(value):
    with pytest.raises(TypeError, match="takes a float"):
        from_float(value)
