"""Lemmas about heads: rotations, keys that several heads share, errors in the directions in which they are read; and knapsacks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from bound_checks import over
from flint import arb
from limb_checks import BITS, as_arb, exact, extreme_limbs, fractions, worst
from moving_checks import attention_ratio, true_rms

from exactformer.certified import limbs, rotating
from exactformer.certified.ball import Ball
from exactformer.certified.capping import Cap
from exactformer.certified.directions import Paths, grams, spectral_by_powers
from exactformer.certified.head_norms import head_norm
from exactformer.certified.knapsack import knapsack
from exactformer.certified.moving import Moves
from exactformer.certified.norms import frobenius, spectral
from exactformer.certified.weights import Vector
from exactformer.numbers import exact as exact_number
from exactformer.numbers.enclosure import precision


def turned(x: Any, cosines: Any, sines: Any, pairs: str) -> Any:
    """Rows [heads, T, width] with their pairs turned; entries are of any kind of number."""
    result, half = x.copy(), cosines.shape[-1]
    for i in range(half):
        a, b = (i, i + half) if pairs == "halves" else (2 * i, 2 * i + 1)
        result[..., a] = x[..., a] * cosines[:, i] - x[..., b] * sines[:, i]
        result[..., b] = x[..., b] * cosines[:, i] + x[..., a] * sines[:, i]
    return result


def angle(base: int, rotary: int) -> rotating.Angle:
    """p · base^(−2i/rotary), as a real number."""
    return lambda p, i: p * (arb(base).log() * (arb(-2 * i) / rotary)).exp()


def stored(frequencies: Any) -> rotating.Angle:
    """p times a float32, as files have it."""
    return lambda p, i: p * as_arb(Fraction(float(frequencies[i])))


def rotation(random: np.random.Generator) -> float:
    """Rows turned by angles of either reading, all of a head or a part: each head against Arb."""
    half, length, n = int(random.integers(1, 5)), 3, int(random.choice([0, 4, 6]))
    width, start = 2 * half + int(random.choice([0, 3])), int(random.choice([0, 5, 1000, 100_000]))
    kind = random.integers(2)
    of = angle(10_000, 2 * half) if kind else stored(random.uniform(0, 1, half).astype(np.float32))
    near = random.standard_normal((2, length, width)) * float(random.choice([1e-3, 1.0, 3e5]))
    mid = limbs.split(np.clip(near, -5e5, 5e5), n)[0] if n else near
    pairs: rotating.Pairs = "halves" if random.random() < 0.5 else "neighbours"
    cosines, sines = rotating._table(of, half, n, range(start, start + length))
    computed, rounding = rotating.rotate(mid, n, (cosines, sines), pairs)
    with precision(BITS):
        angles = [[of(p, i) for i in range(half)] for p in range(start, start + length)]
        true = [np.array([[getattr(a, f)() for a in row] for row in angles], dtype=object) for f in ("cos", "sin")]
        centre = np.vectorize(as_arb, otypes=[object])(exact(mid) if n else fractions(mid))
        apart = turned(centre, *true, pairs) - np.vectorize(as_arb, otypes=[object])(exact(computed) if n else fractions(computed))
        errors = [[float(sum((e * e for e in row), arb(0)).abs_upper().sqrt()) for row in head] for head in apart]
    return worst(np.array(errors), rounding)


def rotation_of_extremes(random: np.random.Generator) -> float:
    """Limbs at their largest with tables at their largest: what is dropped, and what tables are off by, as far as can be."""
    half, n = int(random.integers(1, 4)), int(random.integers(4, 7))
    x = extreme_limbs(random, n, 1, 2, 2 * half, top=2**19)
    cosines, sines = (extreme_limbs(random, n + 1, 2, half, top=0) for _ in range(2))
    if random.random() < 0.7:
        x[1:], cosines[1:], sines[1:] = 2.0**20, 2.0**20, 2.0**20
        x[1:, ..., :half] *= -1
        x[-1, ..., 0] = random.integers(-(1 << 20), 1 << 20, x[-1, ..., 0].shape)
    off = Fraction(1, 1 << (21 * n)) * (Fraction(1, 2) + Fraction(1, 1 << 10))
    computed, rounding = rotating.rotate(x, n, (cosines, sines), "halves")
    signs = [int(s) for s in random.choice((-1, 1), 2)]
    true = turned(exact(x), exact(cosines) + signs[0] * off, exact(sines) + signs[1] * off, "halves")
    errors = ((true - exact(computed)) ** 2).sum(axis=-1)
    return max(over(e, Fraction(float(r)) ** 2) for e, r in zip(errors.ravel(), rounding.ravel(), strict=True))


def tables(random: np.random.Generator) -> float:
    """Cosines and sines in limbs: each within 1/2 + 2^−10 of an ulp."""
    n, position = int(random.integers(4, 9)), int(random.choice([0, 1, 77, 10**6, 10**9]))
    of = angle(int(random.choice([100, 10_000, 500_000])), 8)
    held = rotating._table(of, 4, n, range(position, position + 1))
    with precision(BITS):
        true = [[getattr(of(position, i), f)() for i in range(4)] for f in ("cos", "sin")]
        errors = [float(abs(t - as_arb(x)).upper()) for row, table in zip(true, held, strict=True)
                  for t, x in zip(row, exact(table).ravel(), strict=True)]  # fmt: skip
    return worst(np.array(errors), (0.5 + 2.0**-10) * limbs.ulp(n + 1))


def knapsacks(random: np.random.Generator) -> float:
    """The best filling, found in fractions, against its bound; a budget that is large, small or 0; few weights or many."""
    count = int(random.choice([random.integers(1, 9), random.integers(100, 400)]))
    weights, caps = (random.uniform(0, 1, count) * 2.0 ** random.integers(-20, 20, count) for _ in range(2))
    if random.random() < 0.3:
        weights[:] = weights[0]
    budget = float(caps.sum() * random.choice([0.0, 0.1, 0.5, 1.0, 3.0]))
    left, best = Fraction(budget), Fraction(0)
    for w, c in sorted(zip(map(Fraction, weights.tolist()), map(Fraction, caps.tolist()), strict=True), reverse=True):
        taken = min(left, c)
        left, best = left - taken, best + w * taken
    return over(best, knapsack(weights, caps, np.array(budget)))


def _known(random: np.random.Generator, near: Any, size: float) -> tuple[Moves, Any]:
    """A step of every token and what is known of it: over all heads, and of single heads, of which one may move the most."""
    heads, tokens, _ = near.shape
    shares = np.ones(heads) if random.random() < 0.4 else random.dirichlet(np.ones(heads)) ** 0.5
    step = random.standard_normal(near.shape)
    if random.random() < 0.4:
        step = np.broadcast_to(near[:, -1:], near.shape) * random.choice((-1.0, 1.0), (1, tokens, 1))
    lengths = np.sqrt((step**2).sum(axis=2, keepdims=True))
    step = step / np.where(lengths > 0, lengths, 1) * shares[:, None, None]
    whole = np.sqrt((step**2).sum(axis=(0, 2)))
    step = step * (size / whole * (1 - 1e-12))[:, None]
    each = np.broadcast_to((shares / math.sqrt((shares**2).sum()) * size)[:, None], (heads, tokens))
    return Moves(np.full(tokens, size), each), step


def grouped(random: np.random.Generator) -> float:
    """Several heads read one key: moved, it moves them all. Sharp, flat and equal scores; one query for all heads, or many."""
    heads, groups = [(4, 1), (4, 2), (2, 1), (3, 3)][random.integers(4)]
    length, others, width, n = 2, int(random.integers(2, 6)), int(random.choice([1, 3])), int(random.choice([0, 4]))
    q = random.standard_normal((heads, length, width)) * float(random.choice([0.01, 1.0, 10.0]))
    k, v = random.standard_normal((2, groups, others, width))
    if random.random() < 0.5:
        q[:] = q[:1]
    if random.random() < 0.3:
        v = v * 1e-3
    sizes = [float(random.choice([0.0, 1e-9, 1e-3])) for _ in range(3)]
    mids = [limbs.split(x, n)[0] if n else x for x in (q, k, v)]
    near = [limbs.to_float(x) if n else x for x in mids]
    pairs = [_known(random, x, size) for x, size in zip(near, sizes, strict=True)]
    if random.random() < 0.5:  # all along the query of the first head
        for place in (1, 2):
            toward = np.broadcast_to(q[: heads : heads // groups, -1:], near[place].shape)
            toward = toward / np.sqrt((toward**2).sum(axis=(0, 2), keepdims=True)) * sizes[place] * (1 - 1e-12)
            signs = np.sign((v - v.mean(axis=1, keepdims=True)) @ random.standard_normal((width, 1)))[:1] if place == 1 else 1.0
            pairs[place] = (Moves.alike(np.full(others, sizes[place]), groups), toward * signs)
    seen = np.arange(others) <= np.arange(others - length, others)[:, None]
    moves, steps = zip(*pairs, strict=True)
    return attention_ratio(mids, n, seen, Fraction(1, width), moves, list(steps))


def capped_attention(random: np.random.Generator) -> float:
    """Scores with a soft cap, far below it and far beyond: queries move, and keys."""
    length, others, width, n = 2, int(random.integers(2, 6)), int(random.choice([1, 3])), int(random.choice([0, 4]))
    q, k, v = (random.standard_normal((2, t, width)) for t in (length, others, others))
    q, k = q * float(random.choice([0.1, 1.0, 10.0])), k + float(random.choice([0.0, 20.0]))
    sizes = [0.0, 0.0, 0.0]
    sizes[int(random.integers(2))] = float(random.choice([1e-9, 1e-4, 1e-2]))
    mids = [limbs.split(x, n)[0] if n else x for x in (q, k, v)]
    near = [limbs.to_float(x) if n else x for x in mids]
    moves, steps = zip(*(_known(random, x, size) for x, size in zip(near, sizes, strict=True)), strict=True)
    if sizes[0] and random.random() < 0.6:  # against the keys, which a cap tells apart even where they are all alike
        toward = np.broadcast_to(k.mean(axis=1, keepdims=True), q.shape)
        toward = toward * (sizes[0] / np.sqrt((toward**2).sum(axis=(0, 2)))[:, None]) * (1 - 1e-12)
        moves, steps = (Moves.alike(np.full(length, sizes[0]), 2), *moves[1:]), (toward, *steps[1:])
    seen = np.arange(others) <= np.arange(others - length, others)[:, None]
    cap = Fraction(random.choice(["1", "5", "50", "7/3"]))
    return attention_ratio(mids, n, seen, Fraction(1, width), moves, list(steps), None, cap)


def caps(random: np.random.Generator) -> float:
    """c tanh(x/c) in limbs and in floats, and of a ball whose numbers are at one of its ends."""
    n, radius = int(random.choice([0, 4, 7])), float(random.choice([0.0, 1e-3]))
    cap = Fraction(random.choice(["1", "30", "7/3", "1/7"]))
    x = random.standard_normal(30) * float(random.choice([1e-9, 1.0, 40.0, 3000.0])) * float(cap)
    mid = limbs.split(x, n)[0] if n else x
    found = Cap(exact_number(f"{cap.numerator}/{cap.denominator}")).ball(Ball(mid, n, np.full(30, radius)))
    with precision(BITS):
        moved = (exact(mid) if n else fractions(mid)) + Fraction(radius * (1 - 1e-12))
        true = [as_arb(cap) * as_arb(a / cap).tanh() for a in moved]
        near = exact(found.mid) if n else fractions(found.mid)
        errors = [float(abs(a - as_arb(b)).upper()) for a, b in zip(true, near, strict=True)]
    return worst(np.array(errors), found.radius)


def through_matrix(random: np.random.Generator) -> float:
    """Queries and keys that come through matrices, and are turned: a step in any direction before them. The largest of several."""
    heads, groups = [(4, 2), (2, 2), (2, 1)][random.integers(3)]
    length, others, width, dim = 2, int(random.integers(2, 5)), 4, 5
    n, half = int(random.choice([0, 5])), int(random.choice([0, 1, 2]))
    x = random.standard_normal((others, dim))
    matrices = [random.standard_normal((h, dim, width)) * 2.0 ** random.integers(-3, 2, width) for h in (heads, groups)]
    size = float(random.choice([1e-9, 1e-3]))
    table = rotating._table(angle(7, 4), half, 0, range(others)) if half else (np.empty((others, 0)),) * 2
    wide = [fractions(t) for t in table]
    step = random.standard_normal((others, dim)) if random.random() < 0.3 else np.broadcast_to(random.standard_normal(dim), x.shape)
    along = random.random() < 0.4
    if along:  # as the last query of the first head reads keys
        query = turned((x[-1:] @ matrices[0][:1]), *(t[-1:] for t in table), "neighbours")
        back = turned(np.broadcast_to(query, (1, others, width)), table[0], -table[1], "neighbours")[0]
        step = back @ matrices[1][0].T * random.choice((-1.0, 1.0), (others, 1))
    step = step * (size / np.sqrt((step**2).sum(axis=1)) * (1 - 1e-12))[:, None]
    q, k, dq, dk = (
        turned(np.stack([fractions(rows) @ fractions(a) for a in of]), wide[0][at:], wide[1][at:], "neighbours").astype(float)
        for rows, of, at in ((x[-length:], matrices[0], others - length), (x, matrices[1], 0),
                             (step[-length:], matrices[0], others - length), (step, matrices[1], 0))
    )  # fmt: skip
    v = random.standard_normal((groups, others, width))
    mids = [limbs.split(y, n)[0] if n else y for y in (q, k, v)]
    parts = [(grams(a, sizes), sizes) for a in matrices for sizes in [np.array([spectral(h) for h in a])]]
    moves = []
    for (_, sizes), a, tokens in zip(parts, matrices, (length, others), strict=True):
        whole = spectral(np.concatenate(list(a), axis=1)) * size
        moves.append(Moves(np.full(tokens, whole), np.repeat(sizes[:, None] * size, tokens, axis=1), np.full(tokens, size),
                           np.full((len(a), tokens), 2.0**-60)))  # fmt: skip
    moves.append(Moves.alike(np.zeros(others), groups))
    turns = [None, None] if not half else [table, tuple(t[others - length :] for t in table)]
    paths = Paths(parts[1][0], parts[0][0], *turns, "neighbours")  # type: ignore[arg-type]
    seen = np.arange(others) <= np.arange(others - length, others)[:, None]
    kept = [dq, dk, 0 * v]
    if random.random() < 0.6 or along:
        kept[0 if along else int(random.integers(2))][:] = 0
    return attention_ratio(mids, n, seen, Fraction(1, width), tuple(moves), kept, paths)


def read_forms(random: np.random.Generator) -> float:
    """‖A Rᵀ q‖ for single queries, ‖C‖ by powers: against fractions, for matrices of rank one and others."""
    width, dim = int(random.integers(1, 6)), int(random.integers(1, 9))
    a = random.standard_normal((1, dim, width)) * 2.0 ** random.integers(-9, 9, (1, 1, width))
    if random.random() < 0.5:
        a[0] = np.outer(a[0, :, 0], a[0, 0])
    q = random.standard_normal((1, 1, width))
    if random.random() < 0.5:  # nearly nothing is read
        q[0, 0] = np.linalg.svd(a[0])[2][-1]
    paths = Paths(grams(a, np.array([spectral(a[0])])), grams(a, np.array([spectral(a[0])])))
    true = sum((fractions(a[0]) @ fractions(q[0, 0])) ** 2)
    ratio = over(true, Fraction(float(paths.keys(q)[0, 0, 0])) ** 2)
    square = random.standard_normal((1, width, width)) * 2.0 ** random.integers(-300, 300)
    if random.random() < 0.5:
        square[0] = np.outer(square[0, 0], square[0, :, 0] / np.abs(square[0]).max())
    x = fractions(np.linalg.svd(square[0])[2][0])
    return max(ratio, over(sum((fractions(square[0]) @ x) ** 2) / sum(x**2), Fraction(float(spectral_by_powers(square)[0])) ** 2))


def factors(random: np.random.Generator) -> float:
    """‖AᵀA − LLᵀ‖, in the direction in which it is the largest."""
    width, dim = int(random.integers(1, 6)), int(random.integers(1, 9))
    a = random.standard_normal((1, dim, width)) * 2.0 ** random.integers(-9, 9, (1, 1, width))
    held = grams(a, np.array([frobenius(a[0])]))
    lower, whole = fractions(held.factors[0]), fractions(a[0])
    rest = whole.T @ whole - lower @ lower.T
    return over(sum((rest**2).ravel()), Fraction(float(held.off[0])) ** 2)


def normed(random: np.random.Generator) -> float:
    """Queries and keys through matrices, an RMSNorm of every head, and turns: the attention, and each row, over their bounds."""
    heads, groups = [(4, 2), (2, 2), (2, 1)][random.integers(3)]
    length, others, width, dim, half = 2, int(random.integers(2, 5)), 4, 5, int(random.choice([0, 2]))
    n, epsilon, of = int(random.choice([0, 5])), Fraction(str(random.choice(["1e-6", "0.1"]))), angle(7, 4)
    x = random.standard_normal((others, dim))
    matrices = [random.standard_normal((h, dim, width)) * 2.0 ** random.integers(-3, 2, width) for h in (heads, groups)]
    gains = np.exp(random.standard_normal((2, width)))
    size = float(random.choice([1e-9, 1e-6, 1e-3, 0.1]))
    step = random.standard_normal((others, dim)) if random.random() < 0.5 else np.broadcast_to(random.standard_normal(dim), x.shape)
    step = step * (size / np.sqrt((step**2).sum(axis=1)) * (1 - 1e-12))[:, None]
    moves, mids, steps, tables_, grams_, ratios = [], [], [], [], [], []
    for matrix, gain, at in zip(matrices, gains, (others - length, 0), strict=True):
        tokens, known = others - at, np.array([spectral(h) for h in matrix])
        before, rest = np.matmul(x[at:], matrix), np.full((len(matrix), tokens), 1e-13)
        whole = np.full(tokens, spectral(np.concatenate(list(matrix), axis=1)) * size + 1e-13)
        known_moves = Moves(whole, known[:, None] * size + rest, np.full(tokens, size), rest)
        mid, after = head_norm(limbs.split(before, n)[0] if n else before, n, known_moves, Vector(gain, "w"), epsilon)
        if half:
            mid, rounding = rotating.rotate(mid, n, rotating._table(of, half, n, range(at, others)), "halves")
            after = after.wider(rounding)
        with precision(BITS):
            near = exact(mid) if n else fractions(mid)
            exact_rows = np.stack([(fractions(x[at:]) + fractions(step[at:])) @ fractions(h) for h in matrix])
            true = np.stack([np.array(true_rms(rows, fractions(gain), epsilon), dtype=object) for rows in exact_rows])
            if half:
                angles = [[of(p, i) for i in range(half)] for p in range(at, others)]
                turns = [np.array([[getattr(a, f)() for a in row] for row in angles], dtype=object) for f in ("cos", "sin")]
                true = turned(true, *turns, "halves")
            apart = (true - np.vectorize(as_arb, otypes=[object])(near)).astype(float)
        if not half and after.normed is not None:  # what is left when J is taken off is in `rest`
            by = np.stack([after.normed.back((step[at:] @ h)[:, None] / gain, i, False)[:, 0] * gain for i, h in enumerate(matrix)])
            ratios.append(worst(np.sqrt(((apart - by) ** 2).sum(axis=-1)), after.rest))
        lengths = np.sqrt((apart**2).sum(axis=-1))
        ratios += [worst(lengths, after.heads), worst(np.sqrt((lengths**2).sum(axis=0)), after.whole)]
        moves.append(after)
        mids.append(mid)
        steps.append(apart)
        tables_.append(rotating._table(of, half, 0, range(at, others)) if half else None)
        grams_.append(grams(matrix, known))
    v = random.standard_normal((groups, others, width))
    paths = Paths(grams_[1], grams_[0], tables_[1], tables_[0], "halves")
    seen = np.arange(others) <= np.arange(others - length, others)[:, None]
    every = (*moves, Moves.alike(np.zeros(others), groups))
    last = limbs.split(v, n)[0] if n else v
    return max(*ratios, attention_ratio([*mids, last], n, seen, Fraction(1, width), every, [*steps, 0 * v], paths))
