"""The largest logit: proved to lead every other one, or not said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from exactformer.certified import bounds
from exactformer.certified.ball import Ball
from exactformer.certified.limbs import BITS
from exactformer.model.arithmetic import Choice
from exactformer.numbers.enclosure import precision


def choose_row(logits: Ball, row: int) -> Choice:
    """The argmax of one row."""
    if not finite(logits, row):
        return Choice(None, proved=False, why="undecided: the radius of a logit is infinite")
    winner = int(np.argmax(logits.midpoint()[row]))
    others = rivals(logits, row, winner)
    if others:
        return Choice(None, proved=False, why=f"undecided: {len(others)} more logits may be as large as the largest")
    if logits.shape[-1] == 1:
        return Choice(winner, True)
    runner_up, (low, high) = margin_of(logits, row, winner)
    with precision(BITS * (logits.n + 4) + 64):
        margin = arb(fmpq(low.numerator, low.denominator)).union(arb(fmpq(high.numerator, high.denominator)))
    return Choice(winner, True, (), runner_up, margin)


def finite(logits: Ball, row: int) -> bool:
    return bool(np.isfinite(logits.midpoint()[row]).all() and np.isfinite(logits.spread()[row]).all())


def rivals(logits: Ball, row: int, winner: int) -> list[int]:
    """All others that are not proved to be smaller than the winner (Lemma 18)."""
    low, _ = logits.enclosure((row, winner))
    return [i for i in _reaching(logits, row, low) if i != winner and not logits.enclosure((row, i))[1] < low]


def margin_of(logits: Ball, row: int, winner: int) -> tuple[int, tuple[Fraction, Fraction]]:
    """The runner-up, and an enclosure of the winner's lead over it whose lower end is below the lead over any other."""
    near = logits.midpoint()[row].copy()
    near[winner] = -np.inf
    runner_up = int(np.argmax(near))
    low, high = logits.enclosure((row, winner))
    other_low, _ = logits.enclosure((row, runner_up))
    highest = max(logits.enclosure((row, i))[1] for i in (*_reaching(logits, row, other_low), runner_up) if i != winner)
    return runner_up, (low - highest, high - other_low)


def _reaching(logits: Ball, row: int, least: Fraction) -> list[int]:
    """All entries whose upper end may reach `least`, and perhaps some that do not: floats, with room for their rounding."""
    near, radii = logits.midpoint()[row], logits.spread()[row]
    upper = near + (radii + 8 * bounds.UNIT * (np.abs(near) + abs(float(least)))) * bounds.UP
    return [int(i) for i in np.flatnonzero(~(upper < float(least)))]
