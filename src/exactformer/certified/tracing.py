"""Lines of a pass that the proof does not need, with a radius each, for whoever looks at a trace (Lemmas 12 and 15)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.attention import Mixed
from exactformer.certified.ball import FLOAT, Ball, outwards, row_norms
from exactformer.certified.moving import pattern_radius
from exactformer.model.arithmetics.exact import MASKED, hidden
from exactformer.model.sight import Sight


def norm_steps(x: Ball, epsilon: Fraction, name: str) -> dict[str, Any]:
    """Mean, centred row, variance and deviation, in floats. Centring does not lengthen; √(var + ε) moves by at most ‖δ‖/√d."""
    near, dim = x.midpoint(), x.shape[-1]
    mean = near.mean(axis=-1, keepdims=True)
    moved = x.radius + bounds.TO_FLOAT * row_norms(near)
    summed = bounds.gamma(dim + 1) * np.abs(near).mean(axis=-1)
    of_mean = outwards(moved / math.sqrt(dim) + summed)
    centred = near - mean
    size = row_norms(centred)
    radius = outwards(moved + math.sqrt(dim) * summed + 2 * bounds.UNIT * size)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    of_variance = outwards((2 * size * radius + radius**2) / dim + bounds.gamma(dim + 4) * variance[:, 0])
    deviation = np.sqrt(variance + float(epsilon))
    of_deviation = outwards(radius / math.sqrt(dim) + bounds.gamma(dim + 8) * deviation[:, 0])
    return {
        f"{name}.mean": Ball(mean, FLOAT, of_mean[:, None]),
        f"{name}.centered": Ball(centred, FLOAT, radius),
        f"{name}.var": Ball(variance, FLOAT, of_variance[:, None]),
        f"{name}.std": Ball(deviation, FLOAT, of_deviation[:, None]),
    }


def rms_steps(x: Ball, epsilon: Fraction, name: str) -> dict[str, Any]:
    """The mean of squares and its root, in floats, of rows [T, d] or of those of every head: ‖x‖² moves by at most 2‖x‖r + r²,
    √(‖x‖²/d + ε) by r/√d."""
    near, dim = x.midpoint(), x.shape[-1]
    size, radius = row_norms(near), x.radius + bounds.TO_FLOAT * row_norms(near)
    squares = np.square(near).mean(axis=-1, keepdims=True)
    of_squares = outwards((2 * size * radius + radius**2) / dim + bounds.gamma(dim + 4) * squares[..., 0])
    root = np.sqrt(squares + float(epsilon))
    of_root = outwards(radius / math.sqrt(dim) + bounds.gamma(dim + 8) * root[..., 0])
    return {f"{name}.ms": Ball(squares, FLOAT, of_squares[..., None]), f"{name}.rms": Ball(root, FLOAT, of_root[..., None])}


def attention_steps(
    mixed: Mixed, n: int, factor: float, seen: Any, moved: Any, sight: Sight, capped: bool, name: str
) -> dict[str, Any]:
    """Dot products, scores, the mask and the weights. `moved` is how far a score that is seen moves, for every position.

    A cap does not lengthen. Scores before it are the products of floats near `factor` (right to 2u) and near the dot products.
    """
    shape = mixed.pattern.shape
    spread = np.broadcast_to(outwards(moved[:, None] + mixed.score_error), shape)
    scores = Ball(mixed.scores, n, np.where(seen, spread, np.inf))
    lines = {
        f"{name}.scores": scores,
        f"{name}.masked": hidden(scores.balls(), sight, MASKED),
        f"{name}.pattern": Ball(mixed.pattern, FLOAT, pattern_radius(mixed, seen, moved)),
    }
    if factor != 1:
        apart = moved[:, None] / abs(factor) * bounds.UP + mixed.dot_error if factor else np.full(shape[1:], np.inf)
        lines[f"{name}.qk"] = Ball(mixed.dots, n, np.where(seen, np.broadcast_to(outwards(apart), shape), np.inf))
    if capped:
        uncapped = Ball(mixed.dots, n, np.zeros(shape)).midpoint() * factor
        rounded = abs(factor) * mixed.dot_error * bounds.UP + (bounds.TO_FLOAT + 4 * bounds.UNIT) * np.abs(uncapped)
        lines[f"{name}.uncapped"] = Ball(uncapped, FLOAT, np.where(seen, outwards(moved[:, None] + rounded), np.inf))
    return lines
