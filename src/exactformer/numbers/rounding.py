"""Numbers rounded and formatted as Python does it, each digit proved: `round(x, n)` and `f"{x:.20f}"`.

Where a tie is proved, the even digit is taken, as Python takes it for fractions. What may be a tie, or may not, is `Undecided`.
"""

from __future__ import annotations

import decimal
import re
from decimal import Decimal
from fractions import Fraction

from flint import arb, fmpq

from exactformer.numbers.as_written import brief
from exactformer.numbers.budget import DEFAULT, WORKING_BITS
from exactformer.numbers.digits import agreed_digits, ball_bounds, ball_fractions, digits
from exactformer.numbers.enclosure import WIDEST, ball, dyadic, enclose, precision
from exactformer.numbers.errors import Undecided
from exactformer.numbers.nodes import Exact, Named, Number, refuse_undefined
from exactformer.numbers.parse import exact

_SPEC = re.compile(r"(?P<before>.*?)(?:\.(?P<precision>[0-9]{1,9}))?(?P<kind>[a-zA-Z%]?)", re.DOTALL)
_USUAL = 6  # digits, where a format does not say how many: as for floats
_MOST = 100_000  # digits that are asked for
_HALF = arb(2) ** -1
_WIDE = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def rounded(x: Number | arb, decimals: int) -> Exact:
    """`x` rounded to that many decimals after the point, proved.

    >>> from exactformer.numbers import exact, exp
    >>> rounded(exp(1), 4), rounded(exact("1/8"), 2), rounded(100 * exp(1), -1), rounded(exp(-(10**9)), 3)
    (exact('27183/10000'), exact('3/25'), exact('270'), exact('0'))
    """
    if abs(decimals) > _MOST:
        raise ValueError(f"rounding to {decimals:,} decimals: ask for {_MOST:,} at most")
    value = _rational(x)
    if type(value) is Exact:
        return exact(round(value.fraction, decimals))
    if isinstance(value, arb):
        return _rounded_ball(value, decimals)
    bits = max(16, decimals * 10 // 3 + 16)
    cap = bits + 2 * DEFAULT.bits
    if ball(value, WORKING_BITS).abs_upper() < arb(2) ** -bits:  # type: ignore[arg-type]
        return exact(0)
    while True:
        low, high = (round(end, decimals) for end in enclose(value, bits))
        if low == high:
            return exact(low)
        if bits >= cap:
            raise Undecided(f"{brief(value)} rounded to {decimals} decimals", bits)
        bits = min(2 * bits, cap)


def _rounded_ball(b: arb, decimals: int) -> Exact:
    """What all numbers of a ball are rounded to."""
    with precision(WORKING_BITS):
        if b.abs_upper() * 10 ** max(decimals, 0) < _HALF:  # also where it is too small for a fraction
            return exact(0)
    low, high = (round(end, decimals) for end in ball_fractions(b))
    if low != high:
        raise not_proved(f"{decimals} decimals", b)
    return exact(low)


def not_proved(what: str, b: arb) -> Undecided:
    """Digits that a ball leaves open."""
    between = "{} and {}".format(*ball_bounds(b)) if b.is_finite() else "-∞ and ∞"
    return Undecided(f"{what} of a number between {between}", 0)


def formatted(x: Number | arb, spec: str) -> str:
    """`x` as a format says: with proved digits (f, e, g, %), or as the text that it is.

    >>> from exactformer.numbers import exact, exp
    >>> x = exp(1) / (1 + exp(1))
    >>> [formatted(x, spec) for spec in (".20f", "+.3e", ">10.2%", ".4g", ">10")]
    ['0.73105857863000487925', '+7.311e-1', '    73.11%', '0.7311', '   e/(1+e)']
    >>> formatted(exact("12345678.5"), ",.0f")
    '12,345,678'
    """
    found = _SPEC.fullmatch(spec)
    kind = "?" if found is None else found["kind"] or ("g" if found["precision"] else "")
    if kind in ("", "s"):
        return format(str(x), spec)
    if found is None or kind not in "eEfFgG%":
        raise ValueError(f"the format {spec!r} is not for exact numbers: f, e, g, % give proved digits, s the number itself")
    places = int(found["precision"] or _USUAL)
    if places > _MOST:
        raise ValueError(f"the format {spec!r} asks for more than {_MOST:,} digits")
    if kind in "eE":
        value = _significant(x, places + 1)
    elif kind in "gG":
        value = _significant(x, max(places, 1))
    else:
        after = places + 2 * (kind == "%")
        value = _decimal(rounded(x, after).fraction, after)
    if not value:
        value = Decimal((0, (0,), -places))  # another zero is given another exponent
    return format(value, f"{found['before']}.{places}{kind}")  # which has no more digits: nothing is rounded again


def _rational(x: Number | arb) -> Number | arb:
    """The rational that a closed form was proved to be, where it was, or that is all of a ball."""
    if isinstance(x, arb):
        if not x.is_finite():
            raise not_proved("a decimal", x)
        return Exact(fmpq(*dyadic(x, None))) if x.is_exact() and abs(int(x.man_exp()[1])) <= WIDEST else x
    refuse_undefined(x)
    return x.exact if type(x) is Named and x.exact is not None else x


def _significant(x: Number | arb, n: int) -> Decimal:
    """Of a rational the even digit on a tie; of a closed form or a ball what both ends of an enclosure round to."""
    value = _rational(x)
    if isinstance(value, arb):
        agreed = agreed_digits(value, n)
        if agreed is None:
            raise not_proved(f"{n} digits", value)
        return Decimal(agreed)
    if type(value) is not Exact:
        return Decimal(digits(value, n))
    narrow = decimal.Context(prec=n, rounding=decimal.ROUND_HALF_EVEN, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    return narrow.divide(Decimal(int(value.value.p)), Decimal(int(value.value.q)))


def _decimal(value: Fraction, decimals: int) -> Decimal:
    """A fraction that has so many decimals."""
    return _WIDE.scaleb(Decimal(int(value * 10**decimals)), -decimals)
