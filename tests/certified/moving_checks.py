"""Lemmas about what moves: LayerNorm, spectral norms, attention and products of balls, with the truth somewhere in the ball."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from limb_checks import BITS, as_arb, exact, fractions, worst

from exactformer.certified import attention, limbs, moving, normalising, norms, store, weights
from exactformer.certified.arithmetic import CertifiedArithmetic
from exactformer.certified.ball import Ball
from exactformer.certified.capping import Cap
from exactformer.certified.moving import Moves
from exactformer.numbers import exact as exact_number
from exactformer.numbers.enclosure import precision


def hurtful_rows(random: np.random.Generator, dim: int) -> Any:
    """Rows of a stream: ordinary, tiny, with a common part, with an outlier, alternating, or nearly all the same."""
    x = random.standard_normal((3, dim))
    kinds = [
        lambda: x, lambda: x * 2.0**-20, lambda: x + 100, lambda: np.where(np.arange(dim) == 0, 3000.0, x),
        lambda: np.where(np.arange(dim) % 2, 7.0, -7.0) + 0 * x, lambda: 5 + x * 2.0**-30, lambda: x * 1000,
    ]  # fmt: skip
    return kinds[random.integers(len(kinds))]()


def true_norm(x: Any, gain: Any, shift: Any, epsilon: Fraction) -> list[list[arb]]:
    """γ (x − μ)/√(var + ε) + β of rows of fractions; call at high precision."""
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        scale = as_arb(sum((a - mean) ** 2 for a in row) / len(row) + epsilon).sqrt()
        rows.append([as_arb(g * (a - mean)) / scale + as_arb(b) for a, g, b in zip(row, gain, shift, strict=True)])
    return rows


def l2(rows: Any, computed: Any) -> Any:
    """L2 distances of rows of balls from rows of fractions."""
    return np.array([
        float(sum((abs(a - as_arb(b)) * abs(a - as_arb(b)) for a, b in zip(row, near, strict=True)), arb(0)).abs_upper().sqrt())
        for row, near in zip(rows, computed, strict=True)
    ])  # fmt: skip


def true_rms(x: Any, gain: Any, epsilon: Fraction) -> list[list[arb]]:
    """γ x/√(‖x‖²/d + ε) of rows of fractions; call at high precision."""
    rows = []
    for row in x:
        scale = as_arb(sum(a**2 for a in row) / len(row) + epsilon).sqrt()
        rows.append([as_arb(g * a) / scale for a, g in zip(row, gain, strict=True)])
    return rows


def rms_norm(random: np.random.Generator) -> float:
    """RMSNorm likewise; with a gain of floats, of rationals, and of 1 + w."""
    dim, epsilon = int(random.choice([2, 7, 48, 130])), Fraction(random.choice(["1e-5", "1e-12", "0.1", "1e-6"]))
    rows, n = hurtful_rows(random, dim), int(random.choice([0, 4, 6]))
    mid, _ = limbs.split(rows, n) if n else (rows, True)
    if n and random.random() < 0.3:
        mid[2:] = 2.0**20
    gain = (random.standard_normal(dim) * random.choice([0.001, 1, 1000])).astype(np.float32)
    true, kind = fractions(gain), random.integers(3)
    vector = store.Store().gain(gain, kind == 1)
    if kind == 1:
        true = true + 1
    elif kind == 2:
        true = true / 3
        vector = weights.Vector(numbers(true), "w")
    radius = np.full(3, float(random.choice([0.0, 1e-12, 1e-3, 0.5])))
    step = random.standard_normal((3, dim))
    if random.random() < 0.4:
        radius, step = _turning(random, rows)
    centre = exact(mid) if n else fractions(mid)
    moved = centre + fractions(step * (radius / np.sqrt((step**2).sum(axis=1)))[:, None] * (1 - 1e-12))
    out = normalising.rms_norm(Ball(mid, n, radius), vector, epsilon)
    computed = exact(out.mid) if n else fractions(out.mid)
    with precision(BITS):
        errors = l2(true_rms(moved, true, epsilon), computed)
    return worst(errors, out.radius)


def _turning(random: np.random.Generator, rows: Any) -> tuple[Any, Any]:
    """Steps that turn x the most: 0.9 of its length, to a tangent of the sphere around it."""
    size = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    other = random.standard_normal(rows.shape)
    other -= rows * (other * rows).sum(axis=1, keepdims=True) / size**2
    step = -0.9 * rows / size + math.sqrt(1 - 0.81) * other / np.sqrt((other**2).sum(axis=1, keepdims=True))
    return 0.9 * size[:, 0], step


def layer_norm(random: np.random.Generator) -> float:
    """Rounding alone, and with an x that is somewhere in the ball: LayerNorm in limbs and in floats."""
    dim, epsilon = int(random.choice([2, 7, 48, 130])), Fraction(random.choice(["1e-5", "1e-12", "0.1"]))
    rows = hurtful_rows(random, dim)
    n = int(random.choice([0, 4, 6]))
    gain, shift = (random.standard_normal(dim).astype(np.float32) for _ in range(2))
    gain *= np.float32(random.choice([0.001, 1, 1000]))
    mid, _ = limbs.split(rows, n) if n else (rows, True)
    radius = np.full(3, float(random.choice([0.0, 1e-12, 1e-3, 0.5])))
    centre = exact(mid) if n else fractions(mid)
    step = random.standard_normal((3, dim))
    if random.random() < 0.5:
        step[:, 2:] = 0
    if dim > 2 and random.random() < 0.3:
        radius, step = _sideways(random, rows)
    moved = centre + fractions(step * (radius / np.sqrt((step**2).sum(axis=1)))[:, None] * (1 - 1e-12))
    out = normalising.layer_norm(Ball(mid, n, radius), weights.Vector(gain, "w"), weights.Vector(shift, "b"), epsilon)
    computed = exact(out.mid) if n else fractions(out.mid)
    with precision(BITS):
        errors = l2(true_norm(moved, fractions(gain), fractions(shift), epsilon), computed)
    return worst(errors, out.radius)


def _sideways(random: np.random.Generator, rows: Any) -> tuple[Any, Any]:
    """Steps that turn x − μ the most: 0.9 of its length, to a tangent of the sphere around it."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    other = random.standard_normal(rows.shape)
    other -= other.mean(axis=1, keepdims=True)
    other -= centred * (other * centred).sum(axis=1, keepdims=True) / size**2
    step = -0.9 * centred / size + math.sqrt(1 - 0.81) * other / np.sqrt((other**2).sum(axis=1, keepdims=True))
    return 0.9 * size[:, 0], step


