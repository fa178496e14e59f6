"""The largest logit: proved to lead every other one, or not said.

Logits are told apart by their enclosures, as fractions: two may be the same float, and still one of them be proved to lead. Floats
only sort out those that are far below, with room for their rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from exactformer.certified import bounds
from exactformer.certified.ball import Ball
from exactformer.certified.limbs import BITS
from exactformer.model.arithmetics.roles import Choice
from exactformer.numbers.enclosure import precision


@dataclass(frozen=True)
class Lead:
    """The first of the largest logits, others that are the same, and an enclosure of the lead over the runner-up."""

    winner: int
    ties: tuple[int, ...] = ()
    runner_up: int | None = None
    margin: tuple[Fraction, Fraction] | None = None


def choose_row(logits: Ball, row: int) -> Choice:
    """The argmax of one row."""
    lead = leading(logits, row)
    if isinstance(lead, str):
        return Choice(None, proved=False, why=lead)
    if lead.margin is None:
        return Choice(lead.winner, True)
    with precision(BITS * (logits.n + 4) + 64):
        low, high = (arb(fmpq(end.numerator, end.denominator)) for end in lead.margin)
        margin = low.union(high)
    return Choice(lead.winner, True, (), lead.runner_up, margin)


def leading(logits: Ball, row: int, same: Callable[[int, int], bool] = lambda i, j: False) -> Lead | str:
    """The argmax of one row (Lemma 18), or why it is not known. `same` says of two logits whether they are proved equal."""
    if not finite(logits, row):
        return "undecided: the radius of a logit is infinite"
    winner = _highest_low_end(logits, row)
    others = rivals(logits, row, winner)
    ties = [i for i in others if same(winner, i)]
    if len(ties) < len(others):
        return f"undecided: {len(others)} more logits may be as large as the largest"
    if logits.shape[-1] == 1:
        return Lead(winner)
    if ties:
        first, *rest = sorted([winner, *ties])
        return Lead(first, tuple(rest), rest[0], (Fraction(0), Fraction(0)))
    return Lead(winner, (), *_margin(logits, row, winner))


def finite(logits: Ball, row: int) -> bool:
    return bool(np.isfinite(logits.midpoint()[row]).all() and np.isfinite(logits.spread()[row]).all())


@bounds.MAY_BE_INFINITE
def largest(logits: Ball, row: int, count: int) -> list[int]:
    """The entries with the largest midpoints, in falling order; of equal ones the first come first."""
    near = logits.midpoint()[row]
    count = min(count, len(near))
    least = np.partition(near, -count)[-count]
    found = np.flatnonzero(~(near + _room(near) < least - _room(least)))
    mids = logits.exact_row(row, found)
    return [i for _, i in sorted(zip((-mid for mid in mids), found.tolist(), strict=True))][:count]


def apart(logits: Ball, row: int) -> Fraction:
    """The difference of the two largest midpoints."""
    first, second = logits.exact_row(row, np.array(largest(logits, row, 2)))
    return first - second


def _room(near: Any) -> Any:
    """More than the rounding of floats near midpoints (Lemma 5), and of two sums with them."""
    return 8 * bounds.UNIT * np.abs(near) * bounds.UP


@bounds.MAY_BE_INFINITE
def _highest_low_end(logits: Ball, row: int) -> int:
    """The entry whose lower end is the highest: if any is proved to lead, it is this one."""
    near, radii = logits.midpoint()[row], logits.spread()[row]
    room, low = (_room(near) + 8 * bounds.UNIT * radii) * bounds.UP, near - radii
    found = np.flatnonzero(~(low + room < np.max(low - room))).tolist()
    return max(found, key=lambda i: (logits.enclosure((row, i))[0], -i))


def rivals(logits: Ball, row: int, winner: int) -> list[int]:
    """All others that are not proved to be smaller than the winner."""
    low, _ = logits.enclosure((row, winner))
    return [i for i in _reaching(logits, row, low) if i != winner and not logits.enclosure((row, i))[1] < low]


def _margin(logits: Ball, row: int, winner: int) -> tuple[int, tuple[Fraction, Fraction]]:
    """The runner-up, and an enclosure of the winner's lead over it whose lower end is below the lead over any other."""
    runner_up = next(i for i in largest(logits, row, 2) if i != winner)
    low, high = logits.enclosure((row, winner))
    other_low, _ = logits.enclosure((row, runner_up))
    highest = max(logits.enclosure((row, i))[1] for i in (*_reaching(logits, row, other_low), runner_up) if i != winner)
    return runner_up, (low - highest, high - other_low)


@bounds.MAY_BE_INFINITE
def _reaching(logits: Ball, row: int, least: Fraction) -> list[int]:
    """All entries whose upper end may reach `least`, and perhaps some that do not: floats, with room for their rounding."""
    near, radii = logits.midpoint()[row], logits.spread()[row]
    end = float(max(least, -_FARTHEST) if least < 0 else min(least, _FARTHEST))
    upper = near + (radii + 8 * bounds.UNIT * (np.abs(near) + abs(end))) * bounds.UP
    return [int(i) for i in np.flatnonzero(~(upper < end))]


_FARTHEST = Fraction(float(np.finfo(np.float64).max))  # an end beyond it is as good as it: no midpoint reaches further


@bounds.MAY_BE_INFINITE
def leads(logits: Ball, right: Any) -> tuple[Any, Any]:
    """Two ends around the lead of the best of the entries `right` of each row, [n, m], over all others (Lemma 32).

    Rows of floats with one radius each; where an index is negative, there is one entry less.
    """
    rows, others = np.arange(len(logits))[:, None], logits.mid.copy()
    known = np.where(right < 0, right[:, :1], right)
    own = others[rows, known].max(axis=1)
    others[rows, known] = -np.inf
    lead = own - others.max(axis=1, initial=-np.inf)
    room = (2 * logits.radius[:, 0] + 4 * bounds.UNIT * np.abs(lead)) * bounds.UP
    return lead - room, lead + room
