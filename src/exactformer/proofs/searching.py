"""Branch and bound over sets of inputs: what is not proved of a set is asked of its two halves, the largest sets first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.proofs.bounding import Bounding
from exactformer.proofs.boxes import Counter, Root, Sets

_AT_ONCE = 4096  # sets that are bounded together


@dataclass
class Found:
    """How many inputs of a root are proved right and wrong, how many sets were looked at, and what is left."""

    right: int
    wrong: int
    looked: int
    alone: list[list[int]]  # inputs that floats do not decide
    open: Sets | None = None  # what the budget did not reach


def search(bounding: Bounding, root: Root, budget: int) -> Found:
    """All sets of a root, until each is decided or `budget` of them were looked at."""
    counter, found = Counter(root), Found(0, 0, 1, [])
    if bounding.at_root.right[0] or bounding.at_root.wrong[0]:
        found.right, found.wrong = (root.size, 0) if bounding.at_root.right[0] else (0, root.size)
        return found
    whole = counter.settled(root.whole)
    waiting = whole if root.size == 1 else _halves(bounding, counter, whole, bounding.at_root)
    sizes = counter.sizes(waiting)
    while len(waiting) and found.looked < budget:
        most = min(_AT_ONCE, budget - found.looked)
        chosen = np.arange(len(waiting))
        if len(waiting) > most:
            chosen = np.argpartition(-sizes.astype(float), most - 1)[:most]
        rest = np.ones(len(waiting), dtype=bool)
        rest[chosen] = False
        now, now_sizes, waiting, sizes = waiting.of(chosen), sizes[chosen], waiting.of(rest), sizes[rest]
        found.looked += len(now)
        said = bounding(now)
        found.right += int(now_sizes[said.right].sum())
        found.wrong += int(now_sizes[said.wrong].sum())
        undecided = ~(said.right | said.wrong)
        found.alone += counter.inputs(now.of(undecided & (now_sizes == 1)))
        again = np.flatnonzero(undecided & (now_sizes > 1))
        if len(again):
            halves = _halves(bounding, counter, now.of(again), said.of(again))
            waiting, sizes = waiting.joined(halves), np.concatenate([sizes, counter.sizes(halves)])
    found.open = waiting if len(waiting) else None
    return found


def _halves(bounding: Bounding, counter: Counter, sets: Sets, said: Any) -> Sets:
    return counter.settled(sets.cut(*bounding.cuts(sets, said)))
