"""Lemmas about limbs and functions of one number: the largest error over its bound, found with inputs drawn to hurt.

Errors are computed with integers, fractions or balls of Arb; never with what is being tested. A ratio above 1 refutes the lemma.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from exactformer.certified import attention, elementwise, limbs, slices
from exactformer.numbers.enclosure import precision

BITS = 700


def exact(x: Any) -> Any:
    """Limbs as fractions."""
    return limbs.to_integers(x) * Fraction(1, 1 << (21 * (len(x) - 1)))


def as_arb(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def worst(errors: Any, bound: Any) -> float:
    """The largest quotient; infinite where an error is not a number. A bound of 0 must be met exactly."""
    if np.isnan(np.asarray(errors, dtype=float)).any():
        return math.inf
    ratios = [
        float(e) / float(b) if b else (math.inf if e else 0.0)
        for e, b in zip(np.ravel(errors), np.broadcast_to(bound, np.shape(errors)).ravel(), strict=True)
    ]
    return max(ratios)


def extreme_limbs(random: np.random.Generator, n: int, *shape: int, top: int = 8) -> Any:
    """Limbs that are as large as they may be, equal, alternating, tiny or random; the first one small."""
    half = 1 << 20
    kinds = [
        lambda: random.integers(-half, half + 1, (n, *shape)),
        lambda: np.full((n, *shape), half),
        lambda: half * random.choice((-1, 1), (n, *shape)),
        lambda: np.where(np.arange(n).reshape(-1, *([1] * len(shape))) < n - 1, 0, random.integers(-half, half + 1, (n, *shape))),
        lambda: half - random.integers(0, 3, (n, *shape)),
    ]
    result = kinds[random.integers(len(kinds))]().astype(float)
    result[0] = random.integers(-top, top + 1, shape)
    return result


def carry(random: np.random.Generator) -> float:
    n = int(random.integers(2, 8))
    parts = random.integers(-(1 << 52), 1 << 52, (n + int(random.integers(1, 4)), 200)).astype(float)
    parts[n, ::3] = (1 << 20) + (random.integers(-1, 2, parts[n, ::3].shape) << 21)  # next to a tie
    before = exact(parts)
    after = limbs.carry(parts.copy(), n)
    assert np.abs(after[1:]).max() <= 1 << 20
    return worst(abs(exact(after) - before), limbs.bounds.CARRY * limbs.ulp(n))


def product(random: np.random.Generator) -> float:
    n = int(random.integers(3, 9))
    a, b = (int(random.integers(max(2, n - 1), n + 2)) for _ in range(2))
    x, y = extreme_limbs(random, a, 40), extreme_limbs(random, b, 40)
    computed = limbs.multiply(x, y, n)
    return worst(abs(exact(computed) - exact(x) * exact(y)), limbs.bounds.product(a, b, n) * limbs.ulp(n))


def conversion(random: np.random.Generator) -> float:
    """Floats to limbs and back, and fewer limbs."""
    n = int(random.integers(2, 6))
    x = random.standard_normal(60) * 2.0 ** random.integers(-70, 19, 60)
    split, is_exact = limbs.split(x, n)
    into = worst(
        abs(exact(split) - np.array(list(map(Fraction, x.tolist())), dtype=object)),
        0 if is_exact else limbs.bounds.SPLIT * limbs.ulp(n),
    )
    long = extreme_limbs(random, n + 3, 60)
    long[0] *= random.integers(0, 2, 60)
    near = limbs.to_float(long)
    errors = abs(exact(long) - np.array(list(map(Fraction, near.tolist())), dtype=object))
    back = worst(errors, limbs.bounds.TO_FLOAT * np.abs(near))
    cut, error = limbs.resized(long, n)
    return max(into, back, worst(abs(exact(cut) - exact(long)), error))


def exact_product(x: Any, w: Any, shift: int = 240) -> Any:
    """x W as fractions, for limbs x and a matrix of floats, by way of integers."""
    integers = np.array([int(Fraction(v) * (1 << shift)) for v in w.ravel().tolist()], dtype=object).reshape(w.shape)
    return (limbs.to_integers(x) @ integers) * Fraction(1, 1 << (shift + 21 * (len(x) - 1)))


def slice_product(random: np.random.Generator) -> float:
    """x W for weights of many sizes, one sign or both."""
    n, rows, columns = int(random.integers(2, 7)), int(random.integers(1, 90)), 12
    w = random.standard_normal((rows, columns)) * 2.0 ** random.integers(-random.integers(1, 40), 4, (rows, columns))
    if random.random() < 0.5:
        w = np.abs(w)
    w = w.astype(random.choice([np.float32, np.float16, np.float64]) if rows * columns < 400 else np.float32)
    sliced = slices.from_floats(w)
    x = extreme_limbs(random, n, 3, rows, top=1000)
    return worst(abs(exact(sliced.times(x)) - exact_product(x, w)), sliced.error() * limbs.ulp(n))


def slice_product_low(random: np.random.Generator) -> float:
    """The pairs that are dropped, all of one sign: low bits of weights times low limbs at their largest."""
    n, rows = int(random.integers(2, 5)), 300
    w = (random.integers(12_000_000, 13_000_000, (rows, 2)) + 0.5 - random.integers(0, 9, (rows, 2)) * 2.0**-21) * 2.0**-33
    sliced = slices.from_floats(w)
    x = np.full((n, 20, rows), 2.0**20)
    x[0] = 3
    x[-1, :, 0] = random.integers(-(1 << 20), 1 << 20, 20)
    return worst(abs(exact(sliced.times(x)) - exact_product(x, w)), sliced.error() * limbs.ulp(n))


def dots(random: np.random.Generator) -> float:
    """Dot products limb by limb, with all dropped pairs of one sign."""
    n = int(random.integers(3, 8))
    width = int(random.choice([1, 5, 64, 8191 // n, 8191 // n, 2 * 8191 // n + 3]))  # the last one is summed in three blocks
    q, k = extreme_limbs(random, n, 1, 2, width), extreme_limbs(random, n, 1, 4, width)
    if random.random() < 0.7:
        q[1:], k[1:] = 2.0**20, 2.0**20
        q[-1, ..., 0] = random.integers(-(1 << 20), 1 << 20, q[-1, ..., 0].shape)
    unit = Fraction(1, 1 << (42 * (n - 1)))
    true = (limbs.to_integers(q)[0] @ limbs.to_integers(k)[0].T) * unit
    ratio = worst(abs(exact(attention._dots(q, k))[0] - true), limbs.bounds.dots(width, n) * limbs.ulp(n))
    powers = np.ascontiguousarray(q[:, :, :, :1].repeat(4, axis=3))
    true = (limbs.to_integers(powers)[0] @ limbs.to_integers(k)[0]) * unit
    return max(ratio, worst(abs(exact(attention._sums(powers, k))[0] - true), limbs.bounds.dots(4, n) * limbs.ulp(n)))


def _arguments(random: np.random.Generator, n: int, low: float, high: float) -> Any:
    """Points of the table and midway between them, tiny, large, near the ends, and in between."""
    count = 60
    grid = random.integers(int(low * 512), int(high * 512) + 1, count) / 512
    kinds = [
        grid,
        random.uniform(low, high, count),
        random.standard_normal(count) * 2.0 ** random.integers(-60, 0, count),
        random.choice([low, high], count),
    ]
    x = np.clip(kinds[random.integers(4)], low, high)
    limbed, _ = limbs.split(x, n)
    limbed[2:] = random.integers(-(1 << 20), (1 << 20) + 1, limbed[2:].shape)
    if random.random() < 0.3:
        limbed[2:] = 2.0**20
    return limbed


def _against(function: Callable[[arb], arb], x: Any, computed: Any, bound: Any) -> float:
    with precision(BITS):
        errors = [
            float(abs(function(as_arb(a)) - as_arb(b)).upper())
            for a, b in zip(np.ravel(x).tolist(), np.ravel(computed).tolist(), strict=True)
        ]
    return worst(np.array(errors), np.ravel(bound) if np.ndim(bound) else bound)


def exponential(random: np.random.Generator) -> float:
    n = int(random.integers(4, 9))
    x = _arguments(random, n, float(random.choice([-1, -20, -200])), 0.73)
    computed, error = elementwise.exp(x)
    return _against(arb.exp, exact(x), exact(computed), error * limbs.ulp(n))


def function(kind: str, x: arb) -> arb:
    """An activation, in balls."""
    if kind in ("relu", "identity"):
        return x if kind == "identity" or x > 0 else arb(0)
    if kind == "silu":
        return x / (1 + (-x).exp())
    if kind == "gelu":
        return x / 2 * (-x / arb(2).sqrt()).erfc()
    return x / (1 + (-2 * (2 / arb.pi()).sqrt() * (x + arb(44715) / 10**6 * x * x * x)).exp())


def activation(random: np.random.Generator) -> float:
    n, kind = int(random.integers(4, 8)), random.choice(["gelu", "gelu_tanh", "silu"])
    x = _arguments(random, n, -float(random.choice([1, 4, 20])), float(random.choice([1, 4, 20])))
    computed, error = elementwise.activate(x, kind)
    return _against(lambda a: function(kind, a), exact(x), exact(computed), error * limbs.ulp(n))


def fractions(x: Any) -> Any:
    return np.array(list(map(Fraction, np.ravel(x).tolist())), dtype=object).reshape(np.shape(x))


def float_functions(random: np.random.Generator) -> float:
    count = 100
    wide = random.choice([1e-9, 0.1, 1, 5, 20])
    x = random.standard_normal(count) * wide
    if random.random() < 0.5:
        x = np.rint(x * 512) / 512
    low = np.minimum(-np.abs(x) * random.choice([1, 10]), 0.7)
    powers = elementwise.exp_float(low)
    bound = limbs.bounds.FLOAT_EXP * powers + limbs.bounds.FLOAT_EXP_LEAST * (powers == 0)
    ratio = _against(arb.exp, fractions(low), fractions(powers), bound)
    kind = random.choice(["gelu", "gelu_tanh", "silu"])
    if kind == "silu" and random.random() < 0.3:
        x = x * 100
    value, error = elementwise.activate_float(x, kind)
    return max(ratio, _against(lambda a: function(kind, a), fractions(x), fractions(value), error))


def slopes(random: np.random.Generator) -> float:
    """How far slopes reach towards the ends of their range, measured from its middle: on one interval of many."""
    kind = str(random.choice(["gelu", "gelu_tanh", "silu"]))
    low, high = limbs.bounds.SLOPES[kind]
    x = float(random.choice([-1.0, 1.0])) * float(random.uniform(0, 3 if random.random() < 0.8 else 40))
    with precision(128):
        between = [(function(kind, arb(x) + d) - function(kind, arb(x))) / d for d in (arb(2) ** -30, arb(1) / 8)]
        ratios = [float(((b - (low + high) / 2) / ((high - low) / 2)).abs_upper()) for b in between]
    return max(ratios)


def grown(random: np.random.Generator) -> float:
    y = float(2.0 ** random.uniform(-60, 6.6))
    with precision(200):
        return float((arb(y).expm1() / arb(float(limbs.bounds.grown(np.float64(y))))).upper())


def logistic(random: np.random.Generator) -> float:
    """1/(1 + e^−x) for x ≥ 0, in up to 25 limbs; 0, tiny and large."""
    n = int(random.choice([4, 5, 8, 12, 19, 25]))
    x = _arguments(random, n, 0.0, float(random.choice([1, 20, 200])))
    x *= np.where(limbs.to_float(x) > 0, 1, -1)
    computed, error = elementwise.logistic(x)
    return _against(lambda a: 1 / (1 + (-a).exp()), exact(x), exact(computed), error * limbs.ulp(n))


def silu_far_out(random: np.random.Generator) -> float:
    """SiLU where |x| is large: the error of 1/(1 + e^−|x|) is multiplied by it, and e^x is lost in floats."""
    n, count = int(random.choice([0, 4])), 20
    x = random.uniform(60, 2.0 ** random.integers(7, 19), count) * random.choice((-1.0, 1.0), count)
    if n:
        mid = limbs.split(x, n)[0]
        value, error = elementwise.activate(mid, "silu")
        return _against(lambda a: function("silu", a), exact(mid), exact(value), error * limbs.ulp(n))
    value, error = elementwise.activate_float(x, "silu")
    return _against(lambda a: function("silu", a), fractions(x), fractions(value), error)


def steepness(random: np.random.Generator) -> float:
    """Difference quotients within a radius, over the largest that is said to be: next to a point and far away, to both sides."""
    kind = str(random.choice(["gelu", "gelu_tanh", "silu", "relu", "identity"]))
    places = [random.uniform(-8, 8), random.normal() * 1e-3, random.integers(-1000, 1000) / 512, random.uniform(-90, 90)]
    x = float(random.choice(places))
    radius = float(random.choice([0.0, 1e-9, 1e-3, 0.3, 4.0]))
    bound = elementwise.steepness(np.array([x]), np.array([radius]), kind)[0]
    with precision(200):
        steps = [s * max(radius, 1e-30) * f for s in (-1, 1) for f in (1.0, 0.5, 1e-6)]
        between = [abs((function(kind, arb(x) + d) - function(kind, arb(x))) / d) for d in map(arb, steps)]
        largest = max(float(b.upper()) for b in between)
    return largest / bound if bound else (math.inf if largest else 0.0)
