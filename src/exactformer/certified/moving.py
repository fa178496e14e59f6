"""How far attention moves when queries, keys and values do (Lemmas 15, 24 and 26)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.certified import bounds, directions
from exactformer.certified.attention import Mixed, shared
from exactformer.certified.ball import outwards, row_norms
from exactformer.certified.knapsack import knapsack
from exactformer.certified.limbs import check_terms

_FARTHEST = 20.0  # movement of a score beyond which nothing is said
_FEW = 32  # rows, for which every bound is computed
_PAYS = 1.2  # a quarter of a bit: what a costly bound has to save


@dataclass(frozen=True, eq=False)
class Moves:
    """How far the rows of some heads may be from their midpoints: [T] in L2 over all heads, and [heads, T] of single ones.

    Where the matrix before them is known, they are off by that times a vector of at most `inner`, [T], and by `rest` besides.
    """

    whole: Any
    heads: Any
    inner: Any = None
    rest: Any = None
    normed: directions.Normed | None = None

    @classmethod
    def alike(cls, whole: Any, heads: int) -> Moves:
        """Where nothing is known of single heads: each may take all."""
        return cls(whole, np.broadcast_to(whole, (heads, len(whole))))

    def wider(self, added: Any) -> Moves:
        """With errors of single heads, [heads, T], on top."""
        rest = None if self.rest is None else outwards(self.rest + added)
        return Moves(
            outwards(self.whole + row_norms(np.transpose(added))), outwards(self.heads + added), self.inner, rest, self.normed
        )

    def joined(self, new: Moves) -> Moves:
        """Of the rows of both, the new ones last."""

        def both(old: Any, new: Any) -> Any:
            return None if old is None or new is None else np.concatenate([old, new], axis=-1)

        normed = None if self.normed is None or new.normed is None else self.normed.joined(new.normed)
        return Moves(
            both(self.whole, new.whole), both(self.heads, new.heads), both(self.inner, new.inner), both(self.rest, new.rest), normed
        )

    @property
    def shares(self) -> Any:
        """[T, heads]: at most how much of the square of the whole each head may take. In shares, no square underflows."""
        parts = np.where(self.whole > 0, self.heads / np.where(self.whole > 0, self.whole, 1), 1.0)
        return np.square(np.minimum(parts, 1.0)).T


def check_length(others: int, width: int, heads: int = 1) -> None:
    """On the longest way to a bound below, sums over the positions are summed over them again, and over heads (Lemma 0)."""
    check_terms(others, others, width, heads)


@bounds.MAY_BE_INFINITE
def reach(
    mixed: Mixed, seen: Any, factor: float, q: Any, k: Any, v: Any, radii: tuple[Moves, Moves, Moves],
    paths: directions.Paths | None = None, cap: float | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Lemmas 15 and 24: how far z moves, [T] in L2 over all heads, and how far a score does, [T]. With `paths`, Lemma 26 besides.

    Scores have a soft `cap` or none (Lemma 30).

    q [heads, T, width], k and v [groups, S, width] are floats near the midpoints. Each key is that of heads / groups heads.
    """
    heads, groups = len(q), len(k)
    rq, rk, rv = radii
    others, width = k.shape[1:]
    check_length(others, width, heads)
    factor = abs(factor) * bounds.UP
    k, v, rk_heads, rv_heads = (shared(x, heads) for x in (k, v, rk.heads, rv.heads))  # rk_heads: [heads, S]
    u, gamma = bounds.UNIT, bounds.gamma(2 * width + 2 * others + 16)
    q_sizes = row_norms(q) * bounds.UP + rq.heads  # [heads, T]
    k_sizes = row_norms(k) * bounds.UP
    read = None  # [heads, T, S]: at least |q·δk|
    if paths is not None and rk.inner is not None:
        read = paths.keys(q, rk.normed) * rk.inner + row_norms(q)[:, :, None] * shared(rk.rest, heads)[:, None, :]
        read = (read + rq.heads[:, :, None] * rk_heads[:, None, :]) * bounds.UP
    straight = q_sizes[:, :, None] * rk_heads[:, None, :]
    straight = straight if read is None else np.minimum(read, straight)
    moves = factor * (straight + rq.heads[:, :, None] * k_sizes[:, None, :])
    moved = (np.where(seen, moves, 0.0).max(axis=(0, 2)) * bounds.UP) if others else np.zeros(q.shape[1])  # [T]
    if not moved.max(initial=0.0) <= _FARTHEST:
        return np.full(len(moved), np.inf), moved
    grow = bounds.grown(2 * moved)[:, None]  # [T, 1]
    p = np.where(seen, mixed.pattern, 0.0)
    upper, change = _path(mixed, seen, grow)
    a, b = v - v.mean(axis=1, keepdims=True), k - k.mean(axis=1, keepdims=True)
    an, bn = row_norms(a), row_norms(b)  # [heads, S]
    ra = rv_heads + 8 * u * float((row_norms(v) + an).max(initial=0.0))  # [heads, S]: a, b are so far from what they stand for
    rb = rk_heads + 8 * u * float((row_norms(k) + bn).max(initial=0.0))
    a_most, b_most = an.max(axis=1, initial=0.0)[:, None], bn.max(axis=1, initial=0.0)[:, None]  # [heads, 1]
    looked = seen.any(axis=1)
    ma, mb = np.matmul(p, a), np.matmul(p, b)  # [heads, T, width]
    ma_size, mb_size = row_norms(ma), row_norms(mb)
    mu_a = _over(change, an) + np.where(seen, ra[:, None, :], 0).max(axis=2, initial=0.0) + gamma * a_most  # [heads, T]
    mu_b = _over(change, bn) + np.where(seen, rb[:, None, :], 0).max(axis=2, initial=0.0) + gamma * b_most
    gram_a, gram_b = np.matmul(a, a.transpose(0, 2, 1)), np.matmul(b, b.transpose(0, 2, 1))
    am, bm = np.matmul(ma, a.transpose(0, 2, 1)), np.matmul(mb, b.transpose(0, 2, 1))  # [heads, T, S]
    squared = (np.matmul(p, gram_a * gram_b) * p).sum(axis=-1) - 2 * (p * am * bm).sum(axis=-1)
    squared += np.square(ma).sum(axis=-1) * np.square(mb).sum(axis=-1)
    covariance = np.sqrt(np.maximum(squared, 0) + bounds.COVARIANCE * gamma * np.square(a_most * b_most)) + bounds.TINY
    more = _over(change, an * bn) + _over(upper, an * rb + bn * ra + ra * rb)
    more += mu_a * mb_size + ma_size * mu_b + mu_a * mu_b + gamma * a_most * b_most
    apart = np.square(a).sum(axis=-1)[:, None, :] - 2 * am + np.square(ma).sum(axis=-1, keepdims=True)
    apart = _root(np.maximum(apart, 0) + bounds.APART * gamma * np.square(a_most)[:, :, None])  # [heads, T, S]
    apart += ra[:, None, :] + mu_a[:, :, None]
    variance = (upper * np.square(apart)).sum(axis=-1)  # [heads, T]
    if cap is not None:
        dots = np.abs(np.matmul(q, k.transpose(0, 2, 1))) + bounds.gamma(width + 8) * q_sizes[:, :, None] * k_sizes[:, None, :]
        more = more + by_cap(upper, apart, factor * dots + moved[:, None], cap, k_sizes + rk_heads)
    ways = [lambda at: by_key(upper[:, at], apart[:, at], variance[:, at], q_sizes[:, at], rk, groups)]
    if read is not None:
        seen_read = np.broadcast_to(read, upper.shape)
        ways.append(lambda at: by_key_read(upper[:, at], apart[:, at], variance[:, at], seen_read[:, at]))
    key, query = _least(len(moved), *ways), by_query(covariance + more, rq)
    rest = by_value(upper, rv, groups) + factor * key
    if paths is not None and rq.inner is not None:
        slack = bounds.ACROSS * gamma + (0.0 if rq.normed is None else 3 * bounds.gamma(3 * width + 64))

        def directed(at: Any) -> Any:
            across = paths.queries(at, p, a, b, covariance, more, slack * a_most * b_most, rq.normed)
            off = across * rq.inner[at] + (covariance + more)[:, at] * rq.rest[:, at]
            return factor * np.minimum(query[at], row_norms(off.T))

        return outwards((rest + _where_it_pays(directed, factor * query, rest)) * looked), moved
    return outwards((rest + factor * query) * looked), moved


