"""The MLP on balls: a matrix, an activation, a matrix (Lemma 17); or with a gate (Lemma 28)."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import FLOAT, Ball, outwards, row_norms
from exactformer.certified.elementwise import activate, activate_float, steepness
from exactformer.certified.knapsack import falling, knapsack
from exactformer.certified.limbs import multiply, ulp
from exactformer.certified.products import BLOCK, gained_of, product, reach
from exactformer.certified.weights import Matrix, Vector
from exactformer.model.arithmetics.roles import Activation


def plain(
    x: Ball, first: Matrix, second: Matrix, first_bias: Vector | None, second_bias: Vector | None, kind: Activation,
    by_unit: bool = True, block: int = BLOCK,
) -> tuple[Ball, Ball, Ball]:  # fmt: skip
    """Before the activation, after it, and act(x W₁ + b₁) W₂ + b₂. Unless `by_unit`, all units are taken for as steep as any."""
    mid, pre_rounding = product(x, first, first_bias, block=block)
    pre = Ball(mid, x.n, outwards(reach(x, first) + pre_rounding))
    low, high = bounds.SLOPES[kind]
    steepest = max(abs(low), abs(high))
    post_mid, entries = _activated(mid, x.n, kind)
    post_rounding = row_norms(entries)
    post = Ball(post_mid, x.n, outwards(steepest * pre.radius + post_rounding))
    out_mid, rounding = product(post, second, second_bias, block=block)
    # Lemma 17: what comes in through the norm passes both matrices at once; rounding on the way passes the second
    gained = gained_of(x)
    across = first.norm(0, gained.gain) * second.norm()
    middle, half = (high + low) / 2, (high - low) / 2 * bounds.UP
    through: Any = min(steepest * across, middle * first.norm_through(second, gained.gain) + half * across)
    beside = first.frobenius * gained.outer + pre_rounding
    if by_unit:  # Lemma 28, without a gate
        columns = first.column_sizes(gained.gain)
        steep = steepness(pre.midpoint(), np.outer(gained.inner, columns) + beside[:, None], kind)
        whole = first.norm(0, gained.gain)
        through = np.minimum(through, weighed(steep, columns, whole, second.row_sizes, second.norm()))
    inner = steepest * beside + post_rounding
    return pre, post, Ball(out_mid, x.n, outwards(through * gained.inner + second.norm() * inner + rounding))


def gated(
    x: Ball, both: Matrix, second: Matrix, both_bias: Vector | None, second_bias: Vector | None, kind: Activation,
    by_unit: bool = True, block: int = BLOCK,
) -> tuple[Ball, Ball, Ball, Ball]:  # fmt: skip
    """The gate before its activation, what it multiplies, their product, and (act(x W_gate + b) ∘ (x W_in + b)) W_out + b.

    `both` is [W_gate W_in], and its bias likewise. Unless `by_unit`, all units are taken for as steep as any.
    """
    mid, pre_rounding = product(x, both, both_bias, block=block)
    gained, width = gained_of(x), both.outputs // 2
    beside = both.frobenius * gained.outer + pre_rounding  # [T]: of all entries of both, in L2
    a, b = (np.ascontiguousarray(part) for part in (mid[..., :width], mid[..., width:]))
    whole = both.norm(None, gained.gain)
    gate, up = (
        Ball(part, x.n, outwards(both.norm(piece, gained.gain) * gained.inner + beside)) for piece, part in enumerate((a, b))
    )
    value, entries = _activated(a, x.n, kind)
    near_a, near_b, near = gate.midpoint(), up.midpoint(), Ball(value, x.n, beside).midpoint()
    if x.n == FLOAT:
        post_mid = value * b
        rounding = entries * np.abs(b) + bounds.UNIT * np.abs(post_mid)
    else:
        post_mid = multiply(value, b, x.n)
        rounding = entries * (np.abs(near_b) * (1 + bounds.TO_FLOAT)) + bounds.product(x.n, x.n, x.n) * ulp(x.n)
    post_rounding = row_norms(rounding)
    columns = both.column_sizes(gained.gain)
    reads = columns[:width], columns[width:]
    moved = np.outer(gained.inner, reads[0]) + beside[:, None]  # [T, width]: of single entries before the activation
    steep = steepness(near_a, moved, kind)
    by_gate = steep * np.abs(near_b) * bounds.UP
    by_up = (np.abs(near) + entries + steep * moved) * bounds.UP
    most = np.sqrt((np.square(by_gate) + np.square(by_up)).max(axis=-1)) * bounds.UP + bounds.TINY  # [T]
    if by_unit:
        through = _through_both(by_gate, by_up, reads, both, second, gained.gain)
    else:
        through = whole * most * second.norm() * bounds.UP
    inner = most * beside + post_rounding
    size = whole * most * gained.inner
    post = Ball(post_mid, x.n, outwards(size + inner))
    out_mid, last = product(post, second, second_bias, block=block)
    return gate, up, post, Ball(out_mid, x.n, outwards(through * gained.inner + second.norm() * inner + last))


def _through_both(by_gate: Any, by_up: Any, reads: tuple[Any, Any], both: Matrix, second: Matrix, gain: Vector | None) -> Any:
    """[T]: at least ‖(A_gate D₁ + A_in D₂) W_out‖ for all |D₁| ≤ by_gate and |D₂| ≤ by_up (Lemma 28)."""
    writes, write = second.row_sizes, second.norm()
    together = np.sqrt(np.square(by_gate) + np.square(by_up)) + bounds.TINY
    once = weighed(together, row_norms(np.stack(reads, axis=-1)), both.norm(None, gain), writes, write)
    sides = [weighed(d, reads[i], both.norm(i, gain), writes, write) for i, d in enumerate((by_gate, by_up))]
    return np.minimum(once, sides[0] + sides[1])


def weighed(d: Any, reads: Any, read: float, writes: Any, write: float) -> Any:
    """[T]: at least ‖A D W‖ for all |D| ≤ d, [T, units]; `reads` are norms of columns of A, `writes` of rows of W (Lemma 28)."""
    most = d.max(axis=-1, initial=0.0)
    d = d / np.where(most > 0, most, 1)[:, None]
    read_shares, write_shares = (np.square(np.minimum(x / whole, 1.0)) for x, whole in ((reads, read), (writes, write)))
    one, order = np.ones(len(d)), falling(d)
    first, last = (np.sqrt(knapsack(np.square(d), shares, one, order)) for shares in (read_shares, write_shares))
    middle = np.sqrt(knapsack(d, read_shares, one, order)) * np.sqrt(knapsack(d, write_shares, one, order))
    summed = (d * (np.sqrt(read_shares) * np.sqrt(write_shares))).sum(axis=-1)
    least = np.minimum(np.minimum(first, last), np.minimum(middle, summed))
    return (least + bounds.TINY) * most * (read * write) * bounds.UP


def _activated(mid: Any, n: int, kind: Activation) -> tuple[Any, Any]:
    """An activation, and the error of every entry."""
    if n == FLOAT:
        return activate_float(mid, kind)
    value, error = activate(mid, kind)
    return value, np.broadcast_to(error * ulp(n), mid.shape[1:])
