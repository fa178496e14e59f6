"""What is to be said of what is printed, given what is true. Every comparison is a proof, or the verdict is *undecided*."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from math import floor
from typing import Any

from flint import arb, fmpq

from exactformer.checking.printed import Claimed, Printed, Token, power_of_ten
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named, Number, Undecided, Undefined, compare, sign

_LONGEST = 60  # characters of a number in a message


class Verdict(StrEnum):
    RIGHT = "right"
    TRUNCATED = "truncated"
    LAST_DIGIT = "last digit off"
    WRONG = "wrong"
    UNDECIDED = "undecided"


def judge(x: Any, printed: Claimed) -> Verdict:
    """
    >>> from exactformer.checking.printed import read
    >>> from exactformer.numbers import sqrt
    >>> [str(judge(sqrt(5), read(text))) for text in ("2.236", "2.23", "2.237", "2.25")]
    ['right', 'truncated', 'last digit off', 'wrong']
    """
    wrong = Verdict.UNDECIDED if isinstance(x, Undefined) and x.undecided else Verdict.WRONG
    if isinstance(printed, Token):
        return Verdict.RIGHT if isinstance(x, str) and x == printed.text else wrong
    if x is MASKED or printed.value is None:
        return Verdict.RIGHT if x is MASKED and printed.value is None else Verdict.WRONG
    if isinstance(x, Undefined):
        return wrong
    try:
        if isinstance(x, arb):
            return _of_ball(x, printed, printed.value)
        return _judged(x, printed, printed.value)
    except (Undecided, ValueError):  # ValueError: the undecided question itself is too long to be written
        return Verdict.UNDECIDED


def _of_ball(x: arb, printed: Printed, value: Number) -> Verdict:
    """What holds at both ends of a ball that is much smaller than the last printed place, on one side of what is printed."""
    low, high = (Exact(end.fmpq()) for end in (x.lower(), x.upper()))
    if printed.place is None or 4 * (high.value - low.value) > printed.unit.value:
        return Verdict.WRONG if compare(low, value) > 0 or compare(high, value) < 0 else Verdict.UNDECIDED
    found = {_judged(end, printed, value) for end in (low, high)}
    return found.pop() if len(found) == 1 else Verdict.UNDECIDED


def _judged(x: Number, printed: Printed, value: Number) -> Verdict:
    if printed.place is None:
        return Verdict.RIGHT if compare(x, value) == 0 else Verdict.WRONG
    assert isinstance(value, Exact)
    unit = printed.unit
    if _within(x, value, unit, fmpq(1, 2)):  # at a half-way case both neighbours are right
        return Verdict.RIGHT
    side = sign(value) or sign(x)  # cut off: towards zero
    beyond = Exact(value.value + side * unit.value)
    if side * compare(x, value) >= 0 and side * compare(x, beyond) < 0:
        return Verdict.TRUNCATED
    counts = type(x) is Exact and x.value.q == 1 and printed.place == 0  # 15 for 16 is another number, not a bad rounding
    near = _within(x, value, unit, fmpq(1))  # at most one unit of the last place away
    return Verdict.LAST_DIGIT if near and not counts else Verdict.WRONG


def _within(x: Number, centre: Exact, unit: Exact, units: fmpq) -> bool:
    radius = unit.value * units
    return compare(x, Exact(centre.value + radius)) <= 0 <= compare(x, Exact(centre.value - radius))


def nearest(x: Number, place: int) -> int:
    """How many times 10**place is nearest to x, proved; a half-way case goes away from zero.

    >>> from exactformer.numbers import exact, sqrt
    >>> nearest(sqrt(5), -3), nearest(exact("-0.125"), -2), nearest(exact("1e-9"), -2)
    (2236, -13, 0)
    """
    unit = power_of_ten(place)
    below = _below(x, unit)
    side = compare(x, Exact(unit.value * (below + fmpq(1, 2))))
    return below + (side > 0 or (side == 0 and below >= 0))


def _below(x: Number, unit: Exact) -> int:
    """An n so that the multiple nearest to x is the nth or the next."""
    if type(x) is Named:
        if compare(x, unit) < 0 and compare(x, Exact(-unit.value)) > 0:
            return -1 if sign(x) < 0 else 0
        low, high = x.enclosure(64)
        if high - low > unit.fraction / 4:
            low, high = x.enclosure(64 + int(max(abs(low), abs(high)) / unit.fraction).bit_length())
        return floor((low + high) / (2 * unit.fraction))
    assert type(x) is Exact
    return floor(x.fraction / unit.fraction)


def true_digits(x: Any, printed: Claimed, more: int = 0) -> str:
    """The true value as it should have been printed, with `more` decimals besides; words where there are no digits."""
    if x is MASKED:
        return "-inf"
    if isinstance(x, Undefined):
        return f"undefined: {x.why}"
    if isinstance(printed, Token):
        return str(x)
    if isinstance(x, arb):
        x = Exact(x.mid().fmpq())  # asked of one that is proved to more decimals than these, or of one that is undecided
    try:
        if printed.place is not None:
            return written_like(x, printed, more)
        if isinstance(x, Exact):
            return str(x)
    except (Undecided, ValueError):
        pass  # too large to be written out with decimals
    try:
        return f"≈ {x.digits(6 + more)}"
    except (Undecided, ValueError):
        return "a number whose digits were not found"


def written_like(x: Number, printed: Printed, more: int = 0) -> str:
    """The number in the style of a printed one, with `more` decimals. In scientific notation it has its own exponent, and with more
    decimals, a number that is too small for them is shown by its digits.

    >>> from exactformer.checking.printed import read
    >>> from exactformer.numbers import exp
    >>> written_like(exp(-100), read("1.00e-4")), written_like(exp(-100), read("0.01")), written_like(exp(-100), read("0.01"), 2)
    ('3.72e-44', '0.00', '3.72e-44')
    """
    assert printed.place is not None
    units = nearest(x, printed.place - more)
    zero = isinstance(x, Exact) and x.value == 0
    digits = None if printed.mantissa is None or zero else printed.mantissa + more
    if digits is not None and len(str(abs(units))) != digits:
        exponent = Decimal(x.digits(digits)).adjusted()
        units = nearest(x, exponent - digits + 1)
        if len(str(abs(units))) > digits:  # 9.996 is 10.00
            exponent, units = exponent + 1, units // 10
        return printed.scientific(units, exponent)
    return x.digits(3) if units == 0 and more and not zero else printed.rewritten(units, more)


def short(text: str) -> str:
    """A number in a message."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}… ({len(text)} characters)"
