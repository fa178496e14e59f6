"""What numbers are in Python: immutable, hashable or not, never a float in passing, undefined once and for all."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from exactformer.numbers import (
    Exact,
    Named,
    Undefined,
    array,
    cos,
    dot,
    erf,
    erfc,
    exact,
    exp,
    from_float,
    log,
    pi,
    recover,
    sin,
    sqrt,
    tanh,
    total,
)

NAMED = [sqrt(2), exp(1), pi(), log(2), sin(1), cos(1), tanh(1), erf(1), 1 + sqrt(2), exp(1) * pi(), 1 / pi(), sqrt(2) ** 3]
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


# -- the three kinds
@pytest.mark.parametrize("x", NAMED)
def test_a_named_number_is_not_hashable(x):
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


@pytest.mark.parametrize("q", ["0", "1", "-1/2", "1e-5", "12345678901234567890"])
def test_an_exact_number_hashes_like_its_fraction(q):
    x = exact(q)
    assert hash(x) == hash(x.fraction)
    assert {x: "found"}[x.fraction] == "found"
    assert x in {Fraction(x.fraction)}


@pytest.mark.parametrize("x", [*NAMED, exact("1/2"), exact(3)])
def test_no_number_turns_into_a_float(x):
    for turn in (float, math.sqrt, math.floor):
        with pytest.raises(TypeError, match="to_float"):
            turn(x)
    with pytest.raises(TypeError, match="to_float"):
        np.array([x]).astype(float)


@pytest.mark.parametrize("x", NAMED)
def test_a_named_number_turns_into_no_integer(x):
    with pytest.raises(TypeError, match="integer"):
        int(x)


def test_a_whole_rational_is_an_integer_and_no_other_is():
    assert int(exact(-4)) == -4
    assert int(sqrt(2) ** 2) == 2
    with pytest.raises(ValueError, match="1/2 is not an integer"):
        int(exact("1/2"))


def test_truth_is_proved():
    assert bool(sqrt(2)) is True
    assert bool(sqrt(2) - sqrt(2)) is False
    assert bool(total([sqrt(3 + 2 * sqrt(2)), -sqrt(2), exact(-1)])) is False
    assert bool(exact("1e-1000")) is True
    assert bool(exact(0)) is False


def test_status():
    assert [x.status for x in (exact(1), pi(), Undefined("no"))] == ["exact", "named", "undefined"]


@pytest.mark.parametrize("x", [exact("1/3"), sqrt(2), Undefined("no")])
def test_a_copy_is_the_number_itself(x):
    assert copy.copy(x) is x
    assert copy.deepcopy([x])[0] is x


def test_pickling():
    again = pickle.loads(pickle.dumps(sqrt(2) * sqrt(2)))  # noqa: S301
    assert (again.fraction, again.recovered) == (2, True)
    assert pickle.loads(pickle.dumps(Undefined("no", True))).undecided  # noqa: S301
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(sqrt(2))


# -- floats are refused by name
@pytest.mark.parametrize("half", [0.5, np.float64(0.5), np.float32(0.5)])
@pytest.mark.parametrize("x", [sqrt(2), exact("1/3")])
def test_a_float_is_refused_by_every_operator(x, half):
    for operation in ARITHMETIC + COMPARISONS:
        with pytest.raises(TypeError, match="from_float"):
            operation(x, half)
        with pytest.raises(TypeError, match="from_float"):
            operation(half, x)
    with pytest.raises(TypeError, match="from_float"):
        x**half


@pytest.mark.parametrize("function", [exp, log, sqrt, sin, cos, tanh, erf, erfc])
def test_functions_refuse_floats_and_what_is_no_number(function):
    with pytest.raises(TypeError, match="from_float"):
        function(0.5)
    for thing in (True, None, "0.5", 1j):
        with pytest.raises(TypeError, match="not a number"):
            function(thing)
    assert function(from_float(0.5)) == function(Fraction(1, 2))


@pytest.mark.parametrize("other", [True, "1", None, 1j, [1]])
def test_what_is_no_number_is_not_computed_with_and_equals_none(other):
    for operation in ARITHMETIC:
        with pytest.raises(TypeError):
            operation(sqrt(2), other)
    assert (sqrt(2) == other) is False
    assert (exact(1) == other) is False
    assert (exact(1) != other) is True


@pytest.mark.parametrize("one_third", [Fraction(1, 3), exact("1/3")])
def test_integers_fractions_and_decimals_are_computed_with(one_third):
    assert 1 + sqrt(2) == sqrt(2) + 1
    assert sqrt(2) - one_third == -(one_third - sqrt(2))
    assert (1 / sqrt(2)) * 2 == sqrt(2)
    assert sqrt(2) * Decimal("0.5") == sqrt(2) / 2
    assert np.int64(3) * sqrt(2) == sqrt(18)
    assert 3 / exact(2) == Fraction(3, 2)


# -- what is not there
def test_divisions_by_zero_are_refused():
    for zero in (exact(0), sqrt(2) - sqrt(2), total([pi(), -pi()])):
        with pytest.raises(ZeroDivisionError):
            1 / zero
        with pytest.raises(ZeroDivisionError):
            sqrt(3) / zero
        with pytest.raises(ZeroDivisionError):
            zero**-1


def test_powers_and_functions_outside_their_domain_are_refused():
    for number in (exact(-2), -sqrt(2), 1 - pi()):
        with pytest.raises(ValueError, match="negative"):
            sqrt(number)
        with pytest.raises(ValueError, match="negative"):
            number ** Fraction(1, 3)
        with pytest.raises(ValueError, match="not positive"):
            log(number)
    for zero in (exact(0), total([pi(), -pi()])):
        assert sqrt(zero) == 0
        with pytest.raises(ValueError, match="not positive"):
            log(zero)


def test_powers():
    assert exact("2/3") ** -2 == Fraction(9, 4)
    assert exact(0) ** 0 == 1
    assert pi() ** 0 == 1
    assert pi() ** 1 == pi()
    assert (-sqrt(2)) ** 3 == -2 * sqrt(2)
    assert exact("8/27") ** Fraction(-2, 3) == Fraction(9, 4)
    assert exact(2) ** sqrt(2) == exp(sqrt(2) * log(2))


def test_an_integer_to_a_named_power():
    assert 2 ** sqrt(2) == exact(2) ** sqrt(2)


@pytest.mark.parametrize(("function", "value"), [(exp, 1), (sin, 0), (cos, 1), (tanh, 0), (erf, 0), (erfc, 1), (sqrt, 0)])
def test_values_at_zero_are_rational(function, value):
    assert isinstance(function(0), Exact)
    assert function(0) == value


@pytest.mark.parametrize(
    ("x", "rational"),
    [
        (log(1), 0),
        (sqrt(Fraction(9, 4)), Fraction(3, 2)),
        (exact(1) ** Fraction(1, 7), 1),
        (exact(32) ** Fraction(1, 5), 2),
        (log(exp(3)), 3),
    ],
)
def test_values_that_are_rational_by_definition(x, rational):
    assert isinstance(x, Exact)
    assert x == rational


# -- undefined values
def test_what_is_computed_from_the_undefined_is_undefined_for_the_same_reason():
    u = Undefined("variance 0")
    for x in (u + 1, 1 - u, u * sqrt(2), 0 * u, u / 2, sqrt(2) / u, 1 / u, u**2, u**0, exact(2) ** u, -u, +u):
        assert isinstance(x, Undefined)
        assert x.why == "variance 0"
    for function in (exp, log, sqrt, sin, cos, tanh, erf, erfc, recover):
        assert function(u) is u
    assert total([exact(1), u, pi()]) is u
    assert dot([pi(), u], [pi(), exact(0)]) is u
    assert array([1, 2]).sum() + u is u


def test_an_undefined_value_is_shown_as_such():
    u = Undefined("variance 0")
    assert (str(u), u.written, u.latex, repr(u)) == ("undefined", "undefined", r"\text{undefined}", "<undefined: variance 0>")
    assert u.definitions.text == "undefined"


def test_the_absolute_value_of_the_undefined_is_undefined():
    u = Undefined("variance 0")
    assert abs(u) is u


# -- rationals that come out of named numbers
def test_recovered():
    two = sqrt(2) * sqrt(2)
    assert isinstance(two, Exact)
    assert two.recovered
    assert (two + 1).recovered
    assert (two * exact(3)).recovered
    assert (-two).recovered
    assert (1 / two).recovered
    assert (two**3).recovered
    assert dot([two], [exact(3)]).recovered
    assert not exact(2).recovered
    assert not (exact(2) + 1).recovered
    assert not sqrt(2).recovered


def test_a_recovered_rational_tells_where_it_comes_from():
    two = sqrt(2) * sqrt(2)
    assert isinstance(two.origin, Named)
    assert (str(two), two.written, two.written_latex) == ("2", "√2·√2", r"\sqrt{2}\,\sqrt{2}")
    assert exact(2).origin is None


@pytest.mark.parametrize("name", ["value", "origin", "_recovered", "more"])
def test_rationals_do_not_change(name: str) -> None:
    """exp(0) is the 1 that all share: were it written to, every later sum with it would be wrong."""
    for number in (exact("1/3"), exp(0)):
        before = number.value  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match=f"{name}: a number does not change"):
            setattr(number, name, None)
        with pytest.raises(AttributeError, match=f"{name}: a number does not change"):
            delattr(number, name)
        assert number.value == before  # type: ignore[attr-defined]
