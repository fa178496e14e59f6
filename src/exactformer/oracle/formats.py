"""The formats that outputs have: how a number is rounded to one of them, and its unit in the last place."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.messages import Refused, quoted


class OracleError(Refused):
    """An argument of an operation that is refused: which one, and why."""


@dataclass(frozen=True)
class Format:
    """Binary floats with `precision` bits and normal exponents from `least` to `largest`."""

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
    def dtype(self) -> Any:
        return brain_dtype() if self is BFLOAT16 else np.dtype(self.name)

    def nearest(self, x: Any) -> Any:
        """float64 numbers rounded to the format, ties to even; still as float64 (Lemma R)."""
        if self.wide:
            return x
        if self is FLOAT32:
            with np.errstate(over="ignore"):
                return x.astype(np.float32).astype(np.float64)
        dropped = 53 - self.precision
        bits = np.ascontiguousarray(x).view(np.int64)
        kept = bits >> dropped
        kept &= 1
        kept += bits
        kept += (1 << (dropped - 1)) - 1
        kept &= -(1 << dropped)
        rounded = kept.view(np.float64)
        size = np.abs(x)
        if not size.min(initial=np.inf) >= 2.0**self.least:
            shift = 1.5 * 2.0 ** (self.quantum + 52)  # its last place is the quantum: the sum is rounded to a multiple of it
            np.copyto(rounded, np.copysign((x + shift) - shift, x), where=size < 2.0**self.least)
        if not size.max(initial=0.0) < 2.0**self.largest:
            np.copyto(rounded, np.copysign(np.inf, x), where=np.abs(rounded) >= 2.0 ** (self.largest + 1))
        return rounded

    def packed(self, x: Any) -> Any:
        """float64 numbers that the format has, as an array of it. Through float32, which has them all: that is faster."""
        if self.wide:
            return x
        short = x.astype(np.float32)
        return (short.view(np.uint32) >> 16).astype(np.uint16).view(self.dtype) if self is BFLOAT16 else short.astype(self.dtype)

    def ulp(self, x: Any) -> Any:
        """The distance between the format's numbers in the binade of a float64 number; in its last binade beyond that."""
        exponents = ((np.ascontiguousarray(x).view(np.int64) >> 52) & 0x7FF) - 1023
        return np.ldexp(1.0, (np.clip(exponents, self.least, self.largest) - self.precision + 1).astype(np.int32))

    def unit(self, q: Fraction) -> Fraction:
        """The same of a rational number."""
        return Fraction(2) ** (min(max(exponent(q), self.least), self.largest) - self.precision + 1)

    def nearest_rational(self, q: Fraction) -> float:
        """A rational number rounded to the format, ties to even."""
        unit = Fraction(2) ** (max(exponent(q), self.least) - self.precision + 1)
        rounded = round(q / unit) * unit  # Python rounds ties of fractions to even
        return float(rounded) if abs(rounded) < Fraction(2) ** (self.largest + 1) else float("inf") * (1 if q > 0 else -1)


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
FORMATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)


def brain_dtype() -> Any:
    """NumPy's bfloat16, which is a package of its own."""
    try:
        import ml_dtypes
    except ImportError:
        raise OracleError("bfloat16", "needs the package ml_dtypes (pip install 'exactformer[oracle]')") from None
    return np.dtype(ml_dtypes.bfloat16)


def format_of(dtype: Any, argument: str) -> Format:
    """
    >>> format_of(np.float16, "x").precision, format_of("bfloat16", "dtype").name
    (11, 'bfloat16')
    """
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", str(dtype))
    for known in FORMATS:
        if name in (known.name, f"torch.{known.name}"):
            return known
    raise OracleError(argument, f"{quoted(name)} is not supported; supported: float16, bfloat16, float32, float64")
