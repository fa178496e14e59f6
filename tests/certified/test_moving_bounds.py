"""The bounds of Lemmas 12 to 15 once more, written out entry by entry: what the package computes is never below, hardly above.

Terms that are too small to show in an error are told apart here: in turn, radii are 0, keys or values all the same, and rows short.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from limb_checks import fractions
from moving_checks import alike, numbers
from small_models import gpt2_shaped

from exactformer.certified import attention, bounds, limbs, moving, normalising, perceptron
from exactformer.certified.arithmetic import CertifiedArithmetic, _with_bias
from exactformer.certified.ball import Ball, Gained, row_norms
from exactformer.certified.directions import Paths, grams, spectral_by_powers
from exactformer.certified.elementwise import activate, activate_float, steepness
from exactformer.certified.head_norms import head_norm
from exactformer.certified.knapsack import falling, knapsack
from exactformer.certified.moving import Moves
from exactformer.certified.products import product
from exactformer.certified.store import Store
from exactformer.certified.weights import Vector

U = 2.0**-53


def agrees(bound: Any, formula: Any) -> bool:
    bound, formula = np.asarray(bound), np.asarray(formula)
    return bool((formula * (1 - 1e-13) <= bound).all() and (bound <= formula * (1 + 1e-9)).all())


def size(x: Any) -> float:
    return math.sqrt(sum(float(entry) ** 2 for entry in np.ravel(x)))


def gamma(k: float) -> float:
    return k * U / (1 - k * U)


def lemma_15(mixed: attention.Mixed, seen: Any, f: float, q: Any, k: Any, v: Any, radii: tuple[Any, Any, Any]) -> list[float]:
    rq, rk, rv = radii
    heads, length, width = q.shape
    others = k.shape[1]
    relative, absolute = mixed.pattern_error
    g = gamma(2 * width + 2 * others + 16)
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (v, k))
    ra, rb = (
        r + 8 * U * max(size(x[h, s]) + size(y[h, s]) for h, s in itertools.product(range(heads), range(others)))
        for r, x, y in ((rv, v, a), (rk, k, b))
    )
    result = []
    for t in range(length):
        keys = [int(s) for s in np.flatnonzero(seen[t])]
        moved = max(f * ((size(q[h, t]) + rq[t]) * rk[s] + rq[t] * size(k[h, s])) for h in range(heads) for s in keys)
        grow = float(bounds.grown(np.float64(2 * moved)))
        upper, weighted, variances, covariances, apart = np.zeros((heads, others)), [], [], [], np.zeros((heads, others))
        for h in range(heads):
            p = mixed.pattern[h, t]
            base = p * (1 + relative) + absolute
            change = grow * base + relative * p + absolute
            upper[h, keys] = ((1 + grow) * base)[keys]
            mean_a, mean_b = (sum(p[s] * x[h, s] for s in keys) for x in (a, b))
            most_a, most_b = (max(size(x[h, s]) for s in range(others)) for x in (a, b))
            mu_a = sum(change[s] * size(a[h, s]) for s in keys) + max(ra[keys]) + g * most_a
            mu_b = sum(change[s] * size(b[h, s]) for s in keys) + max(rb[keys]) + g * most_b
            matrix = sum(p[s] * np.outer(a[h, s], b[h, s]) for s in keys) - np.outer(mean_a, mean_b)
            total = math.sqrt(size(matrix) ** 2 + 8 * g * (most_a * most_b) ** 2) + g * most_a * most_b
            for s in keys:
                total += change[s] * size(a[h, s]) * size(b[h, s])
                total += upper[h, s] * (size(a[h, s]) * rb[s] + size(b[h, s]) * ra[s] + ra[s] * rb[s])
                apart[h, s] = math.sqrt(size(a[h, s] - mean_a) ** 2 + 6 * g * most_a**2) + ra[s] + mu_a
            covariances.append(total + mu_a * size(mean_b) + size(mean_a) * mu_b + mu_a * mu_b)
            variances.append(sum(upper[h, s] * apart[h, s] ** 2 for s in keys))
            weighted.append(size(q[h, t]) + rq[t])
        by_value = min(
            sum(max(upper[:, s]) * rv[s] for s in keys), math.sqrt(sum(max(upper[:, s]) * rv[s] ** 2 for s in keys))
        )  # fmt: skip
        linear = sum(max(upper[h, s] * apart[h, s] * weighted[h] for h in range(heads)) * rk[s] for s in keys)
        squares = sum(max(upper[h, s] * variances[h] * weighted[h] ** 2 for h in range(heads)) * rk[s] ** 2 for s in keys)
        result.append(by_value + f * min(linear, math.sqrt(squares)) + f * max(covariances) * rq[t])
    return result


@pytest.mark.parametrize("seed", range(24))
def test_how_far_attention_moves(seed: int) -> None:
    random = np.random.default_rng(seed)
    heads, others, width, n = 2, 5, int(random.integers(1, 4)), (0, 5)[seed % 2]
    q, k, v = (random.standard_normal((heads, t, width)) for t in (3, others, others))
    kind = seed % 3
    if kind == 1:
        v[:] = v[:, :1]
    elif kind == 2:
        k[:] = k[:, :1]
    seen = np.arange(others) <= np.arange(2, others)[:, None]
    sizes = [0.0, 1e-14, 0.3]
    radii = tuple(random.choice(sizes) * random.uniform(0.1, 1, t) for t in (3, others, others))
    if n:
        q, k, v = (limbs.to_float(limbs.split(x, n)[0]) for x in (q, k, v))
        factor = limbs.split(np.array([0.75]), n + 1)[0][:, 0]
        mixed = attention.attend_limbs(*(limbs.split(x, n)[0] for x in (q, k, v)), seen, factor, 0.0)
    else:
        mixed = attention.attend_float(q, k, v, seen, 0.75)
    if seed % 4 == 0:  # as if scores were hardly known
        mixed = replace(mixed, pattern_error=(0.3, 0.01))
    moved, _ = moving.reach(mixed, seen, 0.75, q, k, v, alike(radii, (q, k, v)))
    assert agrees(moved, np.maximum(lemma_15(mixed, seen, 0.75, q, k, v, radii), bounds.FLOOR))


@pytest.mark.parametrize("factor", [0.75, 2.0**-70])
@pytest.mark.parametrize("size_of_values", [1e-9, 1.0, 1e4])
def test_rounding_of_attention(factor: float, size_of_values: float) -> None:
    """Lemmas 13 and 14: the rounding of z and of single weights, for scores of every size."""
    random = np.random.default_rng(int(size_of_values))
    for n, sharp in itertools.product((0, 4), (1e-3, 1.0, 200.0)):
        q, k, v = (random.standard_normal((1, t, 3)) for t in (1, 4, 4))
        q, v = q * sharp, v * size_of_values
        seen = np.array([[True, True, True, False]])
        sizes = [max(size(x[0, s]) for s in range(3)) for x in (k, v)]
        if n == 0:
            mixed = attention.attend_float(q, k, v, seen, factor)
            score = gamma(7) * factor * size(q) * sizes[0] + 81 * U
            shares = float(bounds.grown(np.float64(2 * score))) + 8.4 * U + 2 * gamma(8) + 6 * 2.0**-115
            expected, slack, least = shares * sizes[1], 2 * shares + 8 * U, 4 * 2.0**-115
        else:
            error = 0.75 * limbs.ulp(n + 1)
            limbed = limbs.split(np.array([factor]), n + 1)[0][:, 0]
            mixed = attention.attend_limbs(*(limbs.split(x, n)[0] for x in (q, k, v)), seen, limbed, error)
            held = float(limbs.to_float(limbed[:, None])[0])
            largest = float(np.abs(mixed.dots[0] * seen).max()) + 1
            unit, product = limbs.ulp(n), bounds.product(n, n + 1, n)
            score = ((held + error) * bounds.dots(3, n) + product) * unit + error * largest
            power = attention.exp(limbs.split(np.zeros((1,)), n)[0])[1] * unit
            near = limbs.to_float(mixed.scores)[0, 0, :3]
            total = sum(math.exp(x - round(max(near))) for x in near)
            grown = float(bounds.grown(np.float64(2 * score)))
            expected = (grown + 6 * power / total) * sizes[1]
            expected += (math.sqrt(3) * (bounds.dots(4, n) / total + product) + 2.0**-20 * total * sizes[1]) * unit
            slack, least = 4 * gamma(8) + 2 * (grown + 12 * power), 3 * power
        assert agrees(mixed.rounding[0], expected)
        assert agrees(mixed.pattern_error[0], slack)
        assert agrees(mixed.pattern_error[1], least * (1 + slack))


@pytest.mark.parametrize("radius", [0.0, 1e-13, 1e-3, 70.0])
@pytest.mark.parametrize("wide", [1e-3, 1.0, 300.0])
def test_softmax_of_logits(wide: float, radius: float) -> None:
    """Lemma 14, where a radius is that of an entry: what each weight is right to."""
    near = np.random.default_rng(2).standard_normal((2, 2000)) * wide
    out = attention.softmax(Ball(near, 0, np.full(near.shape, radius)))
    moved = np.minimum(radius + 4 * U * np.abs(near).max(axis=1, keepdims=True) + 81 * U, 50)
    relative = bounds.grown(2 * moved) + 8.4 * U + gamma(2008)
    ends = 4 * 2000 * 2.0**-115
    assert agrees(out.radius, np.minimum((out.mid + ends) * relative * (1 + relative) + ends, 1))


@pytest.mark.parametrize("radius", [0.0, 1e-3])
@pytest.mark.parametrize("kind", ["common part", "centred", "outlier"])
def test_layer_norm_in_floats(kind: str, radius: float) -> None:
    """Lemma 12: centring, rounding of the quotient, then gain and shift, each in its own part of the bound."""
    dim, epsilon = 6, Fraction(1, 100)
    x = {"common part": 100 + np.arange(6.0), "centred": np.arange(6.0) - 2.5, "outlier": np.array([900.0, 0, 0, 0, 0, 0])}[kind][
        None
    ]
    gain, shift = np.linspace(1, 3, dim), np.linspace(-2, 1, dim)
    out = normalising.layer_norm(Ball(x, 0, np.full(1, radius)), Vector(gain, "w"), Vector(shift, "b"), epsilon)
    centred = x - x.mean()
    moved = radius + math.sqrt(dim) * gamma(dim + 1) * float(np.abs(x).mean()) + 2 * U * size(centred)
    deviation = math.sqrt((size(centred) - moved) ** 2 / dim + float(epsilon))
    inner = moved / deviation + gamma(dim / 2 + 8) * 1.01 * math.sqrt(dim)
    scaled = centred / math.sqrt(size(centred) ** 2 / dim + float(epsilon)) * gain
    outer = U * (4 * size(scaled) + 2 * size(scaled + shift) + 2 * size(shift))
    assert out.gained is not None
    assert agrees(out.gained.inner, inner)
    assert agrees(out.gained.outer, outer)
    assert agrees(out.radius, 3 * inner + outer)


@pytest.mark.parametrize("n", [0, 5])
@pytest.mark.parametrize("radius", [0.0, 1e-3])
def test_rms_norm(n: int, radius: float) -> None:
    """Lemmas 20 to 22, each in its own part of the bound."""
    dim, epsilon = 6, Fraction(1, 100)
    x, gain = np.array([[9.0, -3.0, 0.5, 0.25, 7.0, 1.0]]), Vector(numbers(fractions(np.linspace(1, 3, dim)) / 3), "w")
    out = normalising.rms_norm(Ball(limbs.split(x, n)[0] if n else x, n, np.full(1, radius)), gain, epsilon)
    moved = radius / math.sqrt((size(x) - radius) ** 2 / dim + float(epsilon))
    if n:
        inner = moved + bounds.rms_scale(n, dim, size(x)) * limbs.ulp(n)
        outer = math.sqrt(dim) * (bounds.product(n, n, n) + 0.75) * limbs.ulp(n)
    else:
        inner = moved + gamma(dim / 2 + 8) * 1.01 * math.sqrt(dim)
        outer = 3 * U * size(x / math.sqrt(size(x) ** 2 / dim + float(epsilon)) * gain.floats)
    assert out.gained is not None
    assert agrees(out.gained.inner, inner)
    assert agrees(out.gained.outer, outer)
    assert agrees(out.radius, inner + outer)


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_read_of_queries_and_keys(turned: bool) -> None:
    """Lemma 26: the rounding of each form, with inputs next to which it is not small; in turn, all else is 0."""
    random, heads, dim, width, others = np.random.default_rng(3), 2, 9, 4, 3
    a = random.standard_normal((heads, dim, width))
    held = grams(a, np.array([5.0, 7.0]))
    for h in range(heads):
        squares = size(a[h]) ** 2
        assert agrees(held.slack[h], gamma(dim + 2 * width + 24) * squares)
        rest = size(held.grams[h] - held.factors[h] @ held.factors[h].T)
        assert agrees(held.off[h], rest + gamma(width + 4) * size(held.factors[h]) ** 2 + gamma(dim + 24) * squares)
    angles = np.array([[0.0, 0.5], [1.0, 2.0], [3.0, 0.1]])
    turns = (np.cos(angles), np.sin(angles)) if turned else None
    paths = Paths(held, held, turns, turns, "halves")
    q = random.standard_normal((heads, others, width))
    found = np.broadcast_to(paths.keys(q), (heads, others, others))
    small = np.broadcast_to(paths.keys(q * 1e-200), (heads, others, others))
    for h, t, s in itertools.product(range(heads), range(others), range(others)):
        turn = np.eye(width)
        if turned:
            c, n = np.diag(np.cos(angles[s])), np.diag(np.sin(angles[s]))
            turn = np.block([[c, -n], [n, c]])
        back = turn.T @ q[h, t]
        read = math.sqrt(back @ held.grams[h] @ back + held.slack[h] * size(q[h, t]) ** 2) + 12 * U * held.sizes[h] * size(q[h, t])
        assert agrees(found[h, t, s], read)
        assert small[h, t, s] >= read * 1e-200
    p, zero = random.dirichlet(np.ones(others), (heads, others)), np.zeros((heads, others))
    b = random.standard_normal((heads, others, width))
    for along, more, rounding in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        got = paths.queries(np.arange(others), p, 0 * b, b, zero + along, zero + more, np.full((heads, 1), rounding))
        sizes = [size(held.factors[h]) for h in range(heads)]
        want = [math.sqrt(held.off[h]) * along + held.sizes[h] * more + rounding * sizes[h] for h in range(heads)]
        assert agrees(got, np.repeat(np.array(want)[:, None], others, axis=1))


@pytest.mark.parametrize("n", [0, 5])
@pytest.mark.parametrize("radius", [0.0, 1e-6, 0.1])
def test_norms_of_heads(n: int, radius: float) -> None:
    """Lemma 29: radii of single heads, over all heads, and what is left beside the directions."""
    random, epsilon = np.random.default_rng(7), Fraction(1, 10)
    x, gain = random.standard_normal((3, 2, 4)), Vector(np.array([1.0, -2.0, 0.5, 0.25]), "w")
    moves = Moves(np.full(2, 1.5 * radius), np.full((3, 2), radius), np.full(2, 7.0), np.full((3, 2), radius / 3))
    mid, after = head_norm(limbs.split(x, n)[0] if n else x, n, moves, gain, epsilon)
    assert mid.shape == ((n, 3, 2, 4) if n else (3, 2, 4))
    for h, t in itertools.product(range(3), range(2)):
        one = Ball(limbs.split(x[h, t : t + 1], n)[0] if n else x[h, t : t + 1], n, np.full(1, radius))
        _, moved, rounding, outer = normalising.rms_parts(one, gain, epsilon)
        noise, steep = 2 * rounding + outer, moved / radius if radius else 0
        assert agrees(after.heads[h, t], 2 * moved + noise)
        assert agrees(after.rest[h, t], 2 * (steep * radius / 3 + 3 * moved**2 / 2) + noise)
    each = np.sqrt((after.heads**2).sum(axis=0))
    parts = [normalising.rms_parts(Ball(limbs.split(row, n)[0] if n else row, n, np.full(2, radius)), gain, epsilon) for row in x]
    noise = np.sqrt(sum((2 * rounding + outer) ** 2 for _, _, rounding, outer in parts))
    assert agrees(after.whole, np.minimum(each, 2 * np.max([moved for _, moved, _, _ in parts], axis=0) * 1.5 + noise))
    assert after.normed is not None
    ones = np.ones((3, 2, 4))
    held = grams(random.standard_normal((3, 9, 4)), np.array([5.0, 7.0, 6.0]))
    for q in (ones, 1e-3 * ones):
        found = Paths(held, held).keys(q, after.normed)
        for h, t, s in itertools.product(range(3), range(2), range(2)):
            unit, inverse = after.normed.unit[h, s], after.normed.inverse[h, s]
            back = (q[h, t] * gain.floats - unit * (unit @ (q[h, t] * gain.floats)) / 4) * inverse
            length = 2 * inverse * size(q[h, t])
            form = math.sqrt(back @ held.grams[h] @ back + held.slack[h] * length**2)
            assert agrees(found[h, t, s], form + (12 * U + gamma(3 * 4 + 64)) * held.sizes[h] * length)


def test_spectral_norms_by_powers() -> None:
    """Lemma 26: the identity, whose powers are known."""
    for width in (1, 4, 50):
        fourth = math.sqrt(width) / width**2
        want = math.sqrt(width) * min(1.0, (fourth + 8 * gamma(width + 8)) ** 0.25)
        assert agrees(spectral_by_powers(np.eye(width)[None]), [want])


@pytest.mark.parametrize("rational", [False, True])
@pytest.mark.parametrize("rows", [3, 100, 200])
def test_products_of_midpoints(rows: int, rational: bool) -> None:
    """Lemmas 3, 4 and 19: the rounding of x W + b, of a row and of an entry, in floats and in limbs."""
    random, columns = np.random.default_rng(rows), 4
    x, w, b = (random.standard_normal(shape) for shape in ((1, rows), (rows, columns), (columns,)))
    b *= 1e-10
    held = (numbers(fractions(w) / 97), numbers(fractions(b) / 97)) if rational else (w, b)
    w, b = (w / 97, b / 97) if rational else (w, b)
    ops = CertifiedArithmetic()
    matrix, bias = ops.store.matrix(held[0]), ops.store.vector(held[1])
    terms, slack = min(96, rows) + -(-rows // 96), 2 * U * size(w) * rational * size(x)
    mid, rounding = ops._product(Ball(x, 0, np.zeros(1)), matrix, bias)
    ends = np.abs(mid[0]) + 2 * np.abs(b)
    lengths = sum(abs(x[0, i]) * size(w[i]) for i in range(rows))
    assert agrees(rounding, gamma(terms) * lengths + slack + U * size(ends))
    _, by_entry = ops._product(Ball(x, 0, np.zeros(1)), matrix, bias, by_entry=True)
    assert agrees(by_entry[0], [gamma(terms) * size(x) * size(w[:, j]) + slack + U * ends[j] for j in range(columns)])
    for n in (4, 15):
        entry = max(part.error() for part in matrix.sliced()) + 0.75 * (not bias.limbs(n)[1])
        assert bias.limbs(n)[1] == (not rational and n == 15)  # numbers below 10^−10 have bits beyond 4 limbs
        ball = Ball(limbs.split(x, n)[0], n, np.zeros(1))
        slack = math.sqrt(rows * columns) * 0.51 * 2.0**-336 * rational * size(x)
        assert agrees(ops._product(ball, matrix, bias)[1], math.sqrt(columns) * entry * limbs.ulp(n) + slack)
        assert agrees(ops._product(ball, matrix, bias, by_entry=True)[1], entry * limbs.ulp(n) + slack)


def test_sums_of_balls_and_biases_of_heads() -> None:
    ops, random = CertifiedArithmetic(), np.random.default_rng(0)
    x, y = random.standard_normal((2, 1, 5))
    for rx, ry in ((0.0, 0.0), (1e-3, 0.0), (0.0, 1e-3)):
        both = [Ball(z, 0, np.array([r])) for z, r in ((x, rx), (y, ry))]
        assert agrees(ops.add(*both).radius, rx + ry + U * size(x + y))
        both = [Ball(limbs.split(z, 4)[0], 4, np.array([r])) for z, r in ((x, rx), (y, ry))]
        assert agrees(ops.add(*both).radius, max(rx + ry, bounds.FLOOR))
    part, bias = random.standard_normal((2, 1, 3)), Vector(random.standard_normal((2, 3)), "b")
    mid, added = _with_bias(part, bias, 0)
    assert agrees(added, U * size(np.abs(mid) + 2 * np.abs(bias.floats)[:, None]))
    assert agrees(_with_bias(limbs.split(part, 4)[0], Vector(numbers(fractions(bias.floats) / 3), "b"), 4)[1],
                  0.75 * limbs.ulp(4) * math.sqrt(6))  # fmt: skip


@pytest.mark.parametrize("inner", [0.0, 1e-9])
@pytest.mark.parametrize("outer", [0.0, 1e-9])
@pytest.mark.parametrize("n", [0, 4])
def test_what_the_radii_of_a_block_are_made_of(n: int, inner: float, outer: float) -> None:
    """Lemmas 15 to 17: every step has what came in, times a norm, and its own rounding; with errors of 0, that alone is left."""
    model = gpt2_shaped("trained", 6, blocks=1, activation="gelu")
    block, ops = model.weights.blocks[0], CertifiedArithmetic(schedule=(n,))
    near, gain = np.random.default_rng(n).standard_normal((3, 16)), ops.store.vector(block.ln1.w)
    gained = Gained(gain, np.full(3, inner), np.full(3, outer))
    x = Ball(limbs.split(near, n)[0] if n else near, n, gain.largest * gained.inner + gained.outer, gained)

    def steps(values: dict[str, Any]) -> dict[str, Any]:
        return {name.split(".")[-1]: value for name, value in values.items()}

    told = steps(ops.attention(x, block.attn, model.config, model.config.scale_at(0), "blocks.0.attn"))
    out = told["out"]
    matrix = ops.store.projections(block.attn.W_Q, block.attn.W_K, block.attn.W_V)
    rounding = ops._product(x, matrix, None)[1]
    moves = dict(zip("qkv", (each for _, each in ops._queries_keys_values(x, block.attn)), strict=True))
    for piece, letter in enumerate("qkv"):
        bias = ops.store.vector(getattr(block.attn, f"b_{letter.upper()}"))
        if n:
            added = 0.75 * limbs.ulp(n) * 4 * (not bias.limbs(n)[1])
        else:
            ends = np.abs(told[letter].mid) + 2 * np.abs(bias.floats)[:, None]
            added = U * np.sqrt((ends**2).sum(axis=(0, 2)))
        rest = matrix.frobenius * outer + rounding + added
        assert agrees(moves[letter].whole, matrix.norm(piece, gain) * inner + rest)
        assert agrees(moves[letter].heads, matrix.head_norms(piece, 4, gain)[:, None] * inner + rest)
        assert agrees(moves[letter].rest, np.broadcast_to(rest, (4, 3)))
        assert agrees(moves[letter].inner, inner)
        assert np.array_equal(told[letter].radius, moves[letter].heads)
    last = ops.store.output(block.attn.W_O)
    merged = ops._product(Ball(np.moveaxis(told["z"].mid, -3, -2).reshape(*([n] * (n > 0)), 3, 16), n, np.zeros(3)), last,
                          ops.store.vector(block.attn.b_O))[1]  # fmt: skip
    assert agrees(out.radius, last.norm() * told["z"].radius[0] + merged)
    seen = np.tril(np.ones((3, 3), bool))
    parts = [told[letter].mid for letter in "qkv"]
    if n:
        mixed = attention.attend_limbs(*parts, seen, limbs.split(np.array([0.5]), n + 1)[0][:, 0], 0.0)
    else:
        mixed = attention.attend_float(*parts, seen, 0.5)
    paths = Paths(*(matrix.grams(piece, 4, gain) for piece in (1, 0)))
    moved, _ = moving.reach(mixed, seen, 0.5, *(told[c].midpoint() for c in "qkv"), tuple(moves.values()), paths)
    assert agrees(told["z"].radius[0], moved + mixed.rounding)

    told = steps(ops.mlp(x, block.mlp, model.config, "blocks.0.mlp"))
    out = told["out"]
    first, second = ops.store.matrix(block.mlp.W_in), ops.store.matrix(block.mlp.W_out)
    pre = ops._product(x, first, ops.store.vector(block.mlp.b_in))[1]
    if n:
        post = activate(told["pre"].mid, "gelu")[1] * limbs.ulp(n) * math.sqrt(64)
    else:
        post = row_norms(activate_float(told["pre"].mid, "gelu")[1])
    last_rounding = ops._product(told["post"], second, ops.store.vector(block.mlp.b_out))[1]
    assert agrees(told["pre"].radius, first.norm(0, gain) * inner + first.frobenius * outer + pre)
    assert agrees(told["post"].radius, 1.13 * told["pre"].radius + post)
    both = first.norm(0, gain) * second.norm()
    through = min(1.13 * both, 0.5 * first.norm_through(second, gain) + 0.63 * both)
    beside = first.frobenius * outer + pre
    reads, writes = first.column_sizes(gain), second.row_sizes
    steep = steepness(told["pre"].midpoint(), np.outer(np.full(3, inner), reads) + beside[:, None], "gelu")
    weighed = np.array([lemma_28(d, reads, first.norm(0, gain), writes, second.norm()) for d in steep])
    through = np.minimum(through, weighed)
    assert agrees(out.radius, through * inner + second.norm() * (1.13 * beside + post) + last_rounding)


def lemma_28(d: Any, reads: Any, read: float, writes: Any, write: float) -> float:
    """The least of four bounds of ‖A D W‖, with the best filling of each knapsack."""

    def filled(weights: Any, caps: Any, budget: float) -> float:
        total = 0.0
        for w, c in sorted(zip(weights, caps, strict=True), reverse=True):
            taken = min(budget, c)
            total, budget = total + w * taken, budget - taken
        return total

    return min(
        write * math.sqrt(filled(d**2, reads**2, read**2)), read * math.sqrt(filled(d**2, writes**2, write**2)),
        math.sqrt(filled(d, reads**2, read**2) * filled(d, writes**2, write**2)), float(sum(d * reads * writes)),
    )  # fmt: skip


@pytest.mark.parametrize("inner", [0.0, 1e-9])
@pytest.mark.parametrize("outer", [0.0, 1e-9])
@pytest.mark.parametrize(("n", "kind"), [(0, "silu"), (4, "silu"), (4, "gelu"), (0, "identity")])
def test_what_the_radii_of_a_gated_mlp_are_made_of(n: int, kind: Any, inner: float, outer: float) -> None:
    """Lemma 28, line by line; with errors of 0, rounding alone is left."""
    random, dim, units, store = np.random.default_rng(n), 5, 7, Store()
    gate, up, last = (random.standard_normal(shape).astype(np.float32) for shape in ((dim, units), (dim, units), (units, dim)))
    both, second, gain = store.beside(gate, up), store.matrix(last), store.vector(np.linspace(1, 2, dim))
    near = random.standard_normal((2, dim))
    gained = Gained(gain, np.full(2, inner), np.full(2, outer))
    x = Ball(limbs.split(near, n)[0] if n else near, n, np.full(2, 1.0), gained)
    a, b, post, out = perceptron.gated(x, both, second, None, None, kind)
    beside = both.frobenius * outer + product(x, both, None)[1]
    assert agrees(a.radius, both.norm(0, gain) * inner + beside)
    assert agrees(b.radius, both.norm(1, gain) * inner + beside)
    value, entries = activate(a.mid, kind) if n else activate_float(a.mid, kind)
    entries = entries * limbs.ulp(n) if n else entries
    rounding = entries * np.abs(b.midpoint()) + (bounds.product(n, n, n) * limbs.ulp(n) if n else U * np.abs(post.mid))
    columns = both.column_sizes(gain)
    moved = inner * columns[None, :units] + beside[:, None]
    steep = steepness(a.midpoint(), moved, kind)
    first = steep * np.abs(b.midpoint())
    other = np.abs(limbs.to_float(value) if n else value) + entries + steep * moved
    most = np.sqrt(first**2 + other**2).max(axis=-1)
    inside = most * beside + np.array([size(row) for row in rounding])
    assert agrees(post.radius, both.norm(None, gain) * most * inner + inside)
    sides = (first, columns[:units], both.norm(0, gain)), (other, columns[units:], both.norm(1, gain))
    whole = np.sqrt(columns[:units] ** 2 + columns[units:] ** 2)
    through = [
        min(lemma_28(np.sqrt(first[t] ** 2 + other[t] ** 2), whole, both.norm(None, gain), second.row_sizes, second.norm()),
            sum(lemma_28(d[t], reads, read, second.row_sizes, second.norm()) for d, reads, read in sides))
        for t in range(2)
    ]  # fmt: skip
    assert agrees(out.radius, np.array(through) * inner + second.norm() * inside + product(post, second, None)[1])


def test_many_rows_take_the_bound_that_is_least_in_two_of_them() -> None:
    """Few rows take the least of all bounds, row by row; the middle row and the last one stand for many."""
    for count in (1, 32, 33, 200):
        first, second = np.full(count, 3.0), np.full(count, 4.0)
        second[: count // 4] = 1.0
        least = moving._least(count, lambda at, x=first: x[at], lambda at, x=second: x[at])  # type: ignore[misc]
        assert np.array_equal(least, np.minimum(first, second) if count <= 32 else first)


def test_of_many_weights_the_largest_are_sorted() -> None:
    """A knapsack is the same, whether all are sorted or those that fill it; also where the largest do not fill it."""
    random = np.random.default_rng(0)
    weights = random.uniform(0, 1, (5, 1000))
    for cap in (0.1, 2.0**-9, 2.0**-20):
        caps = cap * random.uniform(0.5, 1, 1000)
        whole = knapsack(weights, caps, np.ones(5), np.argsort(-weights, axis=-1))
        assert agrees(knapsack(weights, caps, np.ones(5)), whole)
    assert falling(weights).shape[-1] < 1000
