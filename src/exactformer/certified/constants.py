"""Weights and constants as floats, and as integers of many bits: nearest to what they are, with proved errors (Lemma 19)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from exactformer.certified.limbs import BITS, MOST, OutOfRangeError, check_range, from_integers, ulp
from exactformer.model.errors import InputError
from exactformer.model.weights import as_float64
from exactformer.numbers import Exact, Named, Number, exact
from exactformer.numbers.enclosure import ball, precision

RATIONAL_BITS = 20 * BITS  # of the fraction of a weight of a matrix that is no float
VECTOR_BITS = (MOST + 1) * BITS  # of a constant, or of an entry of a vector: enough for a limb more than there are
_PIECE = 1 << 16  # weights that are dealt with at a time


def integers(numbers: Any, bits: int) -> tuple[Any, bool]:
    """Numbers times 2^bits, rounded, and whether they are exactly that."""
    result, all_exact = np.empty(numbers.size, dtype=object), True
    for i, number in enumerate(numbers.flat):
        if type(number) is Exact:
            scaled = number.fraction * (1 << bits)
            result[i] = round(scaled)
            all_exact = all_exact and scaled.denominator == 1
        elif type(number) is Named:
            all_exact = False
            result[i] = _nearest(ball(number, bits + 128), bits)
        else:
            raise InputError(f"a weight that is not a number: {number}")
    return result.reshape(numbers.shape), all_exact


def _nearest(value: arb, bits: int) -> int:
    with precision(bits + 256):
        scaled = value * arb(2) ** bits
        if not scaled.rad() < arb(2) ** -10:
            raise OutOfRangeError("weights too large: a closed form is not known to the last limb")
        return int((scaled.mid() + arb(1) / 2).floor().unique_fmpz())


def floats_of(weights: Any) -> Any:
    """The floats nearest to the weights: themselves, or with a relative error of u (Lemma 19)."""
    if weights.dtype != object:
        floats = as_float64(weights)
        if not np.isfinite(floats).all():
            raise InputError("a weight is infinite or not a number")
        return floats
    return np.array([_nearest_float(number) for number in weights.flat]).reshape(weights.shape)


def in_lines(matrix: Any) -> tuple[Any, bool]:
    """A matrix with its lines as they lie in memory, and whether these are its columns."""
    turned = matrix.strides[0] < matrix.strides[1] and not matrix.flags.c_contiguous
    return (matrix.T, True) if turned else (matrix, False)


def pieces(lines: Any) -> list[slice]:
    """Some lines at a time: what is made of them on the way stays in the cache of the processor."""
    step = max(1, _PIECE // max(1, lines.shape[1]))
    return [slice(start, min(start + step, len(lines))) for start in range(0, len(lines), step)]


def one_more(weights: Any) -> Any:
    """1 + w, exactly: in floats where each is one, else in fractions."""
    if weights.dtype != object:
        w = floats_of(weights)
        total = 1.0 + w
        above = total - 1.0
        if not ((1.0 - (total - above)) + (w - above)).any():  # what the sum lost, exactly
            return total
        weights = as_numbers(w)
    return weights + exact(1)


def _nearest_float(number: Any) -> float:
    if type(number) is not Exact and type(number) is not Named:
        raise InputError(f"a weight that is not a number: {number}")
    if type(number) is Exact and not number.fraction:
        return 0.0
    return near(number, "a weight")


def near(number: Number, name: str) -> float:
    """The float nearest to a number that is not 0, right to u of itself."""
    try:
        value = number.to_float()
    except OverflowError:
        raise OutOfRangeError(f"{name}: beyond the range of float64") from None
    if not value:
        raise OutOfRangeError(f"{name}: beyond what floats hold with all their digits")
    check_range(name, value)
    return value


def constant_limbs(number: Number, n: int) -> tuple[Any, float]:
    """A constant in n limbs, and its error."""
    values, exact = integers(np.array([number], dtype=object), VECTOR_BITS)
    drop = VECTOR_BITS - BITS * (n - 1)
    kept = (values + (1 << (drop - 1))) >> drop
    error = 0.0 if exact and not ((kept << drop) - values).any() else 0.75 * ulp(n)
    return from_integers(kept, n)[:, 0], error


def as_numbers(floats: Any) -> Any:
    """Floats as the rationals that they are."""
    return np.array([exact(Fraction(x)) for x in floats.ravel().tolist()], dtype=object).reshape(floats.shape)
