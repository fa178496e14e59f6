"""Branch and bound over sets of inputs: what is not proved of a set is asked of its two halves, the largest sets first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactformer.proofs.bounding import Bounding, Bounds
from exactformer.proofs.boxes import Counter, Root, Sets

_AT_ONCE = 4096  # sets that are bounded together
_SOME = 10  # wrong inputs that are named


@dataclass
class Found:
    """How many inputs of a root are proved right and wrong, how many sets were looked at, and what is left."""

    right: int
    wrong: int
    looked: int
    alone: list[list[int]]  # inputs that floats do not decide
    misled: list[list[int]]  # some inputs that are wrong
    listed: bool  # are all inputs of wrong sets among them?
    open: Sets | None = None  # what the budget did not reach

    def mislead(self, counter: Counter, sets: Sets, listed: int) -> None:
        """More sets that are wrong: all of their inputs while no more are wrong than are listed, else one of each of the first."""
        self.listed &= self.wrong <= listed
        if self.listed:
            self.misled += counter.every(sets)
        elif len(self.misled) < _SOME:
            self.misled += _some(counter, sets)


def search(bounding: Bounding, root: Root, budget: int, listed: int = 0) -> Found:
    """All sets of a root, until each is decided or `budget` of them were looked at. Up to so many wrong inputs are `listed`."""
    counter, found, whole = Counter(root), Found(0, 0, 1, [], [], listed > 0), Counter(root).settled(root.whole)
    if bounding.at_root.right[0] or bounding.at_root.wrong[0]:
        found.right, found.wrong = (root.size, 0) if bounding.at_root.right[0] else (0, root.size)
        if found.wrong:
            found.mislead(counter, whole, listed)
        return found
    waiting = whole if root.size == 1 else _halves(bounding, counter, whole, bounding.at_root)
    sizes = counter.sizes(waiting)
    while len(waiting) and found.looked < budget:
        most = min(_AT_ONCE, budget - found.looked)
        chosen = np.arange(len(waiting))
        if len(waiting) > most:
            chosen = np.argpartition(-np.log(counter.tokens(waiting)).sum(axis=1), most - 1)[:most]  # sizes may be beyond floats
        rest = np.ones(len(waiting), dtype=bool)
        rest[chosen] = False
        now, now_sizes, waiting, sizes = waiting.of(chosen), sizes[chosen], waiting.of(rest), sizes[rest]
        found.looked += len(now)
        said = bounding(now)
        found.right += int(now_sizes[said.right].sum())
        found.wrong += int(now_sizes[said.wrong].sum())
        if said.wrong.any():
            found.mislead(counter, now.of(np.flatnonzero(said.wrong)), listed)
        undecided = ~(said.right | said.wrong)
        found.alone += counter.inputs(now.of(undecided & (now_sizes == 1)))
        again = np.flatnonzero(undecided & (now_sizes > 1))
        if len(again):
            halves = _halves(bounding, counter, now.of(again), said.of(again), found.wrong > found.right)
            waiting, sizes = waiting.joined(halves), np.concatenate([sizes, counter.sizes(halves)])
    found.open = waiting if len(waiting) else None
    return found


def _some(counter: Counter, sets: Sets) -> list[list[int]]:
    """An input of each of the first sets: where the answer is needed, it stands at the first position where it may."""
    some = sets.of(slice(0, _SOME))
    supply = some.supply(counter.root)
    first = (np.cumsum(supply, axis=1) == 1) & supply & some.needs[:, None]
    low, high = (np.where(first, counter.root.answer, end) for end in (some.low, some.high))
    return counter.inputs(Sets(low, high, some.needs))


def _halves(bounding: Bounding, counter: Counter, sets: Sets, said: Bounds, mostly_wrong: bool = False) -> Sets:
    """Parts of each set. Where one token that stands anywhere makes an answer wrong, all positions are cut at once."""
    place, at, above = bounding.cuts(sets, said)
    return counter.settled(sets.peeled(place, at, above) if mostly_wrong else sets.cut(place, at))
