"""The formats of floats: how numbers are rounded to them, and what a unit of the last place is there.

A format is three numbers, and is computed with in float64: so bfloat16 needs no library, and there is one rule for all of them.
 Arrays are of float64, which holds every number of every format.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.messages import Refused


@dataclass(frozen=True)
class Format:
    """Binary floats as IEEE 754 has them: `precision` bits, the first of them not stored; exponents from `lowest` to `highest`.

    >>> half = FORMATS["float16"]
    >>> half.largest, half.epsilon, half.smallest
    (65504.0, 0.0009765625, 5.960464477539063e-08)
    >>> float(half.unit(np.float64(1000.0))), float(half.rounded(np.float64(1000.3)))
    (0.5, 1000.5)
    """

    name: str
    precision: int
    lowest: int  # exponent of the smallest normal number
    highest: int  # and of the largest

    @property
    def epsilon(self) -> float:
        """The unit of the last place of 1."""
        return math.ldexp(1.0, 1 - self.precision)

    @property
    def smallest(self) -> float:
        """The smallest number above 0, which is the least unit."""
        return math.ldexp(1.0, self.lowest - self.precision + 1)

    @property
    def largest(self) -> float:
        return math.ldexp(2.0 - self.epsilon, self.highest)

    def unit(self, x: Any) -> Any:
        """The unit of the last place of numbers of the size of x: the distance of neighbours between two powers of two."""
        _, exponent = np.frexp(x)
        below = np.where(np.isfinite(x) & (x != 0), exponent - 1, self.lowest)
        return np.ldexp(1.0, np.clip(below, self.lowest, self.highest) - self.precision + 1)

    def rounded(self, x: Any) -> Any:
        """The numbers of the format nearest to floats, of two that are equally near the even one; beyond the largest, infinity."""
        if self.name == "float64":
            return x
        unit = self.unit(x)
        near = np.rint(x / unit) * unit  # exact: a unit is a power of two
        return np.where(np.abs(near) > self.largest, np.copysign(np.inf, near), near)

    def nearest(self, x: Fraction) -> float:
        """The number of the format nearest to a fraction, rounded once.

        >>> FORMATS["bfloat16"].nearest(Fraction(257, 256)), FORMATS["bfloat16"].nearest(Fraction(10)**39)
        (1.0, inf)
        """
        exponent = x.numerator.bit_length() - x.denominator.bit_length()
        exponent -= abs(x) < Fraction(2) ** exponent
        unit = Fraction(2) ** (max(exponent, self.lowest) - self.precision + 1)
        near = round(x / unit) * unit
        if abs(near) > Fraction(self.largest):
            return math.inf if near > 0 else -math.inf
        return float(near)


FORMATS = {
    format.name: format
    for format in (
        Format("float16", 11, -14, 15),
        Format("bfloat16", 8, -126, 127),
        Format("float32", 24, -126, 127),
        Format("float64", 53, -1022, 1023),
    )
}


def format_of(name: str, what: str = "a format of floats") -> Format:
    """The format of that name."""
    if name not in FORMATS:
        raise Refused(f"{what}: {name[:40]!r} is not one of {', '.join(FORMATS)}")
    return FORMATS[name]
