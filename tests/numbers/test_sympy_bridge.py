"""To SymPy and back."""

from __future__ import annotations

import pytest

from exactformer.numbers import Exact, Number, cos, erf, erfc, exact, exp, log, pi, sin, sqrt, tanh
from exactformer.numbers.sympy_bridge import from_sympy, to_sympy

sympy = pytest.importorskip("sympy")
NUMBERS = [
    exact("-3/7"),
    exp(1) / (exp(1) + exp(2)),
    sqrt(2) + sqrt(3) * log(5),
    tanh(sin(1) + cos(2)) ** 2,
    erf(pi() / 4) * erfc(exact("1/3")),
    exact(2) ** exact("1/3") - exp(sqrt(2)),
]


@pytest.mark.parametrize("x", NUMBERS, ids=str)
def test_sympy_agrees_in_value(x: Number) -> None:
    theirs = sympy.Rational(x.digits(40)) if x != 0 else 0
    assert abs(sympy.N(to_sympy(x), 60) - theirs) < sympy.Rational(1, 10**38)


@pytest.mark.parametrize("x", NUMBERS, ids=str)
def test_there_and_back_is_the_same_number(x: Number) -> None:
    assert from_sympy(to_sympy(x)) == x


def test_rationals_stay_exact() -> None:
    assert isinstance(from_sympy(sympy.Rational(3, 7)), Exact)


@pytest.mark.parametrize("expression", ["x + 1", "gamma(3/2 + x)", "Float('0.5')", "zoo", "I", "besselj(0, 1)"])
def test_what_is_no_closed_form_is_refused(expression: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        from_sympy(sympy.sympify(expression))
