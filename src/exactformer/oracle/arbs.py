"""Arrays of Arb's balls, in the precision of the moment. Products and sums of floats are exact once it is large enough."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from exactformer.numbers.formats import Format

_DEEP = 20_000  # binary exponents below −20,000 become part of the radius
_LARGEST = np.finfo(np.float64).max

Ends = tuple[Fraction, Fraction]


class Arbs:
    """An object array of balls."""

    lift = 0
    __slots__ = ("balls",)

    def __init__(self, balls: Any) -> None:
        self.balls = balls if isinstance(balls, np.ndarray) else np.array(balls, dtype=object)

    @staticmethod
    def load(x: Any) -> Arbs:
        return Arbs(_each(lambda v: arb(float(v)))(np.asarray(x, dtype=np.float64)))

    @staticmethod
    def of(balls: Any) -> Arbs:
        return Arbs(balls)

    @staticmethod
    def bits() -> int:
        return int(flint.ctx.prec)

    def __neg__(self) -> Arbs:
        return Arbs(-self.balls)

    def __add__(self, other: Arbs) -> Arbs:
        return Arbs(self.balls + other.balls)

    def __sub__(self, other: Arbs) -> Arbs:
        return Arbs(self.balls - other.balls)

    def __mul__(self, other: Arbs) -> Arbs:
        return Arbs(self.balls * other.balls)

    def __truediv__(self, other: Arbs) -> Arbs:
        return Arbs(self.balls / other.balls)

    def __matmul__(self, other: Arbs) -> Arbs:
        if not self.balls.shape[-1]:
            return Arbs(_zeros((self.balls.shape[0], other.balls.shape[1])))
        return Arbs(self.balls @ other.balls)

    def sum(self) -> Arbs:
        if not self.balls.shape[-1]:
            return Arbs(_zeros((*self.balls.shape[:-1], 1)))
        return Arbs(self.balls.sum(axis=-1, keepdims=True))

    def sqrt(self) -> Arbs:
        return Arbs(_each(lambda b: b.sqrt())(self.balls))

    def exp(self, lift: int = 0) -> Arbs:
        return Arbs(_each(lambda b: b.exp())(self.balls))

    def log1p(self) -> Arbs:
        return Arbs(_each(lambda b: b.log1p())(self.balls))

    def tanh(self) -> Arbs:
        return Arbs(_each(lambda b: b.tanh())(self.balls))

    def logistic(self) -> Arbs:
        return Arbs(_each(_logistic)(self.balls))

    def normal(self) -> Arbs:
        return Arbs(_each(_normal)(self.balls))

    def where(self, seen: Any, other: Arbs | None = None) -> Arbs:
        return Arbs(np.where(seen, self.balls, arb(0) if other is None else other.balls))

    def scaled(self, power: int) -> Arbs:
        return Arbs(self.balls * arb(2) ** power)

    @property
    def near(self) -> Any:
        floats = _each(lambda b: float(b.mid()))(self.balls).astype(np.float64)
        return np.clip(np.nan_to_num(floats, nan=0.0), -_LARGEST, _LARGEST)

    def __getitem__(self, place: Any) -> Arbs:
        found = self.balls[place]
        return Arbs(found if isinstance(found, np.ndarray) else np.array(found, dtype=object))


def _each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        return np.asarray(np.frompyfunc(function, 1, 1)(x), dtype=object)

    return of


def _zeros(shape: tuple[int, ...]) -> Any:
    return np.full(shape, arb(0), dtype=object)


def _logistic(x: arb) -> arb:
    if x.mid() >= 0:
        return 1 / (1 + (-x).exp())
    power = x.exp()
    return power / (1 + power)


def _normal(x: arb) -> arb:
    root = arb(2).sqrt()
    return (-x / root).erfc() / 2 if x.mid() <= 0 else 1 - (x / root).erfc() / 2


def ends(b: arb, form: Format) -> Ends | None:
    """The ends of a ball as rationals; None where it is not finite. Far beyond the format: others beyond it."""
    if not b.is_finite():
        return None
    tiny, huge = Fraction(2) ** (form.quantum - 3), Fraction(2) ** (form.largest + 3)
    if b.abs_upper() < arb(2) ** (form.quantum - 3):
        return (Fraction(0) if b >= 0 else -tiny), (Fraction(0) if b <= 0 else tiny)
    if b.abs_lower() > arb(2) ** (form.largest + 3):
        return (huge, huge * 2) if b > 0 else (-huge * 2, -huge)
    mid, radius = _dyadic(b.mid()), _dyadic(b.rad(), up=True)
    if mid is None:
        mid, radius = Fraction(0), (radius or Fraction(0)) + Fraction(1, 1 << _DEEP)
    assert radius is not None
    return mid - radius, mid + radius


def _dyadic(x: arb, up: bool = False) -> Fraction | None:
    """A float of Arb as a rational; one that is very small is None, or 2^−20,000 if it may be rounded up."""
    mantissa, exponent = (int(n) for n in x.man_exp())
    if not mantissa:
        return Fraction(0)
    if exponent + abs(mantissa).bit_length() < -_DEEP:
        return Fraction(1, 1 << _DEEP) if up else None
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def in_ulps(y: Fraction, low: Fraction, high: Fraction, form: Format) -> tuple[float, float]:
    """Bounds of |y − x| in ulps at x, for low ≤ x ≤ high."""
    most = max(abs(y - low), abs(y - high))
    least = Fraction(0) if low <= y <= high else min(abs(y - low), abs(y - high))
    small = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    low_bound, high_bound = least / form.unit(max(abs(low), abs(high))), most / form.unit(small)
    return _float(low_bound, down=True), _float(high_bound, down=False)


def _float(q: Fraction, down: bool) -> float:
    """A float on the right side of q ≥ 0."""
    try:
        near = float(q)
    except OverflowError:
        return float(_LARGEST) if down else float("inf")
    if Fraction(near) == q:
        return near
    if down:
        return near if Fraction(near) < q else float(np.nextafter(near, 0.0))
    return near if Fraction(near) > q else float(np.nextafter(near, np.inf))