def spectral(random: np.random.Generator) -> float:
    """Against ‖A x‖/‖x‖ in exact arithmetic, for x from a decomposition; A is known exactly, or to within a slack."""
    shape = random.integers(1, 40, 2)
    a = random.standard_normal(shape) * 2.0 ** random.integers(-12, 12, (1, shape[1]))
    if random.random() < 0.3:
        a = np.outer(a[:, 0], a[0])
    near = a * (1 - 2.0**-7) if random.random() < 0.5 else a
    x = fractions(np.linalg.svd(a)[2][0])
    true = float(sum((fractions(a) @ x) ** 2) / sum(x**2)) ** 0.5
    return true / norms.spectral(near, norms.frobenius(a - near))


def attend(random: np.random.Generator) -> float:
    """Attention in limbs and in floats, with q, k and v somewhere in their balls: sharp, flat, equal and hidden scores."""
    heads, length, others, width = 2, 3, int(random.integers(3, 9)), int(random.choice([1, 3, 8]))
    n = int(random.choice([0, 4, 5]))
    sharp = float(random.choice([0.01, 1.0, 30.0]))
    q, k, v = (random.standard_normal((heads, t, width)) for t in (length, others, others))
    q = q * sharp
    kind = random.integers(5)
    if kind == 0:
        k[:] = k[:, :1]
    elif kind == 1:
        q, k = q * 100, k[:, :1] + k * 1e-4
    v = v * 1e-6 if kind == 2 else v + 50 * (kind == 3)
    square = Fraction(1, width)
    if kind == 4 and n:  # so small that only one unit of its last limb is left, if that, and dot products as large as can be
        q, k, square = q * 5e3 / sharp, k * 5e3, Fraction(int(random.integers(1, 40)), 16 << (42 * n))
    seen = np.arange(others) <= np.arange(others - length, others)[:, None]
    sizes = [float(random.choice([0.0, 1e-15, 1e-9, 1e-3, 0.3])) for _ in range(3)] if random.random() < 0.6 else [0.0] * 3
    radii = [np.full(t, size) * random.uniform(0.1, 1, t) for t, size in zip((length, others, others), sizes, strict=True)]
    mids = [limbs.split(x, n)[0] if n else x for x in (q, k, v)]
    near = [limbs.to_float(x) if n else x for x in mids]
    steps = [_direction(random, x.shape, r, near) for x, r in zip(near, radii, strict=True)]
    return attention_ratio(mids, n, seen, square, radii, steps)


