"""A number as it is printed: its value, and the place of its last digit. And a token as it is printed: its text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flint import fmpq

from exactformer.numbers import Exact, Number, exact

_DECIMAL = re.compile(r"([+\-−]?)([0-9][0-9_]*)?(\.?)([0-9][0-9_]*)?([eE][+-]?[0-9]+)?")
_MOST_DECIMALS = 1000


@dataclass(frozen=True)
class Printed:
    """`value` is None for -inf; `place` is the power of ten of the last digit, None where the number is meant exactly (1/3, or a
    closed form)."""

    text: str
    value: Number | None
    place: int | None

    @property
    def unit(self) -> Exact:
        assert self.place is not None
        return power_of_ten(self.place)

    def rewritten(self, units: int, more: int = 0) -> str:
        """`units` of the last place (or of the place that is `more` places further on) in the style of this number.

        >>> read("0.50").rewritten(-7), read("1.").rewritten(12), read(".5").rewritten(0), read("2.5e-3").rewritten(31)
        ('-0.07', '12.', '.0', '3.1e-3')
        """
        match = _DECIMAL.fullmatch(self.text)
        assert match is not None
        sign, whole, point, fraction, exponent = (group or "" for group in match.groups())
        decimals = len(fraction.replace("_", "")) + more
        digits = str(fmpq(abs(units))).zfill(decimals + 1)
        head, tail = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
        if head == "0" and not whole and tail:
            head = ""
        minus = "−" if sign == "−" else "-"
        mark = minus if units < 0 else "+" if sign == "+" else ""
        return mark + head + ("." if tail else point) + tail + exponent


@dataclass(frozen=True)
class Token:
    """Every character counts, blanks too."""

    text: str


Claimed = Printed | Token


def read(text: str) -> Printed:
    """A printed number; ValueError says what is wrong with it.

    >>> read("0.50").place, read("12").place, read("1.5e-3").place, read("1/3").place
    (-2, 0, -4, None)
    """
    stripped = text.strip()
    if stripped == "-inf" or stripped == "−inf":
        return Printed(text, None, None)
    value = exact(stripped.replace("−", "-"))
    if "/" in stripped:
        return Printed(text, value, None)
    match = _DECIMAL.fullmatch(stripped)
    assert match is not None  # `exact` took it
    place = int((match[5] or "e0")[1:]) - len((match[4] or "").replace("_", ""))
    if place < -_MOST_DECIMALS:
        raise ValueError(f"{-place:,} decimals are more than {_MOST_DECIMALS:,}")
    return Printed(stripped, value, place)


def power_of_ten(place: int) -> Exact:
    return Exact(fmpq(10) ** place)
