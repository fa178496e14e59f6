"""Enclosures as decimals: ends rounded outwards for files, and the digits that they prove for people."""

from __future__ import annotations

import math
from fractions import Fraction

from exactformer.numbers.decimals import nearest_decimal, outwards

_MOST = 160  # decimals: a radius is never below 2^-510
_ROOM = 8  # the unit of the last decimal is at most the width divided by this


def ends(low: Fraction, high: Fraction) -> tuple[str, str]:
    """Two decimals that enclose [low, high] with at least a unit of their last place to spare; above 0 where `low` is.

    >>> ends(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 1000))
    ('0.3332', '0.3345')
    >>> ends(Fraction(0), Fraction(0))  # known exactly: two equal logits
    ('0', '0')
    """
    if low == high == 0:
        return "0", "0"
    unit = (high - low) / _ROOM
    if low > 0:
        unit = min(unit, low / _ROOM)
    decimals = _MOST if unit == 0 else min(_MOST, max(0, -_exponent(unit)))
    scale = 10**decimals
    return _fixed(math.floor(low * scale) - 1, decimals), _fixed(math.ceil(high * scale) + 1, decimals)


def _exponent(x: Fraction) -> int:
    """The largest k with 10^k ≤ x."""
    k = math.floor((x.numerator.bit_length() - x.denominator.bit_length()) * math.log10(2)) - 1
    while Fraction(10) ** (k + 1) <= x:
        k += 1
    return k


def _fixed(value: int, decimals: int) -> str:
    digits = str(abs(value)).rjust(decimals + 1, "0")
    text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"-{text}" if value < 0 else text


def upwards(radius: float) -> str:
    """A radius to three digits, rounded up.

    >>> upwards(2**-70), upwards(0.0), upwards(math.inf)
    ('8.48e-22', '0', 'inf')
    """
    if not math.isfinite(radius):
        return "inf"
    return outwards(*radius.as_integer_ratio(), 3, down=False)


def outward_decimals(low: Fraction, high: Fraction, digits: int = 12) -> tuple[str, str]:
    """Two decimals of so many significant digits around [low, high].

    >>> outward_decimals(Fraction(1, 3), Fraction(2, 3), 4)
    ('0.3333', '0.6667')
    """
    return outwards(*low.as_integer_ratio(), digits, down=True), outwards(*high.as_integer_ratio(), digits, down=False)


def proved_digits(low: Fraction, high: Fraction, most: int = 90) -> str:
    """What every number between the ends is when it is rounded correctly, to `most` significant digits or fewer; else both ends.

    >>> proved_digits(Fraction("1.2346"), Fraction("1.2349")), proved_digits(Fraction("-0.1"), Fraction("0.2"))
    ('1.235', 'between -0.100 and 0.200')
    >>> proved_digits(Fraction(1, 3), Fraction(1, 3), 12)
    '0.333333333333'
    """
    for n in range(_likely(low, high, most), 0, -1):
        rounded = nearest_decimal(low.numerator, low.denominator, n)
        if rounded is None or rounded != nearest_decimal(high.numerator, high.denominator, n):
            continue
        if "e" not in rounded and len(rounded.lstrip("-").partition(".")[0]) > n:  # zeros before the point that are not proved
            break
        return rounded
    below, above = outward_decimals(low, high, 3)
    return f"between {below} and {above}"


def _likely(low: Fraction, high: Fraction, most: int) -> int:
    """No more digits than this can be proved."""
    if low == high:
        return most
    if low == 0:
        return 1
    return min(most, max(1, _exponent(max(abs(low), abs(high))) - _exponent(high - low) + 1))
