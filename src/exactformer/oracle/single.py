"""Arrays of float64 with a radius for every entry: what is meant lies within `radius` of `mid`. The lemmas are in docs/oracle.md.

Radii are sums of non-negative terms. Each operation makes its own larger by UP, which is more than its roundings take off, and by
ETA, which is more than what underflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.numbers.enclosure import precision
from exactformer.numbers.formats import Format
from exactformer.oracle import tables
from exactformer.oracle.functions import Functions

U = 2.0**-53
UP = 1 + 2.0**-48
ETA = 2.0**-1020
SUMS = 1.01  # of radii over up to 2^28 terms
EXP = 3 * U  # Lemma S4: relative error of e^x
_WHOLE = 1.5 * 2.0**52  # added to a float of less than 2^51: that is rounded to a whole number
LOWEST, ZERO = -690.0, 2.0**-990  # below: e^x is taken as 0, and is at most this


def plus(*radii: Any) -> Any:
    """The sum of radii, of which those that are None are 0."""
    given = [r for r in radii if r is not None]
    return sum(given[1:], given[0]) if given else None


class Single(Functions):
    """Numbers as float64 with radii; no radius: they are exactly these floats."""

    lift = 0
    __slots__ = ("mid", "radius")

    def __init__(self, mid: Any, radius: Any = None) -> None:
        self.mid, self.radius = mid, radius

    @staticmethod
    def load(x: Any) -> Single:
        return Single(np.asarray(x, dtype=np.float64))

    @staticmethod
    def of(balls: Any) -> Single:
        """An object array of Arb's balls of many bits."""
        with precision(tables.BITS):
            mid = np.array([float(b.mid()) for b in balls.ravel()]).reshape(balls.shape)
            radius = np.array([float((b - float(b.mid())).abs_upper()) for b in balls.ravel()]).reshape(balls.shape)
        return Single(mid, radius * UP + ETA)

    @staticmethod
    def bits() -> int:
        return tables.BITS

    def __neg__(self) -> Single:
        return Single(-self.mid, self.radius)

    def __add__(self, other: Single) -> Single:
        mid = self.mid + other.mid
        radius = np.abs(mid)
        radius *= U
        for r in (self.radius, other.radius):
            if r is not None:
                radius = radius + r
        radius *= UP
        radius += ETA
        return Single(mid, radius)

    def __sub__(self, other: Single) -> Single:
        return self + -other

    def __mul__(self, other: Single) -> Single:
        mid = self.mid * other.mid
        a, b = np.abs(self.mid), np.abs(other.mid)
        moved = plus(
            None if other.radius is None else a * other.radius,
            None if self.radius is None else self.radius * (b if other.radius is None else b + other.radius),
        )
        return Single(mid, plus(np.abs(mid) * U, moved) * UP + ETA)

    def __truediv__(self, other: Single) -> Single:
        """|A/B − a/b| ≤ (|A − a| + |a/b| |B − b|)/|B|."""
        mid = self.mid / other.mid
        size = np.abs(mid)
        moved = plus(None if other.radius is None else size * other.radius, self.radius)
        radius = size * U
        if moved is not None:
            least = np.abs(other.mid) * (1 - 2 * U) - (0.0 if other.radius is None else other.radius * UP)
            inverse = np.where(least > 0, UP / np.where(least > 0, least, 1.0), np.inf)
            moved = moved * UP
            moved += ETA
            radius = radius + moved * inverse
        radius *= UP
        radius += ETA
        return Single(mid, radius)

    def sqrt(self) -> Single:
        """|√A − √a| ≤ |A − a|/√a, and √|A − a| where a is 0; A is not negative."""
        mid = np.sqrt(np.maximum(self.mid, 0.0))
        moved = np.zeros_like(mid) if self.radius is None else self.radius + np.maximum(-self.mid, 0.0)
        radius = np.where(mid > 0, moved / np.where(mid > 0, mid, 1.0), np.sqrt(moved))
        return Single(mid, (radius * UP + mid * (2 * U)) * UP + ETA)

    def sum(self) -> Single:
        """Over the last axis, which stays. In any order, n − 1 additions are right to γ_n Σ|x| (Lemma S2)."""
        mid = self.mid.sum(axis=-1, keepdims=True)
        size = mid if self.mid.size and self.mid.min() >= 0 else np.abs(self.mid).sum(axis=-1, keepdims=True)
        radius = size * (self.mid.shape[-1] * U)
        if self.radius is not None:
            radius = radius + np.broadcast_to(self.radius, self.mid.shape).sum(axis=-1, keepdims=True)
        return Single(mid, radius * SUMS + ETA)

    def __matmul__(self, other: Single) -> Single:
        """[R, K] [K, C] by BLAS: right to γ_K |A||B| (Lemma S2)."""
        terms = self.mid.shape[-1]
        b = np.abs(other.mid)
        outer = np.abs(self.mid) @ (b * (terms * U) if other.radius is None else b * (terms * U) + other.radius)
        if self.radius is not None:
            outer = outer + self.radius @ (b if other.radius is None else b + other.radius)
        return Single(self.mid @ other.mid, outer * SUMS + (terms + 1) * ETA)

    def exp(self, lift: int = 0) -> Single:
        """e^x for x ≤ 1 (Lemma S4)."""
        x = self.mid
        widest = 0.0 if self.radius is None else self.radius.max(initial=0.0)
        ordinary = not x.size or bool(x.min() >= LOWEST and x.max() + widest <= 1.0 and widest <= 1.0)
        power = _power(x if ordinary else np.fmin(np.fmax(x, LOWEST), 1.0))
        if self.radius is None:
            radius = power * (EXP * UP)
        else:
            radius = self.radius + 1.0
            radius *= self.radius
            radius += EXP
            radius = radius * power
            radius *= UP
        radius += ETA
        if ordinary:
            return Single(power, radius)
        top = x if self.radius is None else x + self.radius * UP
        low = top < LOWEST - 1
        inside = (x >= LOWEST) & (top <= 1.0) & (True if self.radius is None else self.radius <= 1.0)
        return Single(np.where(low, 0.0, power), np.where(low, ZERO, np.where(inside, radius, np.inf)))

    @staticmethod
    def taylor(d: Single, j: Any) -> Single:
        """Mills' ratio at d from j/32 (Lemma F3)."""
        table = tables.mills()
        total = table.high[tables.FLOAT_DEGREE].take(j)
        for k in range(tables.FLOAT_DEGREE - 1, -1, -1):
            total = total * d.mid + table.high[k].take(j)
        return Single(total, total * (22 * U) + 2.0**-63)

    def where(self, seen: Any, other: Single | None = None) -> Single:
        """0 where it is not seen, or the other number."""
        radius = np.zeros_like(self.mid) if self.radius is None else self.radius
        if other is None:
            return Single(np.where(seen, self.mid, 0.0), np.where(seen, radius, 0.0))
        return Single(np.where(seen, self.mid, other.mid), np.where(seen, radius, 0.0 if other.radius is None else other.radius))

    def widen(self, amount: Any) -> Single:
        return Single(self.mid, (amount if self.radius is None else self.radius + amount) * UP)

    def scaled(self, power: int) -> Single:
        """Times a power of two, with nothing below the normal range."""
        return self * Single(np.float64(2.0**power))

    @property
    def near(self) -> Any:
        """Floats next to the numbers, on which nothing rests."""
        return self.mid

    def size(self) -> Any:
        """At least the magnitude of every number."""
        return np.abs(self.mid) * UP + (0.0 if self.radius is None else self.radius * UP)

    def __getitem__(self, place: Any) -> Single:
        return Single(self.mid[place], None if self.radius is None else np.broadcast_to(self.radius, self.mid.shape)[place])

    def _outwards(self) -> Any:
        return 0.0 if self.radius is None else self.radius * UP + np.abs(self.mid) * (2 * U)

    def nearest(self, form: Format, lift: int = 0) -> tuple[Any, Any]:
        """The numbers rounded to a format, and for which of them that is proved: both ends are rounded alike."""
        around = self._outwards()
        low, high = form.nearest(self.mid - around), form.nearest(self.mid + around)
        return high, low == high

    def distance(self, y: Any, form: Format, lift: int = 0) -> tuple[Any, Any]:
        """Bounds of |y − x| in units of the last place at x."""
        apart, around, size = np.abs(y - self.mid), self._outwards(), np.abs(self.mid)
        off = around + apart * (2 * U)
        return in_ulps(apart - off, apart + off, size - around, size + around, form)


