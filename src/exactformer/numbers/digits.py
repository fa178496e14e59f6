"""The decimals and floats that enclosures prove."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from flint import arb

from exactformer.numbers import decide
from exactformer.numbers.as_written import brief
from exactformer.numbers.budget import DEFAULT, WORKING_BITS
from exactformer.numbers.decimals import common_decimal, fixed, nearest_decimal, outwards, times_power
from exactformer.numbers.enclosure import WIDEST, ball, dyadic, enclose, good_ball, magnitude, precision
from exactformer.numbers.errors import Undecided
from exactformer.numbers.nodes import Enclosure, Exact, Named, Number, refuse_undefined

_LONGEST_EXPONENT = 1000  # bits of a decimal exponent that is written down
_BEYOND_FLOATS = 1100  # binary exponents of float64 lie within this, those of halves of its smallest numbers too


class _Ends(NamedTuple):
    """Numerators and denominators with low ≤ value / 10**power ≤ high. The power is 0 but for numbers like e^1000000."""

    low: tuple[int, int]
    high: tuple[int, int]
    power: int = 0


def _ends(x: Number, bits: int) -> _Ends:
    """The ends of an enclosure of `bits` good bits."""
    b, working = good_ball(x, bits)
    return _ball_ends(b, x, 2 * working)


def _ball_ends(b: arb, x: Number | None = None, working: int = 0) -> _Ends:
    """The ends of a finite ball, computed with `working` bits; `x` is what a message calls it."""
    (middle, exponent), (radius, finer) = b.mid().man_exp(), b.rad().man_exp()
    if max(abs(exponent), abs(finer)) <= WIDEST:
        least = min(exponent, finer)
        above, width = middle << int(exponent - least), radius << int(finer - least)
        scale, below = (1 << int(least), 1) if least > 0 else (1, 1 << int(-least))
        return _Ends((int(above - width) * scale, below), (int(above + width) * scale, below))
    working = working or b.bits() + WORKING_BITS
    with precision(working):
        low, high = b.lower(), b.upper()
        if b.contains(0) or max(abs(int(low.man_exp()[1])), abs(int(high.man_exp()[1]))) <= WIDEST:
            return _Ends(dyadic(low, x), dyadic(high, x))
        size = int(low.man_exp()[1])
        if size.bit_length() > _LONGEST_EXPONENT:
            raise magnitude(size, x)
    with precision(
        working + 2 * _LONGEST_EXPONENT
    ):  # the power has that many bits, and its error becomes a relative one of 10**power
        power = int((abs(low).log() / arb(10).log()).mid().floor().unique_fmpz())
        scale = arb(10) ** power
        return _Ends(dyadic((low / scale).lower(), x), dyadic((high / scale).upper(), x), power)


def digits(x: Number, n: int = 12) -> str:
    """`x` correctly rounded to `n` significant decimals; `Undecided` on a proved tie or at the precision cap.

    >>> from exactformer.numbers import exact, exp, sqrt
    >>> digits(exp(-100), 3), digits(exact("2/3"), 4), digits(sqrt(2) * 10**6, 9), digits(exact(0), 5)
    ('3.72e-44', '0.6667', '1414213.56', '0')
    >>> digits(exp(10**9), 5)
    '8.0030e434294481'
    """
    if n < 1:
        raise ValueError(f"{n} digits: ask for 1 or more")
    refuse_undefined(x)
    value = x.exact if type(x) is Named else x
    if type(value) is Exact:
        rounded = nearest_decimal(int(value.value.p), int(value.value.q), n)
        if rounded is None:
            raise Undecided(f"{n} digits of {brief(value)}: it is a tie between two decimals", 0)
        return rounded
    assert type(x) is Named
    if decide.sign(x) == 0:
        return "0"
    bits = n * 10 // 3 + 8
    cap = bits + DEFAULT.bits
    while True:
        low, high, power = _ends(x, bits)
        rounded = common_decimal(low, high, n)
        if rounded is not None:
            return times_power(rounded, power)
        if bits >= cap:
            raise Undecided(f"{n} digits of {brief(x)}", bits)
        bits = min(2 * bits, cap)


def fixed_decimals(x: Number, decimals: int) -> str:
    """`x` correctly rounded to that many decimals after the point; an exact tie is rounded away from 0.

    >>> from exactformer.numbers import exact, exp
    >>> fixed_decimals(100 * exp(100) / (exp(100) + 2), 1), fixed_decimals(exact("1/8"), 2)
    ('100.0', '0.13')
    """
    refuse_undefined(x)
    value = x.exact if type(x) is Named else x
    if type(value) is Exact:
        return fixed(int(value.value.p), int(value.value.q), decimals)
    bits = decimals * 10 // 3 + 16
    if ball(x, WORKING_BITS).abs_upper() < arb(2) ** -bits:  # type: ignore[arg-type]
        return fixed(0, 1, decimals)
    while True:
        low, high = enclose(x, bits)
        a, b = (fixed(end.numerator, end.denominator, decimals) for end in (low, high))
        if a == b:
            return a
        if bits >= 2 * DEFAULT.bits:
            raise Undecided(f"{decimals} decimals of {brief(x)}", bits)
        bits *= 2


def decimal_bounds(x: Number, n: int = 12) -> tuple[str, str]:
    """Two decimals of `n` significant digits around `x`: an enclosure rounded outwards.

    >>> from exactformer.numbers import exp
    >>> decimal_bounds(exp(1), 6)
    ('2.71828', '2.71829')
    """
    return _outwards(_ends(x, n * 10 // 3 + 8), n, x)


def _outwards(ends: _Ends, n: int, x: Number | None = None) -> tuple[str, str]:
    """Bounds are read back as fractions, so they are not given where a fraction would fill the memory."""
    if ends.power:
        raise magnitude(ends.power * 3322 // 1000, x)  # log2(10) ≈ 3.322
    return outwards(*ends.low, n, down=True), outwards(*ends.high, n, down=False)


def ball_fractions(b: arb) -> Enclosure:
    """The ends of a finite ball.

    >>> [str(end) for end in ball_fractions(arb("0.5"))]
    ['1/2', '1/2']
    """
    low, high, power = _ball_ends(b)
    if power:
        raise magnitude(power * 3322 // 1000, None)  # log2(10) ≈ 3.322
    return Enclosure(Fraction(*low), Fraction(*high))


def ball_bounds(b: arb, n: int = 12) -> tuple[str, str]:
    """Two decimals of `n` significant digits around a finite ball.

    >>> ball_bounds(arb(1) / 3, 4), ball_bounds(arb("0.5"), 4)
    (('0.3333', '0.3334'), ('0.5000', '0.5000'))
    """
    return _outwards(_ball_ends(b), n)


def ball_digits(b: arb, n: int = 12) -> str:
    """The numbers of a finite ball, correctly rounded to `n` significant decimals or fewer; "" where they agree in none.

    >>> ball_digits(arb(1) / 3, 4), ball_digits(arb("1.24 +/- 0.001")), ball_digits(arb("204 +/- 2")), ball_digits(arb("0.5"))
    ('0.3333', '1.24', '', '0.5')
    """
    low, high, power = _ball_ends(b)
    for k in range(n, 0, -1):
        rounded = common_decimal(low, high, k)
        if rounded is None:
            continue
        if power:
            return times_power(rounded, power)
        plain = "e" not in rounded
        if low == high and outwards(*low, k, down=True) == outwards(*low, k, down=False):  # it is that decimal
            return rounded.rstrip("0").rstrip(".") if plain and "." in rounded else rounded
        padded = plain and len(rounded.lstrip("-").partition(".")[0]) > k  # zeros before the point that are not proved
        return "" if padded else rounded
    return ""


def agreed_digits(b: Any, n: int) -> str | None:
    """The decimal of `n` significant digits that all numbers of a ball are rounded to; None where they differ, or there is no ball.

    >>> agreed_digits(arb(1) / 3, 4), agreed_digits(arb("0 +/- 0.1"), 4), agreed_digits(arb(0), 4)
    ('0.3333', None, '0')
    """
    if not isinstance(b, arb) or not b.is_finite():
        return None
    low, high, power = _ball_ends(b)
    rounded = common_decimal(low, high, n)
    return None if rounded is None else times_power(rounded, power)


def agreed_bounds(b: Any, n: int) -> tuple[str, str] | None:
    """The closest two decimals of `n` significant digits around each number of a ball; None where they are not the same for all.

    >>> agreed_bounds(arb(1) / 3, 4), agreed_bounds(arb("0.5 +/- 0.1"), 4)
    (('0.3333', '0.3334'), None)
    """
    if not isinstance(b, arb) or not b.is_finite():
        return None
    low, high, power = _ball_ends(b)
    if power:
        return None
    around = [_outwards(_Ends(end, end), n) for end in (low, high)]
    return around[0] if around[0] == around[1] else None


def nearest_float(x: Number) -> float:
    """The float64 nearest to `x`, proved: both ends of an enclosure round to it."""
    refuse_undefined(x)
    if type(x) is Exact:
        return float(x.fraction)
    assert type(x) is Named
    sign = decide.sign(x)
    if sign == 0:
        return 0.0
    for bits in DEFAULT.ladder:  # what is far smaller than any float, or far larger, is not written out
        b = ball(x, bits)
        if b.abs_upper() < arb(2) ** -_BEYOND_FLOATS:
            return math.copysign(0.0, sign)
        if b.abs_lower() > arb(2) ** _BEYOND_FLOATS:
            raise OverflowError(f"{brief(x)} is beyond the range of a float")
        if b.is_finite():
            break
    for bits in (64, 128, 256, 512, 1024, DEFAULT.bits):
        try:
            low, high = enclose(x, bits)
            if float(low) == float(high):
                return float(low)
        except OverflowError:
            raise OverflowError(f"{brief(x)} is beyond the range of a float") from None
    raise Undecided(f"the float nearest to {brief(x)}", bits)


def ball_float(b: arb) -> float:
    """The float64 nearest to every number of a ball; NaN of one that encloses nothing, `Undecided` where they differ.

    >>> ball_float(arb("0.25"))
    0.25
    >>> ball_float(arb("0.25 +/- 1e-9"))
    Traceback (most recent call last):
    exactformer.numbers.errors.Undecided: undecided: the float64 nearest to a number between 0.249999999 and 0.250000001 ...
    """
    if not b.is_finite():
        return math.nan
    if b.abs_upper() < arb(2) ** -_BEYOND_FLOATS and not b.contains(0):
        return math.copysign(0.0, 1 if b > 0 else -1)
    try:
        low, high = (float(end) for end in ball_fractions(b))
    except OverflowError:
        raise OverflowError("a number of a ball is beyond the range of a float") from None
    if low != high:
        raise Undecided(f"the float64 nearest to a number between {low!r} and {high!r}", b.bits())
    return low
