"""Arrays of numbers in two float64 with a radius for every entry: what is meant lies within `radius` of high + low.

Always |low| ≤ u |high|: pairs are the two ends of an exact sum. The lemmas are in docs/oracle.md.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.numbers.enclosure import precision
from exactformer.numbers.formats import Format
from exactformer.oracle import tables
from exactformer.oracle.functions import Functions
from exactformer.oracle.single import ETA, SUMS, UP, U, in_ulps, plus
from exactformer.oracle.slicing import product

PRODUCT = 10 * U * U  # Lemma D2: relative error of a product
EXP = 2.0**-99  # Lemma D5: relative error of e^x
_SPLITTER = 2.0**27 + 1
_EXACT = 2.0**-960  # Lemma D1: products from here on have an exact error
_LOWEST = -690.0


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b exactly: the float next to it and the rest (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """a b exactly, if it is not below 2^−960 or beyond the floats (Veltkamp, Dekker)."""
    p = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _halves(a: Any) -> tuple[Any, Any]:
    c = a * _SPLITTER
    high = c - (c - a)
    return high, a - high


class Double(Functions):
    """Numbers as two float64 with radii. No `low`, no `radius`: these are 0."""

    lift = 512  # of the exponentials of a softmax, so that subnormal float64 are far from the end of the range
    __slots__ = ("high", "low", "radius")

    def __init__(self, high: Any, low: Any = None, radius: Any = None) -> None:
        self.high, self.low, self.radius = high, low, radius

    @staticmethod
    def load(x: Any) -> Double:
        return Double(np.asarray(x, dtype=np.float64))

    @staticmethod
    def of(balls: Any) -> Double:
        with precision(tables.BITS):
            found = [tables.pair(b) for b in balls.ravel()]
            radius = [float((b - high - low).abs_upper()) for b, (high, low) in zip(balls.ravel(), found, strict=True)]
        high, low = (np.array([p[i] for p in found]).reshape(balls.shape) for i in (0, 1))
        around = np.array(radius).reshape(balls.shape)
        return Double(*two_sum(high, low), np.where(around > 0, around * UP + ETA, 0.0))

    @staticmethod
    def bits() -> int:
        return tables.BITS

    def __neg__(self) -> Double:
        return Double(-self.high, None if self.low is None else -self.low, self.radius)

    def __add__(self, other: Double) -> Double:
        s, rest = two_sum(self.high, other.high)
        radius = plus(self.radius, other.radius)
        if self.low is None and other.low is None:
            return Double(s, rest, None if radius is None else radius * UP)
        lows = plus(self.low, other.low)
        lost = 0.0 if self.low is None or other.low is None else np.abs(lows)
        rest = rest + lows
        lost = (lost + np.abs(rest)) * (2 * U)  # twice what two sums lose, for the rounding of this bound itself (Lemma D1)
        return Double(*two_sum(s, rest), plus(lost, radius) * UP)

    def __sub__(self, other: Double) -> Double:
        return self + -other

    def __mul__(self, other: Double) -> Double:
        p, rest = two_product(self.high, other.high)
        size = np.abs(p)
        lost = None
        if other.low is not None:
            rest = rest + self.high * other.low
        if self.low is not None:
            rest = rest + self.low * other.high
        if self.low is not None or other.low is not None:
            p, rest = two_sum(p, rest)
            lost = size * PRODUCT
        if not (size.size == 0 or size.min() >= _EXACT):
            lost = plus(lost, np.where((self.high != 0) & (other.high != 0), np.where(size >= _EXACT, 0.0, ETA), 0.0))
        moved = plus(
            None if other.radius is None else np.abs(self.high) * other.radius,
            None if self.radius is None else self.radius * other.size(),
        )
        radius = plus(lost, moved)
        if moved is not None and not (size.size == 0 or size.min() > 0):  # what is exactly 0 stays it
            uncertain = np.where(self.high != 0, plus(other.radius, 0.0), 0.0) + np.where(
                other.size() > 0, plus(self.radius, 0.0), 0.0
            )
            return Double(p, rest, radius * UP + np.where(uncertain > 0, ETA, 0.0))
        return Double(p, rest, None if radius is None else radius * UP + (0.0 if moved is None else ETA))

    def __truediv__(self, other: Double) -> Double:
        """Whatever the quotient q is, a/b − q = (a − q b)/b (Lemma D3)."""
        first = self.high / other.high
        rest = (self - other * Double(first)).high / other.high
        q = Double(*two_sum(first, rest))
        off = (self - other * q).size()
        least = np.abs(other.high) * (1 - 4 * U) - (0.0 if other.radius is None else other.radius * UP)
        radius = np.where(least > 0, off / np.where(least > 0, least, 1.0), np.inf)
        return Double(q.high, q.low, np.where(off == 0, 0.0, radius * UP + ETA))

    def sqrt(self) -> Double:
        """Whatever q > 0 is, |√a − q| ≤ |a − q²|/q (Lemma D3)."""
        first = np.sqrt(np.maximum(self.high, 0.0))
        safe = np.where(first > 0, first, 1.0)
        rest = np.where(first > 0, (self - Double(first) * Double(first)).high / (2 * safe), 0.0)
        q = Double(*two_sum(first, rest))
        off = (self - q * q).size()
        return Double(
            q.high, q.low, np.where(first > 0, off / safe * (1 + 2.0**-40), np.sqrt(off)) * UP + np.where(off == 0, 0.0, ETA)
        )

    def sum(self) -> Double:
        """Over the last axis, which stays: halves are added until one number is left."""
        total = self
        while (n := total.high.shape[-1]) > 1:
            half = n // 2
            folded = total[..., :half] + total[..., half : 2 * half]
            total = folded if n % 2 == 0 else _joined(folded, total[..., 2 * half :])
        return total if total.high.shape[-1] else Double(np.zeros((*total.high.shape[:-1], 1)))

    def __matmul__(self, other: Double) -> Double:
        """[R, K] [K, C]: exact products of slices (Lemma D4), added in two floats; radii pass the magnitudes of the other side."""
        parts, radius = product(self.high, self.low, other.high, other.low)
        total = Double(parts[0])
        for part in parts[1:]:
            total = total + Double(part)
        moved = plus(
            None if other.radius is None else np.abs(self.high) @ other.radius,
            None if self.radius is None else self.radius @ other.size(),
        )
        radius = plus(radius, total.radius, None if moved is None else moved * (SUMS * (1 + 4 * U)) + ETA * self.high.shape[-1])
        return Double(total.high, total.low, None if radius is None else radius * UP)

    def exp(self, lift: int = 0) -> Double:
        """2^lift e^x for x ≤ 1 (Lemma D5)."""
        table = tables.exponential()
        x, lowest = self.high, _LOWEST - 0.69 * lift
        inside = np.fmin(np.fmax(x, lowest), 1.0)
        n = np.rint(inside * table.inverse_step)
        r, rest = inside - n * table.steps[0], 0.0
        if self.low is not None:
            r, rest = two_sum(r, np.where(inside == x, self.low, 0.0))
        r, more = two_sum(r, -n * table.steps[1])
        r, rest = two_sum(r, (rest + more) - n * table.steps[2])
        d = Double(r, rest)
        above = r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r * (1 / 5040))))
        near = _constant(1, 6) + Double(above)
        for constant in (_constant(1, 2), _constant(1, 1), _constant(1, 1)):
            near = _plain(constant + _plain(d * near))
        whole = n.astype(np.int64)
        place = whole & (tables.STEPS - 1)
        power = near * Double(table.high.take(place), table.low.take(place))
        scale = (((whole >> 11) + (1023 + lift)) << 52).view(np.float64)
        high, low = power.high * scale, power.low * scale
        if self.radius is None:
            radius, top = high * (EXP * UP) + ETA, x
        else:
            radius, top = high * ((self.radius + self.radius * self.radius + EXP) * UP) + ETA, x + self.radius
            radius = np.where(self.radius <= 1.0, radius, np.inf)
        below = top < lowest - 1
        high, low = np.where(below, 0.0, high), np.where(below, 0.0, low)
        return Double(high, low, np.where(below, 2.0**-990, np.where((x >= lowest) & (top <= 1.0), radius, np.inf)))

    @staticmethod
    def taylor(d: Double, j: Any) -> Double:
        """Mills' ratio at d from j/32: the high orders in floats (Lemma F3)."""
        table = tables.mills()
        floats = table.high[tables.DEGREE].take(j)
        for k in range(tables.DEGREE - 1, tables.FLOATS_FROM - 1, -1):
            floats = floats * d.high + table.high[k].take(j)
        total = Double(floats)
        for k in range(tables.FLOATS_FROM - 1, -1, -1):
            total = d * total + Double(table.high[k].take(j), table.low[k].take(j))
        return total.widen(total.high * 2.0**-101 + 2.0**-110)

    def where(self, seen: Any, other: Double | None = None) -> Double:
        other = Double(np.float64(0.0)) if other is None else other
        low, radius = (
            None if a is None and b is None else np.where(seen, 0.0 if a is None else a, 0.0 if b is None else b)
            for a, b in ((self.low, other.low), (self.radius, other.radius))
        )
        return Double(np.where(seen, self.high, other.high), low, radius)

    def widen(self, amount: Any) -> Double:
        return Double(self.high, self.low, plus(self.radius, amount) * UP)

    def scaled(self, power: int) -> Double:
        factor = 2.0**power
        low, radius = (None if a is None else a * factor for a in (self.low, self.radius))
        return Double(self.high * factor, low, plus(radius, ETA))

    @property
    def near(self) -> Any:
        return self.high

    def size(self) -> Any:
        return np.abs(self.high) * (1 + 4 * U) + (0.0 if self.radius is None else self.radius * UP)

    def __getitem__(self, place: Any) -> Double:
        low, radius = (None if a is None else np.broadcast_to(a, self.high.shape)[place] for a in (self.low, self.radius))
        return Double(self.high[place], low, radius)

    def _lows(self) -> tuple[Any, Any]:
        """The second floats with the radius taken off and put on, outwards; both are the same where nothing is uncertain."""
        low = np.zeros_like(self.high) if self.low is None else self.low
        if self.radius is None:
            return low, low
        around = np.where(self.radius > 0, self.radius * UP + np.abs(low) * (2 * U), 0.0)
        return low - around, low + around

    def nearest(self, form: Format, lift: int = 0) -> tuple[Any, Any]:
        """A sum of two floats is rounded as the real number is: where both ends give the same float64, that is it (Lemma R)."""
        down, up = self._lows()
        low, high = self.high + down, self.high + up
        proved = low == high
        if form.wide:
            if not lift:
                return high, proved
            small = np.abs(high) < 2.0 ** (form.least + lift + 1)
            shift = 1.5 * 2.0 ** (form.quantum + lift + 52)
            coarse_low, coarse = (np.nextafter(end, side) + shift - shift for end, side in ((low, -np.inf), (high, np.inf)))
            return np.where(small, coarse, high) * 2.0**-lift, np.where(small, coarse_low == coarse, proved)
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        low, high = (form.nearest(end * 2.0**-lift) for end in (low, high))
        return high, low == high

    def distance(self, y: Any, form: Format, lift: int = 0) -> tuple[Any, Any]:
        apart, rest = two_sum(y * 2.0**lift, -self.high)
        down, up = self._lows()
        off = (np.abs(up) + np.abs(down) + np.abs(rest) + np.abs(apart)) * (4 * U) + (up - down)
        apart = np.abs(apart + (rest - (0.0 if self.low is None else self.low)))
        size, around = np.abs(self.high), np.abs(down) + np.abs(up) + np.abs(self.high) * (2 * U)
        lifted = Format(form.name, form.precision, form.least + lift, form.largest + lift)
        return in_ulps(apart - off, apart + off, size - around, size + around, lifted)


def _joined(a: Double, b: Double) -> Double:
    """Side by side along the last axis."""
    low, radius = (
        None
        if x is None and y is None
        else np.concatenate([np.zeros_like(a.high) if x is None else x, np.zeros_like(b.high) if y is None else y], axis=-1)
        for x, y in ((a.low, b.low), (a.radius, b.radius))
    )
    return Double(np.concatenate([a.high, b.high], axis=-1), low, radius)


def _plain(x: Double) -> Double:
    """Without its radius: where a lemma has the bound of a whole chain."""
    return Double(x.high, x.low)


@functools.cache
def _constant(p: int, q: int) -> Double:
    """p/q in two floats: right to 2^−106."""
    return Double(np.float64(p / q), np.float64(float(Fraction(p, q) - Fraction(p / q))))
