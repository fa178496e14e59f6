"""Numbers in limbs: x = Σ D_i · 2^(−21 i), each D_i an integer of at most 2^20 in magnitude, held in a float64.

The limbs are the first axis. The unit of the last place of n limbs, their `ulp`, is 2^(−21(n − 1)). What is called a lemma is
proved in docs/certified.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.numbers import Undecided

BITS = 21
FEWEST, MOST = 4, 25  # limbs of a pass: the ulp of 25 is 2^−504, above the floor of radii, and its square is a normal float
BASE, HALF = 2.0**BITS, 2.0 ** (BITS - 1)
TALLEST = 2.0**31  # of a first limb in a product entry by entry, the other one being at most 2^20
_INVERSE = 2.0**-BITS

Limbs = Any  # numpy.ndarray of float64, integers: [n, …]


class OutOfRangeError(Undecided):
    """A value too large for its first limb, or beyond what the lemmas speak of: the pass stops, and nothing is claimed."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, 0)

    def __reduce__(self) -> tuple[type[OutOfRangeError], tuple[str]]:
        return OutOfRangeError, (self.question,)


def check_range(name: str, value: Any) -> None:
    """A number that lemmas take as the float next to it, right to u of itself: 0, or neither too small for that nor too large."""
    if value and not bounds.LEAST <= abs(value) <= 1 / bounds.LEAST:
        raise OutOfRangeError(f"{name}: beyond what floats hold with all their digits")


def check_terms(*lengths: int) -> None:
    """Before bounds are summed over so many terms, of sums that are summed again over so many: no way may be too long (Lemma 0)."""
    if sum(lengths) + bounds.ASIDE >= bounds.ROUNDINGS:
        raise OutOfRangeError(f"bounds of sums of {' and '.join(f'{n:,}' for n in lengths)} terms: too many for their rounding")


def ulp(n: int) -> float:
    return 2.0 ** (-BITS * (n - 1))


def carry(parts: Limbs, n: int) -> Limbs:
    """Limbs of integers of at most 2^53 − 2^33, in place, as n balanced ones (Lemma 1). The first limb takes what is left over."""
    rest = np.empty_like(parts[0])
    for i in range(len(parts) - 1, 0, -1):
        np.multiply(parts[i], _INVERSE, out=rest)
        np.rint(rest, out=rest)
        parts[i - 1] += rest
        if i < n:
            rest *= BASE
            parts[i] -= rest
    return parts[:n]


def check_first(x: Limbs, most: float = HALF) -> Limbs:
    """x, once its first limb is known to be small enough for an exact product."""
    if x.size and not max(x[0].max(), -x[0].min()) <= most:
        raise OutOfRangeError(f"a value beyond 2^{int(np.log2(most))}")
    return x


def multiply(x: Limbs, y: Limbs, n: int) -> Limbs:
    """x y entry by entry in n limbs (Lemma 2). |x_0| ≤ 2^31 and |y_0| ≤ 2^20; at most n + 1 limbs each."""
    check_first(x, TALLEST)
    check_first(y)
    used = [j for j in range(len(y)) if y[j].any()]
    parts = np.empty((n + 1, *np.broadcast_shapes(x.shape[1:], y.shape[1:])))
    for k in range(n + 1):
        convolved(x, y[: used[-1] + 1] if used else y[:0], k, parts[k], used[0] if used else 0)
    return carry(parts, n)


def convolved(x: Limbs, y: Limbs, k: int, out: Any, first: int = 0, start: int = 0) -> None:
    """Σ x_i y_j over i + j = k, into `out`; x begins with the limb `start`, and the limbs of y before `first` are 0.

    Sums of integers below 2^53 are exact in any order.
    """
    low, high = max(first, k - start - len(x) + 1), min(len(y) - 1, k - start)
    if low > high:
        out[...] = 0
    else:
        np.einsum("i...,i...->...", x[k - start - high : k - start - low + 1], y[low : high + 1][::-1], out=out)


def split(x: Any, n: int) -> tuple[Limbs, bool]:
    """Floats in n limbs, and whether they are exactly that; else the error is at most half an ulp (Lemma 5)."""
    limbs, rest = np.zeros((n, *x.shape)), np.asarray(x, dtype=np.float64)
    if rest.size and not np.abs(rest).max() <= HALF:
        raise OutOfRangeError(f"a value beyond 2^{BITS - 1}")
    for i in range(n):
        np.rint(rest, out=limbs[i])
        rest = (rest - limbs[i]) * BASE
        if not rest.any():
            return limbs, True
    return limbs, False


def to_float(x: Limbs) -> Any:
    """The floats near x: the relative error is at most 3u (Lemma 5)."""
    result = x[-1].copy()
    for limb in x[-2::-1]:
        result *= _INVERSE
        result += limb
    return result


def to_integers(x: Limbs) -> Any:
    """x in units of its ulp: an object array of integers."""
    total = np.zeros(x.shape[1:], dtype=object)
    for limb in x:
        total = total * (1 << BITS) + limb.astype(np.int64).astype(object)
    return total


def from_integers(values: Any, n: int) -> Limbs:
    """Integers, in units of the ulp of n limbs, as balanced limbs: exact."""
    limbs, left, half, mask = np.zeros((n, *values.shape)), values, 1 << (BITS - 1), (1 << BITS) - 1
    for i in range(n - 1, 0, -1):
        digit = ((left + half) & mask) - half
        left = (left - digit) >> BITS
        limbs[i] = digit.astype(np.float64)
    if values.size and max(abs(int(v)) for v in np.ravel(left)) > int(TALLEST):
        raise OutOfRangeError("a value beyond 2^31")
    limbs[0] = left.astype(np.float64)
    return limbs


def resized(x: Limbs, n: int) -> tuple[Limbs, float]:
    """The first n limbs, or zeros besides; with the largest error of an entry."""
    if n >= len(x):
        return np.concatenate([x, np.zeros((n - len(x), *x.shape[1:]))]) if n > len(x) else x, 0.0
    return x[:n], bounds.CARRY * ulp(n)
