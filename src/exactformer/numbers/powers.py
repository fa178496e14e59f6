"""Powers and roots: of rationals, computed or with squares taken out of the root; of named numbers, nodes."""

from __future__ import annotations

from typing import Any

from flint import fmpq

from exactformer.numbers import decide
from exactformer.numbers.as_written import brief
from exactformer.numbers.field import ONE, ZERO, combination, multiply
from exactformer.numbers.functions import exp, log
from exactformer.numbers.nodes import Exact, Named, Number, Undefined
from exactformer.numbers.parse import required
from exactformer.numbers.ratios import factors

_HALF = Exact(fmpq(1, 2))
_LARGEST_POWER = 1_000_000  # bits of the largest rational power that is computed


def sqrt(value: Any) -> Number:
    """The square root of a number that is proved not negative.

    >>> sqrt(4), sqrt(8), sqrt(Exact(fmpq(2, 3)))
    (exact('2'), <2·√2>, <√(2/3)>)
    """
    return decide.recover(power(required(value), _HALF))


def power(a: Number, exponent: Number) -> Number:
    """a ** exponent: any real base for integers, a base that is proved not negative otherwise."""
    if type(a) is Undefined or type(exponent) is Undefined:
        return a if type(a) is Undefined else exponent
    if type(exponent) is Named:
        return exp(multiply(exponent, log(a)))
    assert type(exponent) is Exact
    r = exponent.value
    if r == 0:
        return ONE
    if r == 1:
        return a
    if type(a) is Exact:
        return _rational_power(a, r)
    assert type(a) is Named
    if r.q == 1 and r > 0:
        return Named("pow", (a,), r, a.known if r.p % 2 else abs(a.known))
    sign = decide.sign(a)
    if sign == 0:
        return _power_of_zero(r)
    if sign < 0 and r.q != 1:
        raise ValueError(f"{brief(a)} is negative and has no real power {r}")
    return Named("pow", (a,), r, sign if r.p % 2 else 1)


def _rational_power(a: Exact, r: fmpq) -> Number:
    if a.value == 0:
        return _power_of_zero(r)
    if r.q == 1:
        if abs(int(r.p)) * a.value.height_bits() > _LARGEST_POWER:
            raise ValueError(f"a rational to the power {r} is too large to compute")
        return Exact(a.value ** int(r.p), a.recovered)
    if a.value < 0:
        raise ValueError(f"{brief(a)} is negative and has no real power {r}")
    if a.value == 1:
        return a
    root = _exact_root(a.value, int(r.q))
    if root is not None:
        return _rational_power(Exact(root, a.recovered), fmpq(r.p))
    if r == _HALF.value:
        outside, inside = _square_part(a.value)
        if outside != 1:
            return combination((outside,), (Named("pow", (Exact(inside),), r, 1),))
    return Named("pow", (a,), r, 1)


def _power_of_zero(r: fmpq) -> Number:
    if r < 0:
        raise ZeroDivisionError("zero to a negative power")
    return ZERO


def _exact_root(value: fmpq, degree: int) -> fmpq | None:
    """The rational whose power `degree` is `value`, if there is one."""
    if degree > 64:
        return None
    parts = []
    for part in (value.p, value.q):
        root = part.root(degree)
        if root**degree != part:
            return None
        parts.append(root)
    return fmpq(*parts)


def _square_part(value: fmpq) -> tuple[fmpq, fmpq]:
    """s, m with value = s²·m and m free of squares (as far as small factors show)."""
    outside, inside = fmpq(1), value
    for part, direction in ((value.p, 1), (value.q, -1)):
        for prime, exponent in factors(part):
            outside *= fmpq(prime) ** (direction * (exponent // 2))
    return outside, inside / outside**2