def _power(x: Any) -> Any:
    """e^x for −690 ≤ x ≤ 1: 2^k 2^(j/2048) e^r. The bits of n + 1.5 · 2^52 end with those of n = 2048 k + j."""
    table = tables.exponential()
    n = x * table.inverse_step
    n += _WHOLE
    bits = np.ascontiguousarray(n).view(np.int64).copy()
    n -= _WHOLE
    r = x - n * table.steps[0]
    n *= table.single_step
    r -= n
    power = r * (1 / 6)
    power += 0.5
    power *= r
    power += 1.0
    power *= r
    first = table.high.take(bits & (tables.STEPS - 1))
    power *= first
    power += first
    bits >>= 11
    bits <<= 52  # k, added to the exponent: modulo 2^12 with the sign, which stays 0
    power.view(np.int64)[...] += bits
    return power


def in_ulps(least: Any, most: Any, smallest: Any, largest: Any, form: Format) -> tuple[Any, Any]:
    """Ends of a distance over the ulps at the ends of a magnitude (Lemma U); each division is by a power of two."""
    low = np.maximum(least, 0.0) / form.ulp(largest) * (1 - 2.0**-50)
    high = most / form.ulp(np.maximum(smallest, 0.0)) * (1 + 2.0**-50)
    high = np.where(np.isnan(high), np.inf, high)
    return np.fmin(np.fmax(low, 0.0), np.finfo(np.float64).max), high
