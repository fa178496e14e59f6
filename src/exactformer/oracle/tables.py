"""Constants and tables, from Arb: powers of 2^(1/2048), and Taylor polynomials for the tail of the normal distribution."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from exactformer.numbers.enclosure import precision

BITS = 192  # of the balls that tables are read off: far beyond two floats
STEPS = 2048  # of a binade: e^x = 2^k 2^(j/2048) e^r with |r| ≤ ln 2/4096 and a little
_SHORT = 31  # bits of the parts of ln 2/2048, so that their products with an integer below 2^22 are exact

GRID, FURTHEST = 32, 40  # of Mills' ratio: points j/32 up to 40
DEGREE, FLOAT_DEGREE, FLOATS_FROM = (
    15,
    8,
    9,
)  # of its Taylor polynomials, in two floats and in one; orders from 9 on are floats in both
_TAIL_BITS = 700


def pair(x: arb) -> tuple[float, float]:
    """Two floats next to a ball's midpoint: right to 2^−104 of it, and to less than 2^−1070."""
    high = float(x.mid())
    return (high, float((x - high).mid())) if np.isfinite(high) else (high, 0.0)


@dataclass(frozen=True)
class Exponential:
    high: Any  # [2048]: 2^(j/2048), right to u
    low: Any  # and with this one to 2^−105
    steps: tuple[float, float, float]  # ln 2/2048 as a sum; the first two have 31 bits each
    single_step: float  # all but the first of them, as one float
    inverse_step: float


@functools.cache
def exponential() -> Exponential:
    with precision(BITS):
        pairs = [pair((arb(2).log() * j / STEPS).exp()) for j in range(STEPS)]
        step = arb(2).log() / STEPS
        first = _cut(step)
        second = _cut(step - first)
        rest = float((step - first - second).mid())
        return Exponential(
            np.array([p[0] for p in pairs]),
            np.array([p[1] for p in pairs]),
            (first, second, rest),
            float((step - first).mid()),
            float((1 / step).mid()),
        )


def _cut(x: arb) -> float:
    """A float of 31 bits next to x."""
    value = float(x.mid())
    unit = 2.0 ** (int(np.frexp(value)[1]) - _SHORT)
    return float(np.rint(value / unit) * unit)


@dataclass(frozen=True)
class Mills:
    """Taylor coefficients of Φ(−z)/φ(z) at z = j/32: [order, j] in two floats."""

    high: Any
    low: Any


@functools.cache
def mills() -> Mills:
    """R(z) = Φ(−z)/φ(z) has R′ = z R − 1, so that R⁽ⁿ⁺¹⁾ = z R⁽ⁿ⁾ + n R⁽ⁿ⁻¹⁾."""
    points = GRID * FURTHEST + 1
    high, low = np.empty((DEGREE + 1, points)), np.empty((DEGREE + 1, points))
    with precision(_TAIL_BITS):
        root = (arb.pi() / 2).sqrt()
        for j in range(points):
            z = arb(j) / GRID
            before, now = arb(0), root * (z * z / 2).exp() * (z / arb(2).sqrt()).erfc()
            factorial = 1
            for n in range(DEGREE + 1):
                factorial *= max(n, 1)
                high[n, j], low[n, j] = pair(now / factorial)
                before, now = now, z * now + (n * before if n else -1)
    return Mills(high, low)
