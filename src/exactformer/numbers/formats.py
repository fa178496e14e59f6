"""The formats of floats: how numbers are rounded to them, and what a unit of the last place is there.

A format is three numbers, and is computed with in float64, which holds the numbers of all of them: bfloat16 needs no library, and
there is one rule for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.messages import Refused, quoted


@dataclass(frozen=True)
class Format:
    """Binary floats as IEEE 754 has them, with `precision` bits and normal exponents from `least` to `largest`.

    >>> FLOAT16.greatest, FLOAT16.epsilon, FLOAT16.smallest
    (65504.0, 0.0009765625, 5.960464477539063e-08)
    >>> FLOAT16.ulp(np.array([1000.0])), FLOAT16.nearest(np.array([1000.3]))
    (array([0.5]), array([1000.5]))
    """

    name: str
    precision: int
    least: int
    largest: int

    @property
    def quantum(self) -> int:
        """The exponent of the smallest subnormal number."""
        return self.least - self.precision + 1

    @property
    def wide(self) -> bool:
        """Too wide for float64 to settle its rounding."""
        return self.precision == 53

    @property
    def epsilon(self) -> float:
        """The unit of the last place of 1."""
        return math.ldexp(1.0, 1 - self.precision)

    @property
    def smallest(self) -> float:
        """The smallest number above 0, which is the least unit."""
        return math.ldexp(1.0, self.quantum)

    @property
    def greatest(self) -> float:
        """The largest number that is not infinite."""
        return math.ldexp(2.0 - self.epsilon, self.largest)

    def nearest(self, x: Any) -> Any:
        """float64 numbers rounded to the format, ties to even; still as float64 (docs/oracle.md, Lemma R)."""
        if self.wide:
            return x
        if self is FLOAT32:
            with np.errstate(over="ignore", invalid="ignore"):
                return x.astype(np.float32).astype(np.float64)
        shape, x = x.shape, np.ascontiguousarray(x)
        size = np.abs(x)
        beyond = not size.max(initial=0.0) < 2.0**self.largest
        np.maximum(size, 2.0**self.least, out=size)
        np.minimum(size, 2.0**self.largest, out=size)
        bits = size.view(np.int64)  # the same memory
        bits &= 0x7FF << 52
        bits += (53 - self.precision << 52) + (1 << 51)
        shift = size  # its last place is that of the rounded number
        with np.errstate(invalid="ignore"):  # of what is no number
            rounded = x + shift
        rounded -= shift
        np.copysign(rounded, x, out=rounded)
        if beyond:
            np.copyto(rounded, np.copysign(np.inf, x), where=np.abs(rounded) >= 2.0 ** (self.largest + 1))
        return rounded.reshape(shape)

    def ulp(self, x: Any) -> Any:
        """The distance between the format's numbers in the binade of a float64 number; in its last binade beyond that."""
        exponents = ((np.ascontiguousarray(x).view(np.int64) >> 52) & 0x7FF) - 1023
        return np.ldexp(1.0, (np.clip(exponents, self.least, self.largest) - self.precision + 1).astype(np.int32)).reshape(x.shape)

    def unit(self, q: Fraction) -> Fraction:
        """The same of a rational number."""
        return Fraction(2) ** (min(max(exponent(q), self.least), self.largest) - self.precision + 1)

    def nearest_rational(self, q: Fraction) -> float:
        """A rational number rounded to the format, once, ties to even.

        >>> BFLOAT16.nearest_rational(Fraction(257, 256)), BFLOAT16.nearest_rational(Fraction(10) ** 39)
        (1.0, inf)
        """
        unit = Fraction(2) ** (max(exponent(q), self.least) - self.precision + 1)
        rounded = round(q / unit) * unit  # Python rounds ties of fractions to even
        if abs(rounded) >= Fraction(2) ** (self.largest + 1):
            return math.inf if q > 0 else -math.inf
        return float(rounded)


def exponent(q: Fraction) -> int:
    """⌊log₂|q|⌋, and something very small of 0.

    >>> [exponent(Fraction(q)) for q in ("1", "-3/2", "2", "1/3", "1/4")]
    [0, 0, 1, -2, -2]
    """
    if not q:
        return -(1 << 30)
    e = abs(q.numerator).bit_length() - q.denominator.bit_length()
    return e if abs(q) >= Fraction(2) ** e else e - 1


FLOAT16 = Format("float16", 11, -14, 15)
BFLOAT16 = Format("bfloat16", 8, -126, 127)
FLOAT32 = Format("float32", 24, -126, 127)
FLOAT64 = Format("float64", 53, -1022, 1023)
FORMATS = {format.name: format for format in (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)}


def format_of(name: str, what: str, refusal: type[Refused] = Refused) -> Format:
    """The format of that name; `what` is the argument that names it.

    >>> format_of("bfloat16", "dtype").precision
    8
    """
    if name not in FORMATS:
        raise refusal(what, f"{quoted(name)} is not one of {', '.join(FORMATS)}")
    return FORMATS[name]


def brain_floats(bits: Any) -> Any:
    """What bfloat16 numbers with these 16 bits are, as float32, of which they are the upper halves.

    >>> brain_floats(np.array([0x3F80, 0xC000], dtype=np.uint16))
    array([ 1., -2.], dtype=float32)
    """
    wide = bits.astype("<u4")
    wide <<= 16
    return wide.view("<f4")
