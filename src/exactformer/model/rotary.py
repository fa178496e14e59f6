"""Rotary positions: pairs of dimensions of queries and keys are turned by angles that grow with the position."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from exactformer.numbers import Exact, Number, cos, exact, sin
from exactformer.numbers.arrays import Array

Pairs = Literal["halves", "neighbours"]


def frequencies(base: Exact, width: int) -> tuple[Number, ...]:
    """The angle by which one position turns each pair: base^(−2i/width).

    >>> frequencies(exact(10000), 4)
    (exact('1'), exact('1/100'))
    """
    return tuple(base ** Exact(exact(-2 * i).value / width) for i in range(width // 2))


@dataclass(frozen=True)
class Rotary:
    """Pair i of the first 2n dimensions of a head turns by position · frequency i. The dimensions after them stay.

    halves: dimension i goes with i + n; neighbours: 2i with 2i + 1.
    """

    frequencies: tuple[Number, ...]
    pairs: Pairs = "halves"
    _tables: list[tuple[Array, Array]] = field(default_factory=list, compare=False, repr=False)  # for as many positions as were met
    _kept: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)  # by position

    @property
    def width(self) -> int:
        return 2 * len(self.frequencies)

    @property
    def partners(self) -> list[int]:
        """The dimension that each one is turned with."""
        n = len(self.frequencies)
        return [j ^ 1 for j in range(2 * n)] if self.pairs == "neighbours" else [*range(n, 2 * n), *range(n)]

    def pair(self, j: int) -> int:
        """The number of the pair that a dimension belongs to."""
        return j // 2 if self.pairs == "neighbours" else j % len(self.frequencies)

    def is_first(self, j: int) -> bool:
        """Is it the first of its pair? That one is turned towards the second: x cos − y sin, and y cos + x sin."""
        return self.partners[j] > j

    def tables(self, positions: range) -> tuple[Array, Array]:
        """What a dimension and its partner are multiplied by, for each position: [T, width] twice.

        >>> Rotary((exact(1),)).tables(range(2))[1]
        array([[exact('0'), exact('0')],
               [<-sin(1)>, <sin(1)>]], dtype=object)
        """
        own, others = self.whole(positions.stop)
        return own[positions.start : positions.stop], others[positions.start : positions.stop]

    def whole(self, length: int) -> tuple[Array, Array]:
        """The same for all positions from 0 up to `length` at least: the same arrays until more are needed, then twice as long."""
        if not self._tables or len(self._tables[0][0]) < length:
            self._tables[:] = [self._made(max(16, 1 << (length - 1).bit_length()))]
        return self._tables[0]

    def keeps_lengths(self, positions: range) -> bool:
        """Is cos² + sin² = 1 proved for every pair at these positions? Asked once of each."""
        for position in positions:
            if position not in self._kept:
                own, others = self.tables(range(position, position + 1))
                self._kept[position] = all(c * c + s * s == 1 for c, s in zip(own[0], others[0], strict=True))
        return all(self._kept[position] for position in positions)

    def _made(self, length: int) -> tuple[Array, Array]:
        own, others = (np.empty((length, self.width), dtype=object) for _ in range(2))
        for position in range(length):
            angles = [position * frequency for frequency in self.frequencies]
            turned = [(cos(angle), sin(angle)) for angle in angles]
            for j in range(self.width):
                c, s = turned[self.pair(j)]
                own[position, j], others[position, j] = c, -s if self.is_first(j) else s
        for table in (own, others):
            table.setflags(write=False)
        return own, others

    def __getstate__(self) -> dict[str, Any]:
        """Tables are made again where they are needed."""
        return {"frequencies": self.frequencies, "pairs": self.pairs, "_tables": [], "_kept": {}}
