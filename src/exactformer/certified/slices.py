"""Matrices as exact integer slices: W = Σ W_j · 2^(−21 j − s). Products with limbs on BLAS are then exact (Lemma 3)."""

from __future__ import annotations

import functools
import math
from itertools import zip_longest
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.constants import floats_of, in_lines
from exactformer.certified.constants import pieces as pieces_of
from exactformer.certified.limbs import BASE, BITS, HALF, Limbs, OutOfRangeError, carry, check_first

COLUMN = 2.0**32.5  # most that the entries of a column may sum to over all slices: times 2^20 that stays below 2^53
FOLDED = 2.0**52.9  # most that sums may be where the first two limbs are one
_ROOM = 4  # bits that a column stays below COLUMN where it can, so that values up to 9 fold
_HIGHEST = 63  # of shifts
_MOST_SLICES = 20
_FEW = 64  # entries that are dealt with one by one
_SHARE = 1 / 200  # of all entries that may be: weights in bfloat16 then have one slice


class Sliced:
    """The slices on top of each other, [slices · K, N]; entries with bits below the last slice are kept apart."""

    def __init__(self, stacked: Any, shift: int, rows: int, apart: list[tuple[int, int, list[float]]]) -> None:
        self.stacked, self.shift, self.rows, self.apart = stacked, shift, rows, _Apart(apart)
        first, below = _column_sums(stacked[:rows]), _column_sums(stacked[rows:])
        columns = first + below
        for _, column, digits in apart:
            columns[column] += sum(map(abs, digits))
            below[column] += sum(map(abs, digits))
        if columns.size and not columns.max() <= COLUMN:  # integers below 2^53: these sums are exact
            raise AssertionError("a column of slices is too large for exact products")
        self.first, self.below = (float(sums.max()) if sums.size else 0.0 for sums in (first, below))

    @property
    def count(self) -> int:
        return len(self.stacked) // self.rows

    def error(self) -> float:
        """Of an entry of a product, in ulps."""
        return bounds.slices(self.below, self.shift)

    def times(self, x: Limbs) -> Limbs:
        """x W: [n, T, K] → [n, T, N]; every partial sum is an integer below 2^53, whatever the order."""
        n, length, rows = check_first(x).shape
        upper, lower = self._folded(x)  # what the first slice multiplies, and what the others do
        folded, skipped = n - len(upper), n - len(lower)
        sums = (upper.reshape(-1, rows) @ self.stacked[:rows]).reshape(len(upper), length, -1)  # of the levels from `folded` on
        for j in range(1, min(self.count, n)):
            here = self.stacked[j * rows : (j + 1) * rows]
            count = n - j - skipped
            if count:
                sums[-count:] += (lower[:count].reshape(-1, rows) @ here).reshape(count, length, -1)
            else:  # the only pair of this level is with the first limb, which is folded into the second
                sums[-1] += x[0] @ here
        for j, digits in enumerate(self.apart.digits[: max(0, n - self.count)], start=self.count):
            count = n - j - skipped
            sums[-max(count, 1) :, :, self.apart.columns] += self.apart.times(lower[:count] if count else x[:1], digits)
        places, bits = divmod(self.shift, BITS)
        places += folded
        parts, whole = np.zeros((len(sums) + places + 1, *sums.shape[1:])), np.empty(sums.shape[1:])
        for k in range(len(sums)):
            sums[k] *= 2.0**-bits
            np.rint(sums[k], out=whole)
            parts[k + places] += whole
            sums[k] -= whole
            sums[k] *= BASE
            parts[k + places + 1] += sums[k]
        return carry(parts, n)

    def _folded(self, x: Limbs) -> tuple[Limbs, Limbs]:
        """x for the first slice and for the others: with the first two limbs as one, where sums stay exact (Lemma 3).

        Most values are small, so that a limb less is multiplied.
        """
        x = np.ascontiguousarray(x)
        second = _largest(x[0]) * BASE + HALF
        if len(x) == 1 or not second * self.first + HALF * self.below <= FOLDED:
            return x, x
        y = x[1:].copy()
        y[0] += x[0] * BASE
        return y, y if HALF * self.first + second * self.below <= FOLDED else x


class _Apart:
    """Entries that are kept apart, by columns: their digits level by level, and products with them."""

    def __init__(self, entries: list[tuple[int, int, list[float]]]) -> None:
        self.entries = sorted(entries, key=lambda entry: entry[1])
        rows, columns, digits = zip(*self.entries, strict=True) if entries else ((), (), ())
        self.rows = np.array(rows, dtype=np.intp)
        self.columns, self.starts = np.unique(np.array(columns, dtype=np.intp), return_index=True)
        self.digits = [np.array(level) for level in zip_longest(*digits, fillvalue=0.0)]

    def times(self, x: Limbs, digits: Any) -> Limbs:
        """[…, K] → […, columns]"""
        return np.add.reduceat(x[..., self.rows] * digits, self.starts, axis=-1)


def _largest(x: Any) -> float:
    return float(max(x.max(), -x.min())) if x.size else 0.0