def saturated(random: np.random.Generator) -> float:
    """Two keys, of which one takes all but 10^−11 to 10^−5, while q or its key moves: small differences of large numbers."""
    width, n = int(random.choice([1, 2, 8])), 6
    toward = random.standard_normal((1, 1, width))
    toward *= random.uniform(12, 25) * math.sqrt(width) / (toward**2).sum()
    k = random.standard_normal((1, 1, width)) + np.concatenate([toward, 0 * toward], axis=1)
    q = toward * (toward**2).sum() ** -0.5 * random.uniform(0.5, 2)
    q *= random.uniform(12, 25) * math.sqrt(width) / (q * toward).sum()
    v = random.standard_normal((1, 2, width)) * 30
    mids = [limbs.split(x, n)[0] for x in (q, k, v)]
    radii, steps = [np.zeros(1), np.zeros(2), np.zeros(2)], [np.zeros_like(x) for x in (q, k, v)]
    moved = int(random.integers(2))
    radii[moved][0] = 1e-14
    along = (toward, q)[moved] * float(random.choice((-1.0, 1.0)))
    steps[moved][:, :1] = along * (1e-14 * (1 - 1e-12) / math.sqrt((along**2).sum()))
    return attention_ratio(mids, n, np.ones((1, 2), bool), Fraction(1, width), radii, steps)


def many_positions(n: int, others: int = 1024) -> float:
    """The last position of many, with keys that move."""
    random, width = np.random.default_rng(n), 2
    q, k, v = (random.standard_normal((1, t, width)) * 3 for t in (1, others, others))
    mids = [limbs.split(x, n)[0] if n else x for x in (q, k, v)]
    radii = [np.zeros(1), np.full(others, 1e-9), np.full(others, 1e-9)]
    steps = [np.zeros_like(q), *(_direction(random, x.shape, r, [q, k]) for x, r in zip((k, v), radii[1:], strict=True))]
    return attention_ratio(mids, n, np.ones((1, others), bool), Fraction(1, width), radii, steps)


