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


def attend(q: Rows, k: Rows, v: Rows, sight: Sight, factor: float, cap: Cap | None) -> tuple[Any, Any]:
    """z [sequences, heads, T, width], and how far each row may be off, [sequences, heads, T]; `factor` is right to 2u."""
    k, v = k.shared(q.mid.shape[1]), v.shared(q.mid.shape[1])
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
    z = _times(powers, v.mid)

    def most(sizes: Any) -> Any:
        return np.where(seen, sizes[:, :, None, :], 0.0).max(axis=-1) if rows > 1 else sizes.max(axis=-1, keepdims=True)

    largest = most(k.size), most(v.size), most(k.radius), most(v.radius)
    return z, _error(q, k, v, powers, z, largest, abs(factor) * (1 + 2.0**-40), more, count)


@bounds.MAY_BE_INFINITE
def _error(
    q: Rows, k: Rows, v: Rows, p: Any, z: Any, most: tuple[Any, Any, Any, Any], factor: float, more: float, count: Any
) -> Any:
    """Lemma 14 for the rounding of z, and Lemma 31 for how far it moves: [sequences, heads, T]. `most` are of what is seen."""
    others, width = k.mid.shape[2:]
    k_most, v_most, rk, rv = most
    rq = q.radius
    score = (bounds.gamma(width + 4) * factor * q.size * k_most + more + 81 * bounds.UNIT) * bounds.UP
    shares = _grown(2 * score) + 2 * bounds.FLOAT_EXP * (1 + 2.0**-40) + 3 * bounds.gamma(others + 8)
    shares = shares + 2 * others * bounds.FLOAT_EXP_LEAST
    moved = factor * ((q.size + rq) * rk + rq * k_most) * bounds.UP
    grown = (1 + _grown(2 * moved)) * (1 + 2 * shares)
    keys = np.minimum(np.sqrt(_mean_square(p, k)) + 2.0**-48 * k_most, k_most)
    slack = (bounds.AROUND * bounds.gamma(others + width + 8) + 2.0**-100 * others) * np.square(v_most)
    spread = np.sqrt(np.maximum(_mean_square(p, v) - np.square(z).sum(axis=-1) + slack, 0.0)) + bounds.TINY
    tilted = factor * (rq * (keys + rk) + (q.size + rq) * rk)
    return outwards((shares * v_most + rv + grown * tilted * (spread + rv) * bounds.UP) * (count > 0))


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
