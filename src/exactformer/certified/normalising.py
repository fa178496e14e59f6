"""LayerNorm and RMSNorm: midpoints by an exact Gram matrix and an integer square root (Lemmas 10, 21), or in floats (12, 22)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import Ball, Gained, outwards, row_norms
from exactformer.certified.limbs import (
    BASE,
    BITS,
    Limbs,
    OutOfRangeError,
    carry,
    check_first,
    check_range,
    from_integers,
    multiply,
    ulp,
)
from exactformer.certified.weights import Vector

WIDEST = 8191  # entries of a row: 2^40 times that is below 2^53
_EXTRA = 42  # bits of the square root beyond the limbs


def layer_norm(x: Ball, gain: Vector, shift: Vector, epsilon: Fraction) -> Ball:
    """γ (x − μ)/√(var + ε) + β, row by row."""
    check_norm("LayerNorm", x.shape[-1], epsilon)
    if x.n:
        unit, centred, rounding = _unit(x.mid, epsilon)
        inner = reach(x.radius, centred * (1 - 2.0**-40), x.shape[-1], epsilon) + rounding * ulp(x.n)
        (w, w_exact), (b, b_exact) = gain.limbs(x.n), shift.limbs(x.n)
        mid = multiply(unit, w[:, None, :], x.n)
        mid += b[:, None, :]
        mid = carry(mid, x.n)
        outer = np.full(len(x), bounds.norm_gain(x.n, x.shape[-1], w_exact, b_exact) * ulp(x.n))
    else:
        unit, inner = _unit_float(x, epsilon)
        scaled = unit * gain.floats
        mid = scaled + shift.floats
        outer = bounds.UNIT * (4 * row_norms(scaled) + 2 * row_norms(mid) + 2 * row_norms(shift.floats))  # Lemma 12
    inner, outer = outwards(inner), outwards(outer)
    return Ball(mid, x.n, outwards(gain.largest * inner + outer), Gained(gain, inner, outer))


def check_norm(name: str, dim: int, epsilon: Fraction) -> None:
    if dim > WIDEST:
        raise OutOfRangeError(f"{_an(name)} of {dim} entries: at most {WIDEST} are summed exactly")
    check_range(f"ε of {_an(name)}", epsilon)


def _an(name: str) -> str:
    return f"an {name}" if name == "RMSNorm" else f"a {name}"


def rms_norm(x: Ball, gain: Vector, epsilon: Fraction) -> Ball:
    """γ x/√(‖x‖²/d + ε), row by row. A gain of 1 + w is a vector of its own: `Store.gain`."""
    mid, moved, rounding, outer = rms_parts(x, gain, epsilon)
    inner, outer = outwards(moved + rounding), outwards(outer)
    return Ball(mid, x.n, outwards(gain.largest * inner + outer), Gained(gain, inner, outer))


def rms_parts(x: Ball, gain: Vector, epsilon: Fraction) -> tuple[Any, Any, Any, Any]:
    """The midpoint, how far x/ρ moves with x (Lemma 20), its rounding, and that of the product with γ (Lemmas 21 and 22)."""
    dim = x.shape[-1]
    check_norm("RMSNorm", dim, epsilon)
    if x.n:
        unit, size = _scaled(x.mid, epsilon)
        moved = reach(x.radius, size * (1 - 2.0**-40), dim, epsilon)
        rounding = bounds.rms_scale(x.n, dim, size * (1 + 2.0**-40)) * ulp(x.n)
        w, exact = gain.limbs(x.n)
        mid = multiply(unit, w[:, None, :], x.n)
        outer = np.full(len(x), bounds.norm_gain(x.n, dim, exact, True) * ulp(x.n))
    else:
        size = row_norms(x.mid)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            unit = x.mid / np.sqrt(np.square(x.mid).mean(axis=-1, keepdims=True) + float(epsilon))
        moved = reach(x.radius, (size - 2 * bounds.TINY) * (1 - 2.0**-34), dim, epsilon)
        rounding = np.full(len(x), bounds.gamma(dim / 2 + 8) * math.sqrt(dim) * 1.01)
        mid = unit * gain.floats
        outer = 3 * bounds.UNIT * row_norms(mid)
    return mid, moved, rounding, outer


def reach(radius: Any, centred: Any, dim: int, epsilon: Fraction) -> Any:
    """Lemmas 11 and 20: how far z moves when x moves by `radius`, given at most ‖x − μ‖ or ‖x‖; infinite where σ or ρ may be 0."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        lowest = np.sqrt(np.square(np.maximum(centred - radius, 0)) / dim + float(epsilon)) * (1 - 2.0**-40)
        return np.where((lowest > 0) & (lowest < np.inf), radius / lowest, np.inf)


