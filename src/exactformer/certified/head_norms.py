"""RMSNorm of every head of queries and keys, before they are turned (Lemma 29)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import Ball, outwards, row_norms
from exactformer.certified.directions import Normed
from exactformer.certified.moving import Moves
from exactformer.certified.normalising import rms_parts
from exactformer.certified.weights import Vector


def head_norm(x: Any, n: int, moves: Moves, gain: Vector, epsilon: Fraction) -> tuple[Any, Moves]:
    """γ x/√(‖x‖²/w + ε) of every head of every token, for x [(n,) heads, T, w]."""
    heads, tokens, width = x.shape[-3:]
    rows = Ball(x.reshape(*x.shape[:-3], heads * tokens, width), n, np.ascontiguousarray(moves.heads).reshape(-1))
    mid, *parts = rms_parts(rows, gain, epsilon)
    moved, rounding, outer = (part.reshape(heads, tokens) for part in parts)
    noise = gain.largest * rounding + outer  # [heads, T]
    steep = np.where(moves.heads > 0, moved / np.where(moves.heads > 0, moves.heads, 1), moved)  # at least 1/ρ on the way
    each = outwards(gain.largest * moved + noise)
    whole = np.minimum(row_norms(each.T), gain.largest * steep.max(axis=0) * moves.whole + row_norms(noise.T))
    after = Moves(outwards(whole), each)
    if moves.inner is None:
        return mid.reshape(x.shape), after
    near = rows.midpoint().reshape(heads, tokens, width)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inverse = 1 / np.sqrt(np.square(near).mean(axis=-1) + float(epsilon))
    curved = bounds.BENT * np.square(moved) / math.sqrt(width)
    rest = outwards(gain.largest * (steep * moves.rest + curved) + noise)
    normed = Normed(near * inverse[..., None], inverse, gain.floats)
    return mid.reshape(x.shape), replace(after, inner=moves.inner, rest=rest, normed=normed)
