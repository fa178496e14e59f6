"""Products of balls with matrices: midpoints with their rounding (Lemmas 3 and 4), and how far off they are besides (Lemma 16)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import FLOAT, Ball, Gained, row_norms
from exactformer.certified.limbs import carry, ulp
from exactformer.certified.weights import Matrix, Vector

BLOCK = 96  # terms that one product in floats sums: fewer would be slower, more would round more


def product(x: Ball, matrix: Matrix, bias: Vector | None, by_entry: bool = False, block: int = BLOCK) -> tuple[Any, Any]:
    """x W + b of the midpoint, and its rounding: L2 of each row, or of every entry (Lemmas 3 and 4)."""
    if x.n == FLOAT:
        mid, terms = in_floats(x.mid, matrix, block)
        sizes = row_norms(x.mid)
        if by_entry:
            rounding = bounds.gamma(terms) * sizes[:, None] * matrix.column_sizes(None)
        else:
            rounding = bounds.gamma(terms) * (np.abs(x.mid) @ matrix.row_sizes) * bounds.UP
        rounding = rounding + (sizes * matrix.dense_slack)[:, *([None] * by_entry)]
        if bias is not None:
            mid += bias.floats
            ends = np.abs(mid) + 2 * np.abs(bias.floats)
            rounding = rounding + bounds.UNIT * (ends if by_entry else row_norms(ends))
        return mid, rounding * bounds.UP
    mid, entry = _beside(((part.times(x.mid), part.error()) for part in matrix.sliced()), (x.n, len(x), matrix.outputs))
    if bias is not None:
        limbs, exact = bias.limbs(x.n)
        mid += limbs.reshape(x.n, 1, -1)
        mid = carry(mid, x.n)
        entry += 0.0 if exact else 0.75
    rounding = np.full(len(x), entry * ulp(x.n) * (1.0 if by_entry else math.sqrt(matrix.outputs)))
    if matrix.slack:
        rounding = rounding + row_norms(x.midpoint()) * bounds.UP * matrix.slack
    return mid, (rounding * bounds.UP)[:, *([None] * by_entry)]


def reach(x: Ball, matrix: Matrix, piece: int = 0) -> Any:
    """How far x W may be from what its midpoint gives: Lemma 16, with γ and W as one matrix where x comes from a norm."""
    if x.gained is None:
        return matrix.norm(piece) * x.radius
    return matrix.norm(piece, x.gained.gain) * x.gained.inner + matrix.frobenius * x.gained.outer


def gained_of(x: Ball) -> Gained:
    """What is known of the error of x, where it comes from a norm; else it is all in `inner`, without a gain."""
    return x.gained or Gained(None, x.radius, np.zeros(len(x)))


def _beside(parts: Iterator[tuple[Any, Any]], shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Products with some columns, with the next ones, …, as one; the bound is that of the worst."""
    whole, start, worst = None, 0, 0.0
    for found, bound in parts:
        if found.shape == shape:
            return found, bound
        whole = np.empty(shape) if whole is None else whole
        whole[..., start : start + found.shape[-1]] = found
        start, worst = start + found.shape[-1], max(worst, bound)
    return whole, worst


def in_floats(x: Any, matrix: Matrix, block: int = BLOCK) -> tuple[Any, int]:
    """x W in floats, with all columns of the matrix, and the number of terms in the bound of its rounding."""
    return _beside((in_blocks(x, part, block) for part in matrix.dense()), (len(x), matrix.outputs))


def in_blocks(x: Any, matrix: Any, block: int = BLOCK) -> tuple[Any, int]:
    """x W in floats, and the number of terms in the bound of its rounding: blocks are summed one after the other (Lemma 4)."""
    total = x[:, :block] @ matrix[:block]
    for start in range(block, len(matrix), block):
        total += x[:, start : start + block] @ matrix[start : start + block]
    return total, min(block, len(matrix)) + -(-len(matrix) // block)
