"""Rotary positions: pairs of entries of every head, turned by angles that are real numbers (Lemma 23)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from flint import arb

from exactformer.certified import bounds
from exactformer.certified.ball import FLOAT, row_norms
from exactformer.certified.limbs import BITS, carry, check_first, convolved, from_integers, to_float, ulp
from exactformer.certified.tables import nearest_integer
from exactformer.numbers.enclosure import precision

Angle = Callable[[int, int], arb]  # of a position and a pair, in balls of the precision at which it is called
Table = tuple[Any, Any]  # cosines and sines: [n + 1, positions, pairs], or floats [positions, pairs]
Pairs = Literal["halves", "neighbours"]  # entry i turns with i + rotary/2, or 2i with 2i + 1
_SPARE = 96  # bits of the balls beyond those of the table: angles lose the bits of a position
_AT_ONCE = 64  # positions


class Turns:
    """Cosines and sines of the angles of some pairs at every position, made when first asked for.

    Those in fewer limbs are the first limbs of those in the most that were asked for (Lemma 23).
    """

    def __init__(self, angle: Angle, pairs: int) -> None:
        self.angle, self.pairs = angle, pairs
        self._floats: Table | None = None
        self._limbs: Table | None = None
        self._most = FLOAT  # limbs of the table that shorter ones are cut from

    def at(self, n: int, start: int, stop: int) -> Table:
        """Of positions from `start` up to `stop`: in n + 1 limbs, [n + 1, T, pairs], or in floats where n is 0."""
        if n == FLOAT:
            self._floats = self._upto(self._floats, FLOAT, stop)
            return self._floats[0][start:stop], self._floats[1][start:stop]
        if n > self._most:
            self._most, self._limbs = n, None
        self._limbs = self._upto(self._limbs, self._most, stop)
        return self._limbs[0][: n + 1, start:stop], self._limbs[1][: n + 1, start:stop]

    def _upto(self, held: Table | None, n: int, stop: int) -> Table:
        known = 0 if held is None else held[0].shape[-2]
        if held is not None and known >= stop:
            return held
        new = _table(self.angle, self.pairs, n, range(known, -(-stop // _AT_ONCE) * _AT_ONCE))
        return new if held is None else (_longer(held[0], new[0]), _longer(held[1], new[1]))


def _longer(held: Any, new: Any) -> Any:
    return np.concatenate([held, new], axis=-2)


def _table(angle: Angle, pairs: int, n: int, positions: range) -> tuple[Any, Any]:
    """Each number is right to 1/2 + 2^−10 of the ulp of n + 1 limbs, or a float right to 2u."""
    with precision(BITS * (n + 2) + _SPARE):
        sines_cosines = [[angle(p, i).sin_cos() for i in range(pairs)] for p in positions]
        sides = [[[both[side] for both in row] for row in sines_cosines] for side in (1, 0)]
        if n:
            integers = [np.array([[nearest_integer(x, BITS * n) for x in row] for row in side], dtype=object) for side in sides]
            return from_integers(integers[0], n + 1), from_integers(integers[1], n + 1)
        return np.array([[_float(x) for x in row] for row in sides[0]]), np.array([[_float(x) for x in row] for row in sides[1]])


def _float(ball: arb) -> float:
    """Right to 2u, of itself or, next to 0, of 2^−60."""
    if not ball.rad() < arb(2) ** -120:
        raise ArithmeticError("an angle of too little precision")
    return float(ball.mid())


def rotate(x: Any, n: int, turns: tuple[Any, Any], pairs: Pairs) -> tuple[Any, Any]:
    """[(n,) heads, T, head_dim] with the first entries of each head turned, and the rounding of every head, [heads, T] in L2.

    `turns` are cosines and sines of these positions: twice as many entries as they have pairs are turned, the others stay.
    """
    cosines, sines = turns
    half = cosines.shape[-1]
    if n == FLOAT:
        return rotate_floats(x, turns, pairs), bounds.FLOAT_TURN * row_norms(x[..., : 2 * half])
    first, second = _sides(half, pairs)
    a, b = check_first(x)[..., first], x[..., second]
    parts, other = np.empty((n + 1, *x.shape[1:-1], 2 * half)), np.empty_like(a[0])
    for k in range(n + 1):
        for side, one, two, sign in ((first, a, b, np.subtract), (second, b, a, np.add)):
            here = parts[k][..., side]
            convolved(one, cosines[:, None], k, here)
            convolved(two, sines[:, None], k, other)
            sign(here, other, out=here)
    result = x.copy()
    result[..., : 2 * half] = carry(parts, n)
    size = row_norms(to_float(x[..., : 2 * half]))
    return result, bounds.rotation(n, 2 * half, size) * ulp(n)


def rotate_floats(x: Any, turns: tuple[Any, Any], pairs: Pairs) -> Any:
    """The same in floats, for x that is broadcast against the turns: [..., T, head_dim]."""
    cosines, sines = turns
    half = cosines.shape[-1]
    first, second = _sides(half, pairs)
    a, b = x[..., first], x[..., second]
    result = np.empty((*np.broadcast_shapes(x.shape[:-1], cosines.shape[:-1]), x.shape[-1]))
    result[..., 2 * half :] = x[..., 2 * half :]
    result[..., first] = a * cosines - b * sines
    result[..., second] = b * cosines + a * sines
    return result


def _sides(half: int, pairs: Pairs) -> tuple[slice, slice]:
    """The entries that are turned with each other."""
    return (slice(half), slice(half, 2 * half)) if pairs == "halves" else (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
