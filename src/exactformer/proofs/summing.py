"""How many inputs of a root another token may lead, and leads for certain: sums of terms, counted by what they come to (Lemma 36).

With one head, a token leads where a sum of one term a position is below 0. On a grid, inputs are counted by their sums, position
after position, as ways to pay an amount with coins are; no input is looked at by itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.proofs.bounding import FLOOR, TERM, Bounding
from exactformer.proofs.boxes import Counter, Root

_STEPS = 4096  # of the grid, from 0 down to the least sum
_FINEST = 2.0**40  # of them, no term has more: floats and integers hold all sums


def misled(bounding: Bounding, root: Root) -> tuple[int, int]:
    """Of the inputs of a root, how many are wrong: at least, and at most."""
    least, most = 0, 0
    for column in range(bounding.terms.shape[-1] - 1):
        low, high = _led(bounding, root, column)
        least, most = max(least, low), most + high
    return least, min(most, root.size)


def _led(bounding: Bounding, root: Root, column: int) -> tuple[int, int]:
    """How many inputs one token leads for certain; and how many it leads, or ties with the answer, at most."""
    terms, own = np.where(root.allowed, bounding.terms[0, :, :, column], np.inf), float(bounding.own[0, column])  # [free, tokens]
    weights, largest = np.where(root.allowed, bounding.terms[0, :, :, -1], 0), float(bounding.largest[0])
    heavy = (weights.max(axis=1).sum() + bounding.own[0, -1] + FLOOR) * bounds.UP
    room = float((TERM * bounds.UNIT * heavy * largest + FLOOR * (largest + 1)) * bounds.UP)
    lowest, highest = float(terms.min(axis=1).sum() + own), float(np.abs(terms[root.allowed]).max(initial=abs(own)))
    if not math.isfinite(room + lowest + highest):
        return 0, root.size
    step = 2.0 ** math.ceil(math.log2(max(-lowest / _STEPS, 2 * room / _STEPS, highest / _FINEST)))
    coins, paid, slack = np.floor(terms / step), math.floor(own / step), math.floor(room / step)
    ways = _ways(coins, root, slack - paid)
    # A sum is less than a step above its grid point for each position: so far below, the token leads for certain.
    certain = len(ways) - (2 * slack + len(terms) + 2)
    return int(ways[: max(0, certain)].sum()), int(ways.sum())


def _ways(coins: Any, root: Root, target: int) -> Any:
    """How many inputs have each sum up to the target, from the least on: the last entry is the target itself."""
    kind = Counter(root).kind
    least = coins.min(axis=1)
    room = target - int(least.sum())  # that all positions together may be above their least
    if room < 0:
        return np.zeros(1, dtype=kind)
    without, having = (np.zeros(room + 1, dtype=kind) for _ in range(2))  # the answer stands at no position so far; at some
    (without if root.needs else having)[0] = 1
    for row in coins - least[:, None]:
        amounts: dict[int, list[int]] = {}
        for token in np.flatnonzero(row <= room).tolist():
            amounts.setdefault(int(row[token]), []).append(token)
        before, without, having = (without, having), np.zeros_like(without), np.zeros_like(having)
        for amount, tokens in amounts.items():
            answers = int(root.needs and root.answer in tokens)
            _add(without, before[0], amount, len(tokens) - answers)
            _add(having, before[1], amount, len(tokens))
            _add(having, before[0], amount, answers)
    return having


def _add(total: Any, some: Any, amount: int, times: int) -> None:
    if times:
        total[amount:] += times * some[: len(some) - amount]
