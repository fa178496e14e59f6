"""On which side of a rational t does an entry lie? For what no ball decides: exactly t, or next to nothing beside it.

Asked where t is half-way between two floats. Each takes the column, t, and one row of what its formula takes, and gives the sign of
(entry − t), proved, or None.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from exactformer.numbers.enclosure import precision
from exactformer.oracle.taking import ball

Side = int | None
_BITS = 640


def fractions(x: Any) -> list[Fraction]:
    return [Fraction(v) for v in np.ravel(x).tolist()]


def sign(q: Any) -> int:
    return int(q > 0) - int(q < 0)


def of_softmax(column: int, t: Fraction, x: Any, seen: Any) -> Side:
    """Where all exponents are equal, a weight is 1 over their number. (Else it is transcendental, by Lindemann and Weierstrass.)"""
    values = x[0] if seen is True else x[0][seen[0]]
    if seen is not True and not seen[0][column]:
        return sign(-t)
    return sign(Fraction(1, len(values)) - t) if (values == values[0]).all() else None


def of_log_softmax(column: int, t: Fraction, x: Any, seen: Any) -> Side:
    """Below x − max, by something of any smallness, if there are others."""
    values = x[0] if seen is True else x[0][seen[0]]
    return -int(len(values) > 1) if Fraction(x[0, column]) - Fraction(values.max()) == t else None


def of_cross_entropy(column: int, t: Fraction, x: Any, seen: Any, targets: Any, divisor: Any) -> Side:
    """Above the mean of max − x, likewise."""
    values, seen = np.where(seen, x, -np.inf), np.broadcast_to(seen, x.shape)
    losses = [Fraction(row.max()) - Fraction(row[int(i)]) for row, i in zip(values, targets[:, 0], strict=True)]
    return int((seen.sum(axis=-1) > 1).any()) if sum(losses) == t * (divisor or 1) else None


def of_activation(column: int, t: Fraction, x: Any) -> Side:
    """x Φ(x) and its like are below x > 0, by something of any smallness."""
    value = Fraction(x.item())
    return (-1 if value else 0) if value == t >= 0 else None


def of_swiglu(column: int, t: Fraction, gate: Any, up: Any) -> Side:
    a, b = Fraction(gate.item()), Fraction(up.item())
    return -sign(b) if a > 0 and a * b == t else (0 if a * b == t == 0 else None)


def of_layer_norm(column: int, t: Fraction, x: Any, gain: Any, shift: Any, eps: Fraction) -> Side:
    row = fractions(x)
    mean = sum(row, Fraction(0)) / len(row)
    return _root([v - mean for v in row], column, t, gain, shift, eps)


def of_rms_norm(column: int, t: Fraction, x: Any, gain: Any, shift: Any, eps: Fraction) -> Side:
    return _root(fractions(x), column, t, gain, shift, eps)


def _root(row: list[Fraction], column: int, t: Fraction, gain: Any, shift: Any, eps: Fraction) -> Side:
    """The sign of g c − (t − b) √s: of numbers with one sign, the one with the larger square is further from 0."""
    left = row[column] * (1 if gain is None else Fraction(float(gain[..., column].item())))
    right = t - (0 if shift is None else Fraction(float(shift[..., column].item())))
    if sign(left) != sign(right):
        return sign(sign(left) - sign(right))
    return sign(left) * sign(left * left - right * right * (sum(v * v for v in row) / len(row) + eps))


def of_attention(column: int, t: Fraction, q: Any, k: Any, v: Any, seen: Any, added: Any, scale: Any, softcap: Any) -> Side:
    """The sign of Σ e^s (v − t): sets of keys with equal scores whose v − t add up to 0 are left out."""
    query, sums = fractions(q), defaultdict(Fraction)  # type: ignore[var-annotated]
    for key in np.flatnonzero(np.broadcast_to(seen, (1, k.shape[1]))[0]).tolist():
        dot = sum((a * b for a, b in zip(query, fractions(k[:, key]), strict=True)), Fraction(0))
        sums[dot, Fraction(0) if added is None else Fraction(float(added[0, key]))] += Fraction(float(v[key, column])) - t
    if isinstance(scale, Fraction) and softcap is None:
        scores = defaultdict(Fraction)  # type: ignore[var-annotated]
        for (dot, extra), total in sums.items():
            scores[scale * dot + extra, Fraction(0)] += total
        scale, sums = None, scores
    left = [(dot, extra, total) for (dot, extra), total in sums.items() if total]
    if not left:
        return 0
    with precision(_BITS):
        balls = [_score(dot, extra, scale, softcap) for dot, extra, _ in left]
        top = max(balls, key=lambda b: b.mid())
        total = sum(((b - top).exp() * ball(d) for b, (_, _, d) in zip(balls, left, strict=True)), arb(0))
        return 1 if total > 0 else -1 if total < 0 else None


def _score(dot: Fraction, extra: Fraction, scale: Any, softcap: Fraction | None) -> arb:
    score = ball(dot) if scale is None else ball(dot) * (ball(scale) if isinstance(scale, Fraction) else scale())
    return ball(extra) + (score if softcap is None else (score / ball(softcap)).tanh() * ball(softcap))
