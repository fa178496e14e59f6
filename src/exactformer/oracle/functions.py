"""Functions of balls in one float or in two, from their own sums, products, quotients and exponentials.

The lemmas are in docs/oracle.md. NumPy's logarithm is asked for a guess, on which nothing rests.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from flint import arb

from exactformer.numbers.enclosure import precision
from exactformer.oracle import tables

_FEW, _SMALL = 14, 2.0**-8  # Lemma F2: log(1 + t) by 14 orders for t ≤ 2^−8


class Functions:
    """What balls in floats can do besides; they bring the rest."""

    def exp_negative(self: Any) -> tuple[Any, Any]:
        """e^−|x|, and where x is taken for positive: the sign of what is near it."""
        positive = self.near >= 0
        return self.where(~positive, -self).exp(), positive

    def logistic(self: Any) -> Any:
        """1/(1 + e^−x) = e^x/(1 + e^x): with the power that is at most 1 there is no cancellation (Lemma F1)."""
        power, positive = self.exp_negative()
        one = self.load(1.0)
        return power.where(~positive, one) / (power + one)

    def tanh(self: Any) -> Any:
        """±(1 − e)/(1 + e) with e = e^−2|x|: an absolute bound, for what becomes an exponent."""
        power, positive = (self + self).exp_negative()
        one = self.load(1.0)
        size = (one - power) / (one + power)
        return size.where(positive, -size)

    def log1p(self: Any) -> Any:
        """log(1 + t) for t ≥ 0 (Lemma F2)."""
        kind: Any = type(self)
        size = self.size()
        small = size <= _SMALL
        t = self.where(small)
        series = self.load(0.0)
        for k in range(_FEW, 0, -1):
            series = t * (_inverse(kind, k if k % 2 else -k) + series)
        series = series.widen(np.where(small, size, 0.0) ** (_FEW + 1))
        if small.all():
            return series
        large = self.where(~small, self.load(1.0))
        guess = np.log1p(large.near)
        rest = (self.load(1.0) + large) * self.load(-guess).exp() - self.load(1.0)
        off = rest.size()
        rest = rest - rest * rest * self.load(0.5) + rest * rest * rest * _inverse(kind, 3)
        rest = rest.widen(np.where(off < 2.0**-10, off**4, np.inf))
        return series.where(small, self.load(guess) + rest)

    def normal(self: Any) -> Any:
        """Φ(x): R(z) φ(z) for x = −z ≤ 0, and 1 − R(z) φ(z) for x = z > 0 (Lemma F3). Of exact floats x."""
        kind: Any = type(self)
        x = self.near
        z = np.abs(x)
        inside = np.fmin(z, float(tables.FURTHEST))
        j = np.rint(inside * tables.GRID)
        d = self.load(inside - j * (1 / tables.GRID))
        power = (self.load(z) * self.load(z * -0.5)).exp()
        tail = kind.taylor(d, j.astype(np.int64)) * power * _scale(kind)
        tail = tail.where(z <= tables.FURTHEST).widen(np.where(z <= tables.FURTHEST, 0.0, 2.0**-990))
        return tail.where(x <= 0, self.load(1.0) - tail)


@functools.cache
def _inverse(kind: Any, k: int) -> Any:
    with precision(tables.BITS):
        return kind.of(np.array(1 / arb(k), dtype=object))


@functools.cache
def _scale(kind: Any) -> Any:
    """1/√(2π)."""
    with precision(tables.BITS):
        return kind.of(np.array(1 / (2 * arb.pi()).sqrt(), dtype=object))
