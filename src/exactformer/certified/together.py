"""Attention of many sequences at once, in floats (Lemmas 14 and 31)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import outwards
from exactformer.certified.capping import Cap
from exactformer.certified.elementwise import exp_float
from exactformer.certified.limbs import check_terms
from exactformer.model.sight import Sight

_FARTHEST = 2.0**-12  # twice the movement of a score, beyond which nothing is said; e^y − 1 ≤ y(1 + y) for y ≤ 1


@dataclass(frozen=True, eq=False)
class Rows:
    """Queries, keys or values of many sequences, [sequences, heads, T, width], with bounds of every row, [sequences, heads, T]."""

    mid: Any
    size: Any  # at least the L2 norm of the midpoint
    radius: Any

    def __iter__(self) -> Iterator[Any]:
        return iter((self.mid, self.size, self.radius))

    def of(self, sequences: Any) -> Rows:
        return Rows(*(part[sequences] for part in self))

    def joined(self, new: Rows) -> Rows:
        return Rows(*(np.concatenate([old, more], axis=2) for old, more in zip(self, new, strict=True)))

    def shared(self, heads: int) -> Rows:
        """Keys or values for every query head: each is that of a group of heads, one after the other."""
        groups = self.mid.shape[1]
        return self if groups == heads else Rows(*(np.repeat(part, heads // groups, axis=1) for part in self))


@dataclass(frozen=True, eq=False)
class Shares:
    """What softmax makes of scores: weights [sequences, heads, T, S]; and bounds of how far they are off, [sequences, heads, T]."""

    weights: Any
    seen: Any  # [T, S]
    rounding: Any  # Σ|p̃ − p| for the exact softmax p of the midpoints is at most that (Lemma 14)
    moved: Any  # no score moves further on the way from the midpoints to the truth
    factor: float  # of the scores, at least
    key_sizes: Any  # of the keys that are seen, at least
    key_radii: Any


def softmax(q: Rows, k: Rows, sight: Sight, factor: float, cap: Cap | None) -> Shares:
    """Weights of every key that a query sees; `factor` is right to 2u."""
    k = k.shared(q.mid.shape[1])
    rows, (others, width) = q.mid.shape[2], k.mid.shape[2:]
    check_terms(others, others, width)
    seen = sight.seen(rows, others)
    all_seen, count = bool(seen.all()), seen.sum(axis=1)
    scores = _times_transposed(q.mid, k.mid)
    scores *= factor
    more = 0.0
    if cap is not None:
        scores, more = cap.floats(scores)
    if not all_seen:
        scores[..., ~seen] = -np.inf
    highest = scores.max(axis=-1, keepdims=True)
    scores -= highest if all_seen else np.where(np.isfinite(highest), highest, 0.0)
    powers = exp_float(scores)
    if not all_seen:
        powers[..., ~seen] = 0.0
    total = powers.sum(axis=-1, keepdims=True)
    if not all_seen:
        total[..., count == 0, :] = 1.0
    powers /= total
    factor, k_most, rk = abs(factor) * (1 + 2.0**-40), _most(k.size, seen), _most(k.radius, seen)
    return Shares(powers, seen, *_off(q, k_most, rk, factor, more, others, width), factor, k_most, rk)


@bounds.MAY_BE_INFINITE
def _off(q: Rows, k_most: Any, rk: Any, factor: float, more: float, others: int, width: int) -> tuple[Any, Any]:
    """How far weights are off by rounding, and scores by how queries and keys move."""
    score = (bounds.gamma(width + 4) * factor * q.size * k_most + more + 81 * bounds.UNIT) * bounds.UP
    rounding = _grown(2 * score) + 2 * bounds.FLOAT_EXP * (1 + 2.0**-40) + 3 * bounds.gamma(others + 8)
    moved = factor * ((q.size + q.radius) * rk + q.radius * k_most) * bounds.UP
    return rounding + 2 * others * bounds.FLOAT_EXP_LEAST, moved


@bounds.MAY_BE_INFINITE
def weight_radii(shares: Shares) -> Any:
    """Of every weight, [sequences, heads, T, S] (Lemma 37): a weight that is the only one is 1, and none is off by more than 1."""
    twice, grown = 2 * shares.rounding, _grown(2 * shares.moved)
    relative = (grown * (1 + twice) + twice + 4 * bounds.UNIT)[..., None]
    radius = outwards(relative * shares.weights + (1 + relative) * 8 * bounds.FLOAT_EXP_LEAST)
    return np.where(shares.seen & (shares.seen.sum(axis=1, keepdims=True) > 1), np.where(radius <= 1, radius, 1.0), 0.0)


def attend(q: Rows, k: Rows, v: Rows, sight: Sight, factor: float, cap: Cap | None) -> tuple[Any, Any]:
    """z [sequences, heads, T, width], and how far each row may be off, [sequences, heads, T]; `factor` is right to 2u."""
    k, v = k.shared(q.mid.shape[1]), v.shared(q.mid.shape[1])
    shares = softmax(q, k, sight, factor, cap)
    z = _times(shares.weights, v.mid)
    return z, _error(q, k, v, shares, z)


def _most(sizes: Any, seen: Any) -> Any:
    """The largest of what every query sees: [sequences, heads, T]."""
    return np.where(seen, sizes[:, :, None, :], 0.0).max(axis=-1) if len(seen) > 1 else sizes.max(axis=-1, keepdims=True)


@bounds.MAY_BE_INFINITE
def _error(q: Rows, k: Rows, v: Rows, shares: Shares, z: Any) -> Any:
    """Lemma 14 for the rounding of z, and Lemma 31 for how far it moves: [sequences, heads, T]."""
    others, width = k.mid.shape[2:]
    p, factor, k_most, rk = shares.weights, shares.factor, shares.key_sizes, shares.key_radii
    v_most, rv, rq = _most(v.size, shares.seen), _most(v.radius, shares.seen), q.radius
    grown = (1 + _grown(2 * shares.moved)) * (1 + 2 * shares.rounding)
    keys = np.minimum(np.sqrt(_mean_square(p, k)) + 2.0**-48 * k_most, k_most)
    slack = (bounds.AROUND * bounds.gamma(others + width + 8) + 2.0**-100 * others) * np.square(v_most)
    spread = np.sqrt(np.maximum(_mean_square(p, v) - np.square(z).sum(axis=-1) + slack, 0.0)) + bounds.TINY
    tilted = factor * (rq * (keys + rk) + (q.size + rq) * rk)
    moved = grown * tilted * (spread + rv) * bounds.UP
    return outwards((shares.rounding * v_most + rv + moved) * (shares.seen.sum(axis=1) > 0))


def _mean_square(p: Any, x: Rows) -> Any:
    """Σ p_s ‖x_s‖², [sequences, heads, T], not too small."""
    return _times(p, np.square(x.size)[..., None])[..., 0] * bounds.UP + bounds.TINY**2


def _grown(y: Any) -> Any:
    """At least e^y − 1 where y is small, else infinite."""
    return np.where(y <= _FARTHEST, y * (1 + y), np.inf) * bounds.UP


def _times_transposed(q: Any, k: Any) -> Any:
    """q kᵀ of every head of every sequence; single rows are many small sums, which are faster without BLAS."""
    if q.shape[2] > 1:
        return np.matmul(q, k.transpose(0, 1, 3, 2))
    return np.einsum("bhw,bhsw->bhs", q[:, :, 0], k)[:, :, None]


def _times(p: Any, v: Any) -> Any:
    return np.matmul(p, v) if p.shape[2] > 1 else np.einsum("bhs,bhsw->bhw", p[:, :, 0], v)[:, :, None]
