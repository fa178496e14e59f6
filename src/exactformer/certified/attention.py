"""Softmax attention: midpoints (Lemmas 7, 13, 14). How far they move with q, k and v is in `moving`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import FLOAT, Ball, outwards, row_norms
from exactformer.certified.capping import Cap
from exactformer.certified.elementwise import exp, exp_float
from exactformer.certified.limbs import (
    BITS,
    Limbs,
    carry,
    check_first,
    from_integers,
    multiply,
    to_float,
    to_integers,
    ulp,
)

_TERMS = 8191  # products of two limbs that are summed before a carry: 2^40 times that is at most 2^53 − 2^40
_AT_ONCE = 1 << 22  # limbs of scores that are computed together: 32 MB
_FIRST = 2.0**52  # of a first limb between two blocks of such sums


@dataclass(frozen=True)
class Mixed:
    """What attention computes: z in limbs or floats, its rounding [T], and what it was made of."""

    z: Any  # limbs [n, heads, T, head_dim], or floats
    rounding: Any  # [T]: L2 over all heads
    pattern: Any  # floats [heads, T, S]
    pattern_error: tuple[float, float]  # |p − pattern| ≤ first · pattern + second, for the exact softmax p of the midpoints
    dots: Any  # limbs or floats, before the factor; None where nobody looks at them
    dot_error: Any
    scores: Any  # before the largest is taken off, after a cap; or None
    score_error: Any  # of their rounding: a number, or [heads, T, 1]


def shared(x: Any, heads: int, axis: int = 0) -> Any:
    """Keys or values for every query head: each is that of a group of heads, one after the other."""
    return x if x.shape[axis] == heads else np.repeat(x, heads // x.shape[axis], axis=axis)


def attend_limbs(
    q: Limbs, k: Limbs, v: Limbs, seen: Any, factor: Limbs, factor_error: float, keep: bool = True, cap: Cap | None = None
) -> Mixed:
    """q [n, heads, T, width]; k, v [n, heads or fewer, S, width]; seen [T, S]; the factor of the scores in n + 1 limbs.

    Many positions go a few heads at a time, as scores in limbs are what takes most memory.
    """
    k, v = (shared(x, q.shape[1], axis=1) for x in (k, v))
    heads, together = q.shape[1], max(1, _AT_ONCE // (len(q) * q.shape[2] * k.shape[2]))
    groups = [slice(start, start + together) for start in range(0, heads, together)]
    parts = [_attend_heads(q[:, g], k[:, g], v[:, g], seen, factor, factor_error, keep, cap) for g in groups]
    return parts[0] if len(parts) == 1 else _beside(parts, keep)


def _beside(parts: list[Mixed], keep: bool) -> Mixed:
    """All heads; the errors are those of the worst."""
    relative, absolute = (max(errors) for errors in zip(*(part.pattern_error for part in parts), strict=True))
    return Mixed(
        np.concatenate([part.z for part in parts], axis=1),
        outwards(row_norms(np.stack([part.rounding for part in parts], axis=-1))),
        np.concatenate([part.pattern for part in parts]),
        (relative, absolute),
        np.concatenate([part.dots for part in parts], axis=1) if keep else None,
        parts[0].dot_error,
        np.concatenate([part.scores for part in parts], axis=1) if keep else None,
        max(part.score_error for part in parts),
    )


def _attend_heads(
    q: Limbs, k: Limbs, v: Limbs, seen: Any, factor: Limbs, factor_error: float, keep: bool, cap: Cap | None
) -> Mixed:
    n, width = len(q), q.shape[-1]
    dots = _dots(q, k)
    scores = multiply(dots, factor[:, None, None, None], n)  # [n, heads, T, S]
    size = float(np.abs(to_float(factor[:, None])[0])) * bounds.UP + factor_error
    largest = float((np.abs(dots[0]) * seen).max(initial=0.0)) + 1  # of a dot product: the other limbs are less than 1
    score = (size * bounds.dots(width, n) + bounds.product(n, n + 1, n)) * ulp(n) + factor_error * largest  # Lemma 13
    if cap is not None:
        scores[:, :, seen], more = cap.limbs(scores[:, :, seen])
        score += more
    near = to_float(scores)
    highest = np.where(seen, near, -np.inf).max(axis=-1, keepdims=True)
    highest = np.rint(np.where(np.isfinite(highest), highest, 0.0))
    shifted = scores[:, :, seen]
    shifted[0] -= np.broadcast_to(highest, near.shape)[:, seen]
    powers = np.zeros_like(scores)
    powers[:, :, seen], power_error = exp(shifted)
    totals = carry(powers.sum(axis=-1), n)  # [n, heads, T]: exact
    total = to_float(totals)
    if not total[:, seen.any(axis=1)].min(initial=1.0) > 0.55:
        raise ArithmeticError("a softmax whose largest power is not near 1")
    inverse = _inverses(to_integers(totals), n)
    numerators = _sums(powers, v)
    z = multiply(numerators, inverse[:, :, :, None], n)
    sizes = np.where(seen, row_norms(to_float(v))[:, None, :], 0).max(axis=-1) * bounds.UP  # [heads, T]: of the values looked at
    lowest = np.maximum(total * (1 - 2.0**-40), 0.5)
    count = seen.sum(axis=1)
    shares = bounds.softmax(score, power_error * ulp(n), count, lowest)
    entry = bounds.dots(k.shape[2], n) / lowest + bounds.product(n, n + 1, n)
    by_head = (shares * sizes + (math.sqrt(width) * entry + 2.0**-20 * total * sizes) * ulp(n)) * (count > 0)
    pattern = to_float(powers) / np.where(total > 0, total, 1)[:, :, None]
    slack = 4 * bounds.gamma(8) + 2 * float(bounds.softmax(score, power_error * ulp(n), float(count.max(initial=0)), 0.5))
    return Mixed(
        z,
        outwards(row_norms(by_head.T)),
        pattern,
        (slack, 3 * power_error * ulp(n) * (1 + slack)),
        dots if keep else None,
        bounds.dots(width, n) * ulp(n),
        scores if keep else None,
        score,
    )


def _dots(q: Limbs, k: Limbs) -> Limbs:
    """q kᵀ (Lemma 7)."""
    return _sums(q, k.transpose(0, 1, 3, 2))


def _sums(powers: Limbs, v: Limbs) -> Limbs:
    """Σ_s powers_s v_s: pairs of limbs with i + j ≤ n + 1, in blocks of s that are summed exactly (Lemma 7)."""
    n, heads, length, others = check_first(powers).shape
    width = check_first(v).shape[3]
    columns = np.ascontiguousarray(v.transpose(1, 2, 0, 3)).reshape(heads, others, n * width)
    parts = np.zeros((n + 2, heads, length, width))
    block = _TERMS // n
    for start in range(0, others, block):
        here = slice(start, start + block)
        if start:
            check_first(carry(parts, n + 2), _FIRST)  # all limbs are kept: exact
        for i in range(n):
            kept = min(n, n + 2 - i)
            sums = np.matmul(np.ascontiguousarray(powers[i, :, :, here]), columns[:, here, : kept * width])
            parts[i : i + kept] += sums.reshape(heads, length, kept, width).transpose(2, 0, 1, 3)
    return carry(parts, n)


def _inverses(totals: Any, n: int) -> Limbs:
    """1/total in n + 1 limbs, right to one of their ulps; 0 for 0. `totals` are in units of the ulp of n limbs."""
    one = 1 << (BITS * (n - 1) + BITS * n)
    values = np.array([one // total if total > 0 else 0 for total in totals.ravel().tolist()], dtype=object)
    return from_integers(values, n + 1).reshape(n + 1, *totals.shape)


def attend_float(q: Any, k: Any, v: Any, seen: Any, factor: float, cap: Cap | None = None) -> Mixed:
    """The same in floats (Lemma 14); `factor` is right to 2u."""
    k, v = (shared(x, len(q)) for x in (k, v))
    width, others = q.shape[2], k.shape[1]
    dots = np.matmul(q, k.transpose(0, 2, 1))
    scores, more = dots * factor, 0.0
    if cap is not None:
        scores, more = cap.floats(np.where(seen, scores, 0.0))
    hidden = np.where(seen, scores, -np.inf)
    highest = hidden.max(axis=-1, keepdims=True)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    powers = np.where(seen, exp_float(np.where(seen, scores - highest, -np.inf)), 0.0)
    total = powers.sum(axis=-1, keepdims=True)
    z = np.matmul(powers, v) / np.where(total > 0, total, 1)
    key_sizes = np.where(seen, row_norms(k)[:, None, :], 0).max(axis=-1)
    dot = bounds.gamma(width + 4) * row_norms(q) * row_norms(k).max(axis=-1, keepdims=True, initial=0.0)  # [heads, T]
    score = (bounds.gamma(width + 4) * abs(factor) * row_norms(q) * key_sizes + more + 81 * bounds.UNIT) * bounds.UP  # [heads, T]
    count = seen.sum(axis=1)
    ends = 2 * count * bounds.FLOAT_EXP_LEAST
    shares = bounds.grown(2 * score) + 2 * bounds.FLOAT_EXP * (1 + 2.0**-40) + 2 * bounds.gamma(others + 4) + ends
    sizes = np.where(seen, row_norms(v)[:, None, :], 0).max(axis=-1) * bounds.UP
    pattern = powers / np.where(total > 0, total, 1)
    slack = 2 * float((shares * (count > 0)).max(initial=0.0)) + 8 * bounds.UNIT
    by_head = shares * sizes * (count > 0)
    return Mixed(
        z,
        outwards(row_norms(by_head.T)),
        pattern,
        (slack, 4 * bounds.FLOAT_EXP_LEAST * (1 + slack)),
        dots,
        dot[:, :, None],
        scores,
        score[:, :, None],
    )


def softmax(rows: Ball) -> Ball:
    """Weights in floats, of rows [T, N] with a radius for every entry (Lemma 14)."""
    near = rows.midpoint()
    with np.errstate(invalid="ignore"):
        powers = exp_float(near - near.max(axis=-1, keepdims=True))
    total = powers.sum(axis=-1, keepdims=True)
    pattern = powers / total
    moved = np.minimum((rows.spread() + bounds.TO_FLOAT * np.abs(near)).max(axis=-1, keepdims=True) + 81 * bounds.UNIT, 50.0)
    relative = bounds.grown(2 * moved) + 2 * bounds.FLOAT_EXP + bounds.gamma(near.shape[-1] + 8)
    ends = 4 * near.shape[-1] * bounds.FLOAT_EXP_LEAST
    return Ball(pattern, FLOAT, np.minimum(outwards((pattern + ends) * relative * (1 + relative) + ends), 1.0))
