"""Matrix products without rounding: rows and columns in slices of so few bits that BLAS adds their products exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

ENOUGH = 112  # bits of a row, from its largest entry on, that are kept
_ETA = 2.0**-1020


def product(ah: Any, al: Any, bh: Any, bl: Any) -> tuple[list[Any], Any]:
    """[R, K] [K, C] of numbers high + low: matrices whose sum is the product, and a radius or None (Lemma D4)."""
    terms = ah.shape[-1]
    if not terms:
        return [np.zeros((ah.shape[0], bh.shape[1]))], None
    bits = (53 - math.ceil(math.log2(terms))) // 2
    count = -(-ENOUGH // bits)
    a, first, a_whole = _slices(ah, al, bits, count, -1)
    b, second, b_whole = _slices(bh, bl, bits, count, 0)
    pairs = sorted((i + j, i, j) for i in range(len(a)) for j in range(len(b)))
    parts = [a[i] @ b[j] for order, i, j in pairs if order < count]
    left_out = sum(2.0 ** (-bits * order) for order, _, _ in pairs if order >= count)
    left_out += (0.0 if a_whole else 2.0 ** (-bits * len(a))) + (0.0 if b_whole else 2.0 ** (-bits * len(b)))
    exponents = first + second  # [R, C]
    radius = None
    if left_out:
        radius = np.ldexp(1.25 * terms * left_out, exponents) + terms * _ETA
    deepest = exponents - bits * (len(a) + len(b))
    if (deepest < -1074).any():  # products of slices that underflow
        radius = (0.0 if radius is None else radius) + np.where(deepest < -1074, len(parts) * terms * _ETA, 0.0)
    return parts, radius


def _slices(high: Any, low: Any, bits: int, count: int, axis: int) -> tuple[list[Any], Any, bool]:
    """Matrices of multiples of 2^(e − bits), 2^(e − 2 bits), … that sum up to the given one; e along the axis; is nothing left?"""
    exponents = np.frexp(np.abs(high).max(axis=axis, keepdims=True))[1]  # of an infinite number: 0, and NaN are the result
    slices = []
    for i in range(count):
        shift = np.ldexp(1.5, exponents - bits * (i + 1) + 52)
        part = (high + shift) - shift
        slices.append(part)
        high = high - part
        if low is not None:
            s = high + low
            t = s - high
            high, low = s, (high - (s - t)) + (low - t)
        if not high.any():
            return slices, exponents, True
    return slices, exponents, False
