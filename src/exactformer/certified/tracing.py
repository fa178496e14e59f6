"""Lines of a pass that the proof does not need, with a radius each, for whoever looks at a trace (Lemmas 12 and 15)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.attention import Mixed, pattern_radius
from exactformer.certified.ball import FLOAT, Ball, norms, outwards
from exactformer.model.arithmetic import Note
from exactformer.model.config import Config
from exactformer.model.exact_arithmetic import MASKED, hidden


def norm_steps(x: Ball, epsilon: Fraction, name: str, reads: str, note: Note) -> None:
    """Mean, centred row, variance and deviation, in floats. Centring does not lengthen; √(var + ε) moves by at most ‖δ‖/√d."""
    near, dim = x.midpoint(), x.shape[-1]
    mean = near.mean(axis=-1, keepdims=True)
    moved = x.radius + bounds.TO_FLOAT * norms(near)
    summed = bounds.gamma(dim + 1) * np.abs(near).mean(axis=-1)
    of_mean = outwards(moved / math.sqrt(dim) + summed)
    centred = near - mean
    size = norms(centred)
    radius = outwards(moved + math.sqrt(dim) * summed + 2 * bounds.UNIT * size)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    of_variance = outwards((2 * size * radius + radius**2) / dim + bounds.gamma(dim + 4) * variance[:, 0])
    deviation = np.sqrt(variance + float(epsilon))
    of_deviation = outwards(radius / math.sqrt(dim) + bounds.gamma(dim + 8) * deviation[:, 0])
    note(f"{name}.mean", "mean", Ball(mean, FLOAT, of_mean[:, None]), reads)
    note(f"{name}.centered", "center", Ball(centred, FLOAT, radius), reads, f"{name}.mean")
    note(f"{name}.var", "variance", Ball(variance, FLOAT, of_variance[:, None]), f"{name}.centered")
    note(f"{name}.std", "deviation", Ball(deviation, FLOAT, of_deviation[:, None]), f"{name}.var")


def attention_steps(mixed: Mixed, n: int, factor: float, seen: Any, moved: Any, config: Config, name: str, note: Note) -> None:
    """Dot products, scores, the mask and the weights. `moved` is how far a score that is seen moves, for every position."""
    shape = mixed.pattern.shape
    spread = np.broadcast_to(outwards(moved[:, None] + mixed.score_error), shape)
    scores = Ball(mixed.scores, n, np.where(seen, spread, np.inf))
    if factor == 1:
        note(f"{name}.scores", "scores", scores, f"{name}.q", f"{name}.k")
    else:
        apart = moved[:, None] / abs(factor) * bounds.UP + mixed.dot_error if factor else np.full(shape[1:], np.inf)
        dots = Ball(mixed.dots, n, np.where(seen, np.broadcast_to(outwards(apart), shape), np.inf))
        note(f"{name}.qk", "scores", dots, f"{name}.q", f"{name}.k")
        note(f"{name}.scores", "scale", scores, f"{name}.qk")
    note(f"{name}.masked", "mask", hidden(scores.balls(), config, MASKED), f"{name}.scores")
    note(f"{name}.pattern", "softmax", Ball(mixed.pattern, FLOAT, pattern_radius(mixed, seen, moved)), f"{name}.masked")
