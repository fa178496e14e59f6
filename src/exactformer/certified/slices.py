"""Matrices as exact integer slices: W = Σ W_j · 2^(−21 j − s). Products with limbs on BLAS are then exact (Lemma 3)."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.limbs import BASE, BITS, Limbs, carry, check_first

COLUMN = 2.0**32.5  # most that the entries of a column may sum to over all slices: times 2^20 that stays below 2^53
_HIGHEST = 63  # of shifts
_MOST_SLICES = 20
_FEW = 64  # entries that are dealt with one by one
_SHARE = 1 / 4000  # of all entries that may be


class Sliced:
    """The slices on top of each other, [slices · K, N]; entries with bits below the last slice are kept apart."""

    def __init__(self, stacked: Any, shift: int, rows: int, apart: list[tuple[int, int, list[float]]]) -> None:
        self.stacked, self.shift, self.rows, self.apart = stacked, shift, rows, apart
        columns = np.abs(stacked).sum(axis=0)
        below = np.abs(stacked[rows:]).sum(axis=0)
        for _, column, digits in apart:
            columns[column] += sum(map(abs, digits))
            below[column] += sum(map(abs, digits))
        if columns.size and not columns.max() <= COLUMN:  # integers below 2^53: these sums are exact
            raise AssertionError("a column of slices is too large for exact products")
        self.below = float(below.max()) if below.size else 0.0

    @property
    def count(self) -> int:
        return len(self.stacked) // self.rows

    def error(self) -> float:
        """Of an entry of a product, in ulps."""
        return bounds.slices(self.below, self.shift)

    def times(self, x: Limbs) -> Limbs:
        """x W: [n, T, K] → [n, T, N]; every partial sum is an integer below 2^53, whatever the order."""
        check_first(x)
        n, length, rows = x.shape
        flat = np.ascontiguousarray(x).reshape(n * length, rows)
        sums = (flat @ self.stacked[:rows]).reshape(n, length, -1)
        for j in range(1, min(self.count, n)):
            below = flat[: (n - j) * length] @ self.stacked[j * rows : (j + 1) * rows]
            sums[j:] += below.reshape(n - j, length, -1)
        for row, column, digits in self.apart:
            for j, digit in enumerate(digits, start=self.count):
                if j < n:
                    sums[j:, :, column] += x[: n - j, :, row] * digit
        places, bits = divmod(self.shift, BITS)
        parts, whole = np.zeros((n + places + 1, *sums.shape[1:])), np.empty(sums.shape[1:])
        for k in range(n):
            sums[k] *= 2.0**-bits
            np.rint(sums[k], out=whole)
            parts[k + places] += whole
            sums[k] -= whole
            sums[k] *= BASE
            parts[k + places + 1] += sums[k]
        return carry(parts, n)


def from_floats(matrix: Any) -> Sliced:
    """The slices of a matrix of floats [K, N]: exact."""
    w = np.asarray(matrix, dtype=np.float64)
    with np.errstate(over="ignore"):
        largest = min(float(np.abs(w).sum(axis=0).max()), 2.0**1000) if w.size else 0.0
    shift = 0 if largest == 0 else min(_HIGHEST, math.floor(32.6 - math.log2(largest)))
    while True:
        if shift < 0:
            raise ValueError("weights too large: a column sums to more than 2^32")
        slices, apart = _cut(np.ldexp(w, shift))
        try:
            return Sliced(np.concatenate(slices), shift, len(w), apart)
        except AssertionError:
            shift -= 1


def _cut(rest: Any) -> tuple[list[Any], list[tuple[int, int, list[float]]]]:
    slices = [np.rint(rest)]
    rest = (rest - slices[0]) * BASE  # both exact: the fraction of a float is a float
    while (left := np.count_nonzero(rest)) > max(_FEW, rest.size * _SHARE) or (left and rest.size <= _FEW):
        if len(slices) == _MOST_SLICES:
            raise ValueError("weights of too many magnitudes in one matrix")
        slices.append(np.rint(rest))
        rest = (rest - slices[-1]) * BASE
    apart = []
    for row, column in zip(*(index.tolist() for index in np.nonzero(rest)), strict=True):
        value, digits = Fraction(float(rest[row, column])), []
        while value:
            digit = round(value)
            value = (value - digit) * (1 << BITS)
            digits.append(float(digit))
        apart.append((row, column, digits))
    return slices, apart


def from_integers(values: Any, exponent: int) -> Sliced:
    """The slices of a matrix of integers times 2^−exponent, an object array [K, N]: exact."""
    bits = max((int(v).bit_length() for v in values.flat), default=0)
    shift = min(exponent, 30 - (bits - exponent) - len(values).bit_length())  # so that the first slice sums to less than 2^31
    if shift < 0:
        raise ValueError("weights too large: a column sums to more than 2^32")
    count = -(-(exponent - shift) // BITS) + 1
    left, slices = values * (1 << (BITS * (count - 1) + shift - exponent)), []
    half, mask = 1 << (BITS - 1), (1 << BITS) - 1
    for _ in range(count - 1):
        digit = ((left + half) & mask) - half
        left = (left - digit) >> BITS
        slices.append(digit.astype(np.float64))
    slices = [left.astype(np.float64), *reversed(slices)]
    while len(slices) > 1 and not slices[-1].any():
        slices.pop()
    return Sliced(np.concatenate(slices), shift, len(values), [])


def _operand(x: Any) -> Any:
    """As it goes into a product: here, a test puts another kernel in its place."""
    return x


@functools.cache
def check_blas() -> None:
    """Products of integers whose partial sums stay below 2^53 must come out exact; a Strassen-type or lossy kernel fails.

    The operands are a little larger than the proofs allow, and as often odd as even, so that sums beyond them would be rounded.
    The result is compared with integers modulo 2^64: all of a small product, random sums of a large one.
    """
    random = np.random.default_rng(0)
    for rows, inner, columns in ((9, 64, 33), (520, 1536, 772)):
        signs = [random.choice((-1.0, 1.0), shape) for shape in ((rows, inner), (inner, columns))]
        x = (2.0**20 - random.integers(0, 8, (rows, inner))) * signs[0]
        w = np.floor(2.0**32.98 / inner * random.uniform(0.99, 1, (inner, columns))) * signs[1]
        for left in (x, np.abs(x)):
            right = w if left is x else np.abs(w)
            computed = (_operand(left) @ right).astype(np.int64)
            probes = np.eye(columns, dtype=np.int64) if rows < 10 else random.choice((-1, 1), (columns, 12)).astype(np.int64)
            expected = left.astype(np.int64) @ (right.astype(np.int64) @ probes)
            if not np.array_equal(computed @ probes, expected):
                raise ArithmeticError("this BLAS does not multiply integers below 2^53 exactly: nothing can be certified with it")
