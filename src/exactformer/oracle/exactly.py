"""Proofs that an entry is exactly a given rational: needed where that rational lies half-way between two floats, which no ball decides.

Each takes the column, the rational t, and one row of what its formula takes. False: not proved.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np


def fractions(x: Any) -> list[Fraction]:
    return [Fraction(v) for v in np.ravel(x).tolist()]


def of_softmax(column: int, t: Fraction, x: Any, seen: Any) -> bool:
    """Where all exponents are equal, a weight is 1 over their number. (Else it is transcendental, by Lindemann and Weierstrass.)"""
    values = x[0] if seen is True else x[0][seen[0]]
    return len(values) > 0 and bool((values == values[0]).all()) and (seen is True or bool(seen[0][column])) and t * len(values) == 1


def of_layer_norm(column: int, t: Fraction, x: Any, gain: Any, shift: Any, eps: Fraction) -> bool:
    row = fractions(x)
    mean = sum(row) / len(row)
    return _root([v - mean for v in row], column, t, gain, shift, eps)


def of_rms_norm(column: int, t: Fraction, x: Any, gain: Any, shift: Any, eps: Fraction) -> bool:
    return _root(fractions(x), column, t, gain, shift, eps)


def _root(row: list[Fraction], column: int, t: Fraction, gain: Any, shift: Any, eps: Fraction) -> bool:
    """g c/√s + b = t: both sides of g c = (t − b) √s have the same sign and the same square."""
    left = row[column] * (1 if gain is None else Fraction(float(gain[..., column].item())))
    right = t - (0 if shift is None else Fraction(float(shift[..., column].item())))
    return left * right >= 0 and left * left == right * right * (sum(v * v for v in row) / len(row) + eps)


def of_attention(column: int, t: Fraction, q: Any, k: Any, v: Any, seen: Any, added: Any, scale: Any, softcap: Any) -> bool:
    """Σ e^s (v − t) is 0 if the sum of v − t is 0 over every set of keys with equal scores."""
    query, sums = fractions(q), defaultdict(Fraction)  # type: ignore[var-annotated]
    for key in np.flatnonzero(np.broadcast_to(seen, (1, len(k)))[0]).tolist():
        dot = sum(a * b for a, b in zip(query, fractions(k[key]), strict=True))
        extra = Fraction(0) if added is None else Fraction(float(added[0, key]))
        same = scale * dot + extra if isinstance(scale, Fraction) and softcap is None else (dot, extra)
        sums[same] += Fraction(float(v[key, column])) - t
    return not any(sums.values())