def attention_ratio(
    mids: list[Any], n: int, seen: Any, square: Fraction, radii: Any, steps: list[Any], paths: Any = None, cap: Any = None
) -> float:
    """The error of attention to q, k and v that are `steps` away; the scores are multiplied by the root of `square`."""
    soft = None if cap is None else Cap(exact_number(f"{cap.numerator}/{cap.denominator}"))
    if n:
        root = math.isqrt((square.numerator << (42 * n)) // square.denominator)
        limbed = limbs.from_integers(np.array([root], dtype=object), n + 1)[:, 0]
        mixed = attention.attend_limbs(*mids, seen, limbed, limbs.ulp(n + 1), cap=soft)
    else:
        mixed = attention.attend_float(*mids, seen, math.sqrt(square), soft)
    near = [limbs.to_float(x) if n else x for x in mids]
    moves = radii if isinstance(radii[0], Moves) else alike(radii, near)
    factor = math.sqrt(square) * (1 + 2.0**-40)
    moved, _ = moving.reach(mixed, seen, factor, *near, moves, paths, None if soft is None else soft.near)
    true = [(exact(x) if n else fractions(x)) + fractions(step) for x, step in zip(mids, steps, strict=True)]
    z = exact(mixed.z) if n else fractions(mixed.z)
    with precision(BITS):
        scale = as_arb(square).sqrt()
        errors = [_attention_error(true, t, seen[t], scale, z, cap) for t in range(len(seen))]
    return worst(np.array(errors), attention.outwards(moved + mixed.rounding))


def alike(radii: Any, near: Any) -> tuple[Moves, Moves, Moves]:
    """Moves of q, k and v of which nothing is known but a radius over all heads."""
    q, k, v = (Moves.alike(radius, len(x)) for radius, x in zip(radii, near, strict=True))
    return q, k, v


def _direction(random: np.random.Generator, shape: tuple[int, ...], radius: Any, near: list[Any]) -> Any:
    """A step of every token, of its radius over all heads: random, all the same, or along a query or a value."""
    heads, tokens, width = shape
    step = random.standard_normal(shape)
    kind = random.integers(4)
    if kind == 1:
        step = np.broadcast_to(random.standard_normal((heads, 1, width)), shape)
    elif kind == 2:
        step = np.broadcast_to(near[0][:, -1:], shape) * random.choice((-1.0, 1.0), (1, tokens, 1))
    elif kind == 3:
        step = np.broadcast_to((near[1] - near[1].mean(axis=1, keepdims=True))[:, :1], shape) * np.array([1.0, 0.0])[:, None, None]
    sizes = np.sqrt((step**2).sum(axis=(0, 2)))
    return step * np.where(sizes > 0, radius / np.where(sizes > 0, sizes, 1), 0)[:, None] * (1 - 1e-12)


def _attention_error(true: list[Any], t: int, seen: Any, scale: arb, z: Any, cap: Any) -> float:
    """The L2 distance of z at one position, over all heads, from the softmax attention of these fractions."""
    q, k, v = true
    total = arb(0)
    for head in range(len(q)):
        of = head * len(k) // len(q)
        scores = [as_arb(sum(q[head, t] * k[of, s])) * scale for s in np.flatnonzero(seen)]
        powers = [(score if cap is None else as_arb(cap) * (score / as_arb(cap)).tanh()).exp() for score in scores]
        for i in range(q.shape[2]):
            value = sum((p * as_arb(v[of, s, i]) for p, s in zip(powers, np.flatnonzero(seen), strict=True)), arb(0))
            apart = value / sum(powers, arb(0)) - as_arb(z[head, t, i])
            total += apart * apart
    return float(total.abs_upper().sqrt())


def linear(random: np.random.Generator) -> float:
    """x W + b as the logits have it: floats and rationals as weights, x exact or somewhere in its ball, limbs and floats."""
    n, rows, columns = int(random.choice([0, 4, 6])), int(random.integers(1, 140)), 4
    w, b = random.standard_normal((rows, columns)).astype(np.float32), random.standard_normal(columns).astype(np.float32)
    if random.random() < 0.3:
        w, b = np.abs(w), np.abs(b) * 2.0**-50
    true_w, true_b = fractions(w), fractions(b)
    if random.random() < 0.4:
        true_w, true_b = true_w / 3, true_b / 7
        w, b = numbers(true_w), numbers(true_b)
    near = random.standard_normal((3, rows)) if random.random() < 0.5 else np.abs(random.standard_normal((3, rows)))
    mid = limbs.split(near, n)[0] if n else near
    centre, radius = exact(mid) if n else fractions(mid), np.full(3, float(random.choice([0.0, 1e-3])))
    along = np.array(true_w[:, 0], dtype=float)
    step = fractions(along / np.sqrt((along**2).sum()) * radius[:, None] * (1 - 1e-12))
    out = CertifiedArithmetic(schedule=(n,)).linear(Ball(mid, n, radius), w, b)
    computed = exact(out.mid) if n else fractions(out.mid)
    return worst(abs(computed - ((centre + step) @ true_w + true_b)), out.spread())


def numbers(values: Any) -> Any:
    """The same as numbers of the library."""
    result = np.empty(values.size, dtype=object)
    result[:] = [exact_number(f"{x.numerator}/{x.denominator}") for x in values.ravel()]
    return result.reshape(values.shape)