def _unit(x: Limbs, epsilon: Fraction) -> tuple[Limbs, Any, Any]:
    """(x − μ)/√(var + ε), the norm of x − μ right to 2^−45, and the L2 error of each row in ulps."""
    n, _, dim = x.shape
    check_first(x)
    bits = (dim - 1).bit_length()
    centred = x * float(dim)  # d·(x − μ), which is d·x − Σ x: integers
    centred -= x.sum(axis=-1, keepdims=True)
    centred *= 2.0**-bits
    parts = np.zeros((n + 1, *x.shape[1:]))
    whole = np.rint(centred)
    parts[:n] = whole
    centred -= whole
    centred *= BASE
    parts[1:] += centred
    c = check_first(carry(parts, n + 1))  # d·(x − μ)·2^−bits, exact
    rows = c.transpose(1, 0, 2)
    gram = np.matmul(rows, rows.transpose(0, 2, 1)).astype(np.int64)  # [T, n + 1, n + 1]: sums of at most 2^53, exact
    squares = _sum_of_squares(gram)  # of c, times 2^(42 n)
    size = np.empty(len(squares))
    roots = np.empty(len(squares), dtype=object)
    scale = 2 * BITS * n
    for t, square in enumerate(squares):
        # z = c R with R² = 4^bits / (d² (var + ε)) and var = 4^bits · ‖c‖² / d³
        variance = Fraction((square << (2 * bits)), dim**3 << scale) + epsilon
        if variance == 0:
            raise OutOfRangeError("a LayerNorm of variance 0 with ε = 0")
        roots[t] = _rounded_root(variance.denominator << (2 * bits), variance.numerator * dim**2, n)
        size[t] = _norm(square, scale) * (2.0**bits / dim)
    factor = from_integers(roots, n + 1)[:, :, None]
    return multiply(factor, c, n), size, bounds.norm_scale(n, dim, size * (1 + 2.0**-40))


def _scaled(x: Limbs, epsilon: Fraction) -> tuple[Limbs, Any]:
    """x/√(‖x‖²/d + ε), and ‖x‖ right to 2^−45."""
    n, _, dim = check_first(x).shape
    rows = x.transpose(1, 0, 2)
    squares = _sum_of_squares(np.matmul(rows, rows.transpose(0, 2, 1)).astype(np.int64))  # times 2^(42 (n − 1))
    size, roots, scale = np.empty(len(squares)), np.empty(len(squares), dtype=object), 2 * BITS * (n - 1)
    for t, square in enumerate(squares):
        mean = Fraction(square, dim << scale) + epsilon
        if mean == 0:
            raise OutOfRangeError("an RMSNorm of 0 with ε = 0")
        roots[t] = _rounded_root(mean.denominator, mean.numerator, n)
        size[t] = _norm(square, scale)
    return multiply(from_integers(roots, n + 1)[:, :, None], x, n), size


def _rounded_root(top: int, bottom: int, n: int) -> int:
    """√(top/bottom) in units of the ulp of n + 1 limbs, right to 0.51 of it."""
    return (math.isqrt((top << (2 * (BITS * n + _EXTRA))) // bottom) + (1 << (_EXTRA - 1))) >> _EXTRA


def _norm(square: int, scale: int) -> float:
    """√(square · 2^−scale), right to 2^−50 of itself however small it is; the scale is even."""
    return math.ldexp(math.isqrt(square << 128), -(scale // 2 + 64))


def _sum_of_squares(gram: Any) -> list[int]:
    """Σ_ij G_ij · 2^(−21 (i + j)) for every row, in units of the last place."""
    size = gram.shape[1]
    diagonals = [sum(gram[:, i, k - i] for i in range(max(0, k - size + 1), min(size, k + 1))) for k in range(2 * size - 1)]
    totals = [0] * len(gram)
    for diagonal in diagonals:
        totals = [(total << BITS) + entry for total, entry in zip(totals, diagonal.tolist(), strict=True)]
    return totals


def _unit_float(x: Ball, epsilon: Fraction) -> tuple[Any, Any]:
    """The same in floats: (x − μ)/√(var + ε), and its L2 error with that of x."""
    dim = x.shape[-1]
    centred = x.mid - x.mid.mean(axis=-1, keepdims=True)
    size = row_norms(centred)
    moved = math.sqrt(dim) * bounds.gamma(dim + 1) * np.abs(x.mid).mean(axis=-1) + 2 * bounds.UNIT * size
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        unit = centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + float(epsilon))
    inner = reach((x.radius + moved) * bounds.UP, (size - 2 * bounds.TINY) * (1 - 2.0**-34), dim, epsilon)
    return unit, inner + bounds.gamma(dim / 2 + 8) * math.sqrt(dim) * 1.01