def from_floats(matrix: Any) -> Sliced:
    """The slices of a matrix of floats [K, N], of whatever length: exact."""
    with np.errstate(over="ignore"):
        largest = min(float(_column_sums(matrix).max()), 2.0**1000) if matrix.size else 0.0
    shift = 0 if largest == 0 else min(_HIGHEST, math.floor(32.6 - math.log2(largest)))
    shift = shift - _ROOM if shift > _ROOM else min(shift, 0)
    while True:
        if shift < 0:
            raise OutOfRangeError("weights too large: a column sums to more than 2^32")
        try:
            return _cut(matrix, shift)
        except AssertionError:
            shift -= 1


def _column_sums(matrix: Any) -> Any:
    """Σ |entries| of every column."""
    lines, turned = in_lines(matrix)
    found = [np.abs(floats_of(lines[piece])).sum(axis=int(turned)) for piece in pieces_of(lines)] or [np.zeros(len(lines.T))]
    return np.concatenate(found) if turned else np.sum(found, axis=0)


def _cut(matrix: Any, shift: int) -> Sliced:
    """The slices of floats times 2^shift, which is at most 2^63: scaling is exact."""
    lines, turned = in_lines(matrix)
    most = max(_FEW, lines.size * _SHARE) if lines.size > _FEW else 0
    pieces, rows = pieces_of(lines), len(matrix)

    def left(piece: slice, slices: list[Any]) -> Any:
        """What slices leave of some lines, made 2^21 times larger by each."""
        rest = np.multiply(floats_of(lines[piece]), 2.0**shift, dtype=np.float64)
        for made in slices:
            rest -= made[piece]
            rest *= BASE
        return rest

    expected = _expected(left(pieces[0], []), most / lines.size) if pieces else 1
    stacked = np.empty((lines.shape[0], expected * rows) if turned else (expected * rows, lines.shape[1]))
    slices: list[Any] = []
    while True:
        if len(slices) == _MOST_SLICES:
            raise OutOfRangeError("weights of too many magnitudes in one matrix")
        here = slice(len(slices) * rows, (len(slices) + 1) * rows)
        whole = np.empty(lines.shape) if len(slices) >= expected else stacked[:, here] if turned else stacked[here]
        count, places, values = 0, [], []
        for piece in pieces:
            rest = left(piece, slices)
            np.rint(rest, out=whole[piece])
            rest -= whole[piece]
            found = np.flatnonzero(rest != 0)
            count += len(found)
            if count <= most:  # else there is a slice more, which takes them all
                places.append(found + piece.start * lines.shape[1])
                values.append(rest.ravel()[found] * BASE)
        slices.append(whole)
        if count <= most:
            break
    if len(slices) != expected:
        stacked = np.concatenate(slices, axis=1 if turned else 0)
    line, other = np.divmod(np.concatenate(places), lines.shape[1]) if places else (np.zeros(0, np.intp),) * 2
    return Sliced(stacked.T if turned else stacked, shift, rows, _apart((other, line) if turned else (line, other), values))


def _expected(rest: Any, share: float) -> int:
    """How many slices a few lines take, so that these are put where they belong; nothing depends on it."""
    for count in range(1, _MOST_SLICES):
        _taken(rest)
        if np.count_nonzero(rest) <= rest.size * share:
            return count
    return _MOST_SLICES


def _apart(places: tuple[Any, Any], values: list[Any]) -> list[tuple[int, int, list[float]]]:
    """Entries of which something is left: their further digits."""
    rest, levels = np.concatenate(values) if values else np.zeros(0), []
    while rest.any():
        levels.append(_taken(rest))
    digits = np.stack(levels, axis=1).tolist() if levels else []
    return [(int(row), int(column), _trimmed(d)) for row, column, d in zip(*places, digits, strict=True)]


def _taken(rest: Any) -> Any:
    """The integers next to floats, which are taken off these; what is left is made 2^21 times larger. Both are exact."""
    whole = np.rint(rest)
    rest -= whole
    rest *= BASE
    return whole


def _trimmed(digits: list[float]) -> list[float]:
    """Without zeros at the end."""
    while digits and not digits[-1]:
        digits.pop()
    return digits


def from_integers(values: Any, exponent: int) -> Sliced:
    """The slices of a matrix of integers times 2^−exponent, an object array [K, N]: exact."""
    bits = max((int(v).bit_length() for v in values.flat), default=0)
    shift = min(exponent, 30 - (bits - exponent) - len(values).bit_length())  # so that the first slice sums to less than 2^31
    shift = shift - _ROOM if shift > _ROOM else min(shift, 0)
    if shift < 0:
        raise OutOfRangeError("weights too large: a column sums to more than 2^32")
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
    try:
        return Sliced(np.concatenate(slices), shift, len(values), [])
    except AssertionError:
        rows = f"{len(values):,} rows in {len(slices)} slices"
        raise OutOfRangeError(f"a matrix of {rows}, whose products cannot be summed exactly") from None


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