def _where_it_pays(bound: Callable[[Any], Any], plain: Any, rest: Any) -> Any:
    """[T]: a costly bound of rows, if in two of them it makes the sum with `rest` much smaller; otherwise the plain one."""
    every = np.arange(len(plain))
    some = every[[len(every) // 2, -1]] if len(every) > 1 else every
    pays = (rest + plain)[some] > _PAYS * (rest[some] + bound(some))
    return bound(every) if pays.any() else plain


def _least(count: int, *ways: Callable[[Any], Any]) -> Any:
    """[T]: the least of several bounds of rows; of many rows, by the one that is least in two of them."""
    if count <= _FEW:
        return functools.reduce(np.minimum, (way(slice(None)) for way in ways))
    some = np.array([count // 2, count - 1])
    return min(ways, key=lambda way: float(way(some).sum()))(slice(None))


def by_value(upper: Any, rv: Moves, groups: int) -> Any:
    """Lemma 24, Σ p δv over all heads: by the triangle inequality, or by convexity of the square."""

    def linear(at: Any) -> Any:
        return (_root(_shared_out(np.square(upper[:, at]), rv, groups)) * rv.whole).sum(axis=-1)

    def squares(at: Any) -> Any:
        return _root_of_sum(_shared_out(upper[:, at], rv, groups), rv.whole)

    return _least(upper.shape[1], linear, squares)


def by_key(upper: Any, apart: Any, variance: Any, q_sizes: Any, rk: Moves, groups: int) -> Any:
    """Lemma 24, Σ p (q·δk)(v − v̄) over all heads: by the triangle inequality, or by that of Cauchy and Schwarz."""
    longest = q_sizes.max(axis=0)  # [T]: taken out of the squares, lest they underflow
    parts = (q_sizes / np.where(longest > 0, longest, 1))[:, :, None]

    def linear(at: Any) -> Any:
        return (_root(_shared_out(np.square(upper[:, at] * apart[:, at] * parts[:, at]), rk, groups)) * rk.whole).sum(axis=-1)

    def squares(at: Any) -> Any:
        return _root_of_sum(_shared_out(upper[:, at] * (variance[:, at, None] * np.square(parts[:, at])), rk, groups), rk.whole)

    return longest * _least(upper.shape[1], linear, squares)


def by_key_read(upper: Any, apart: Any, variance: Any, read: Any) -> Any:
    """Lemma 26, the same head by head, with `read` for |q·δk|."""
    linear = (upper * apart * read).sum(axis=-1)  # [heads, T]
    most = read.max(axis=(0, 2), initial=0.0)[None, :, None]
    squares = (upper * np.square(read / np.where(most > 0, most, 1))).sum(axis=-1)
    return row_norms(np.minimum(linear, _root(squares) * _root(variance) * most[:, :, 0]).T)


def by_cap(upper: Any, apart: Any, scores: Any, cap: float, k_sizes: Any) -> Any:
    """Lemma 30: how much a covariance is off where slopes are not 1, but 1 − tanh²(s/c)."""
    bent = np.minimum(np.square(scores / (cap * (1 - 2.0**-40))), 1.0)
    return (upper * bent * apart * k_sizes[:, None, :]).sum(axis=-1) * bounds.UP


def by_query(covariance: Any, rq: Moves) -> Any:
    """Lemma 24, Cov(v, k) δq over all heads: queries are not shared."""
    return _root(knapsack(np.square(covariance).T, rq.shares, np.ones(len(rq.whole)))) * rq.whole


def _shared_out(weights: Any, moves: Moves, groups: int) -> Any:
    """[heads, T, S] → [T, S]: at least Σ_g (Σ_{h in g} weights) ‖δ_g‖² for keys or values, over the square of their whole move."""
    by_group = weights.reshape(groups, -1, *weights.shape[1:]).sum(axis=1)
    if groups == 1:
        return by_group[0]
    return knapsack(np.moveaxis(by_group, 0, -1), moves.shares, np.ones(weights.shape[1:]))


def _root(square: Any) -> Any:
    """What underflows in a square is less than 2^−1059 for 2^16 terms, and less than TINY after the root (Lemma 0)."""
    return np.sqrt(square) + bounds.TINY


def _root_of_sum(weights: Any, whole: Any) -> Any:
    """√(Σ_s weights_s whole_s²)"""
    largest = whole.max(initial=0.0)
    return _root((weights * np.square(whole / (largest or 1.0))).sum(axis=-1)) * largest


def _path(mixed: Mixed, seen: Any, grow: Any) -> tuple[Any, Any]:
    """All along the way from the midpoints to the truth, p(τ) is at most the first, and |p(τ) − pattern| the second."""
    relative, absolute = mixed.pattern_error
    p = np.where(seen, mixed.pattern, 0.0)
    base = np.where(seen, p * (1 + relative) + absolute, 0.0)
    return (1 + grow) * base * bounds.UP, (grow * base + np.where(seen, relative * p + absolute, 0.0)) * bounds.UP


def pattern_radius(mixed: Mixed, seen: Any, moved: Any) -> Any:
    """[heads, T, S]: of every weight, given how far its scores move; no weight is off by more than 1."""
    grow = bounds.grown(2 * np.minimum(moved, 50.0))[:, None]
    return np.where(moved[:, None] > 50.0, 1.0, np.minimum(_path(mixed, seen, grow)[1], 1.0)) * seen


def _over(weights: Any, values: Any) -> Any:
    """Σ_s weights[h, t, s] · values[h, s]"""
    return np.matmul(weights, values[:, :, None])[:, :, 0] * bounds.UP
