"""Lemmas about MLPs with a gate, and about units of which each has its own slope."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from bound_checks import over
from flint import arb
from limb_checks import BITS, as_arb, exact, fractions, function

from exactformer.certified import limbs, perceptron, weights
from exactformer.certified.ball import Ball, Gained
from exactformer.certified.norms import spectral
from exactformer.certified.store import Store
from exactformer.numbers.enclosure import precision

KINDS = ["silu", "gelu", "gelu_tanh", "relu", "identity"]


def gated(random: np.random.Generator) -> float:
    """Every line of an MLP with a gate, from an x that is exact, or γ∘e away, or somewhere else in its ball."""
    dim, units, n = int(random.integers(1, 5)), int(random.integers(1, 5)), int(random.choice([0, 4]))
    kind = str(random.choice(KINDS))
    gate, up = (random.standard_normal((dim, units)).astype(np.float32) for _ in range(2))
    out = random.standard_normal((units, dim)).astype(np.float32)
    gain = weights.Vector(np.exp(random.standard_normal(dim)).astype(np.float32), "w")
    store, scale = Store(), float(random.choice([0.01, 1.0, 8.0]))
    bias = (random.standard_normal(2 * units) * float(random.choice([0.0, 3.0]))).astype(np.float32)
    near = random.standard_normal((1, dim)) * scale
    size, by_gain = float(random.choice([0.0, 1e-9, 1e-3, 0.3])), bool(random.random() < 0.6)
    toward = [gate[:, 0], up[:, 0], random.standard_normal(dim)][random.integers(3)] * (gain.floats if by_gain else 1.0)
    step = toward * (size * float(random.choice((-1.0, 1.0))) * (1 - 1e-12) / np.sqrt((toward**2).sum()))
    ball = Gained(gain, np.array([size * by_gain]), np.array([size * (not by_gain)]))
    x = Ball(limbs.split(near, n)[0] if n else near, n, np.array([gain.largest * size]), ball)
    found = perceptron.gated(x, store.beside(gate, up), store.matrix(out), store.vector(bias), None, kind)  # type: ignore[arg-type]
    centre = (exact(x.mid) if n else fractions(near))[0] + fractions(step) * (fractions(gain.floats) if by_gain else 1)
    pre = [centre @ fractions(w) + fractions(b) for w, b in ((gate, bias[:units]), (up, bias[units:]))]
    with precision(BITS):
        post = [function(kind, as_arb(a)) * as_arb(b) for a, b in zip(*pre, strict=True)]
        last = [sum((g * as_arb(w) for g, w in zip(post, column, strict=True)), arb(0)) for column in fractions(out).T]
        lines = [[as_arb(a) for a in pre[0]], [as_arb(b) for b in pre[1]], post, last]
        return max(_ratio(line, value, n) for line, value in zip(lines, found, strict=True))


def _ratio(true: list[arb], value: Ball, n: int) -> float:
    computed = (exact(value.mid) if n else fractions(value.mid))[0]
    error = sum(((a - as_arb(b)) ** 2 for a, b in zip(true, computed, strict=True)), arb(0)).abs_upper().sqrt()
    return float((error / arb(float(value.radius[0]))).upper())


def units(random: np.random.Generator) -> float:
    """‖A D W‖ in exact arithmetic, over its bound: units of one size or of many, one that does all, matrices of rank one."""
    dim, count = int(random.integers(1, 6)), int(random.integers(1, 9))
    a, w = random.standard_normal((dim, count)), random.standard_normal((count, dim))
    if random.random() < 0.4:
        a, w = np.outer(a[:, 0], a[0]), np.outer(w[:, 0], w[0])
    if random.random() < 0.5:
        a[:, 0], w[-1] = a[:, 0] * 100, w[-1] * 100
    d = random.uniform(0, 1, count) * 2.0 ** random.integers(-9, 9, count)
    tiny = 2.0 ** -float(random.choice([0, 300, 540]))
    bound = perceptron.weighed(d[None] * tiny, np.sqrt((a**2).sum(axis=0)) * (1 + 2.0**-50), spectral(a),
                               np.sqrt((w**2).sum(axis=1)) * (1 + 2.0**-50), spectral(w))[0]  # fmt: skip
    signs = random.choice((-1.0, 1.0), count) if random.random() < 0.3 else np.ones(count)
    x = fractions(np.linalg.svd((a * (d * signs)) @ w)[0][:, 0])
    whole = ((x @ fractions(a)) * fractions(d * signs)) @ fractions(w)
    return over(sum(whole**2) / sum(x**2), (Fraction(float(bound)) / Fraction(tiny)) ** 2)


def largest_second_derivative(kind: str, low: float, high: float) -> arb:
    """Of an activation on an interval, as a ball that covers it all."""
    x = arb((low + high) / 2, (high - low) / 2)
    if kind == "silu":  # σ(1 − σ)(2 + x(1 − 2σ))
        share = 1 / (1 + (-x).exp())
        return share * (1 - share) * (2 + x * (1 - 2 * share))
    if kind == "gelu":
        return (-x * x / 2).exp() / (2 * arb.pi()).sqrt() * (2 - x * x)
    root, third = (2 / arb.pi()).sqrt(), arb(44715) / 10**6
    inner, first, second = root * (x + third * x * x * x), root * (1 + 3 * third * x * x), root * 6 * third * x
    t = inner.tanh()
    bell = 1 - t * t
    return bell * first + x / 2 * (bell * second - 2 * t * bell * first * first)
