"""Queries and keys of balls, turned by the angles of a model."""

from __future__ import annotations

import flint
from flint import arb

from exactformer.certified.ball import Ball
from exactformer.certified.moving import Moves
from exactformer.certified.rotating import Turns, rotate
from exactformer.model.rotary import Rotary
from exactformer.numbers import Exact, Named
from exactformer.numbers.enclosure import ball

Rows = tuple[Ball, Moves]  # queries, keys or values of all heads


class Turning:
    """The turns of rotary positions: the angle of a pair is its frequency, a real number, times the position."""

    def __init__(self, rotary: Rotary) -> None:
        self.pairs, self._frequencies = rotary.pairs, rotary.frequencies
        self.table = Turns(self._angle, len(rotary.frequencies))

    def _angle(self, position: int, pair: int) -> arb:
        frequency = self._frequencies[pair]
        assert isinstance(frequency, Exact | Named)
        return position * ball(frequency, flint.ctx.prec)

    def turned(self, x: Ball, moves: Moves, start: int) -> Rows:
        """Rows of the positions from `start` on (Lemma 23)."""
        mid, rounding = rotate(x.mid, x.n, self.table.at(x.n, start, start + x.shape[1]), self.pairs)
        moves = moves.wider(rounding)
        return Ball(mid, x.n, moves.heads), moves
