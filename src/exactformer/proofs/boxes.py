"""Sets of inputs that have the last token and the demanded answer in common: tokens from one to another at every other position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

_COUNTABLE = 1 << 62  # sizes below this are counted in 64 bits, others in Python's integers


@dataclass(frozen=True, eq=False)
class Root:
    """All inputs of a domain with one last token of which a rule demands one answer: `allowed` [free positions, tokens] are those
    of the other positions; with `needs`, the answer stands at one of these at least."""

    last: int
    answer: int
    allowed: Any
    needs: bool

    @property
    def size(self) -> int:
        """How many inputs these are.

        >>> Root(0, 2, np.array([[True, True, True]] * 2), True).size
        5
        """
        allowed = self.allowed.astype(object)
        every = int(np.prod(allowed.sum(axis=1)))
        return every - int(np.prod(allowed.sum(axis=1) - allowed[:, self.answer])) if self.needs else every

    @property
    def whole(self) -> Sets:
        free, tokens = self.allowed.shape
        low = np.zeros((1, free), dtype=np.int32)
        return Sets(low, low + (tokens - 1), np.array([self.needs]))


@dataclass(frozen=True, eq=False)
class Sets:
    """One a row: of the root's tokens those from `low` to `high`, [n, free positions]; `needs` [n], as in the root."""

    low: Any
    high: Any
    needs: Any

    def __len__(self) -> int:
        return len(self.low)

    def of(self, rows: Any) -> Sets:
        return Sets(self.low[rows], self.high[rows], self.needs[rows])

    def joined(self, other: Sets) -> Sets:
        return Sets(*(np.concatenate([mine, theirs]) for mine, theirs in zip(self._parts, other._parts, strict=True)))

    @property
    def _parts(self) -> tuple[Any, Any, Any]:
        return self.low, self.high, self.needs

    def supply(self, root: Root) -> Any:
        """Where the answer may stand: [n, free positions]."""
        return root.allowed[:, root.answer] & (self.low <= root.answer) & (self.high >= root.answer)

    def cut(self, place: Any, at: Any) -> Sets:
        """Each in two, at one position: up to `at`, and from there on."""
        rows = np.arange(len(self))
        low, high = self.low.copy(), self.high.copy()
        high[rows, place], low[rows, place] = at, at + 1
        return Sets(self.low, high, self.needs).joined(Sets(low, self.high, self.needs))

    def peeled(self, place: Any, at: Any, above: Any) -> Sets:
        """Each in several: the inputs with a token beyond the cut at `place`; of the others those with one at the first position,
        at the second, and so on; and those that have none. Beyond is `above` it, or else up to it. Some are empty."""
        rows, free = np.arange(len(self)), self.low.shape[1]
        order = np.argsort(np.arange(free) != place[:, None], axis=1, kind="stable")  # [n, free]: `place` is the first
        low, high, parts = self.low.copy(), self.high.copy(), []
        for j in order.T:
            begin, end = low.copy(), high.copy()
            begin[rows, j] = np.where(above, np.maximum(low[rows, j], at + 1), low[rows, j])
            end[rows, j] = np.where(above, high[rows, j], np.minimum(high[rows, j], at))
            parts.append(Sets(begin, end, self.needs))
            high[rows, j] = np.where(above, np.minimum(high[rows, j], at), high[rows, j])
            low[rows, j] = np.where(above, low[rows, j], np.maximum(low[rows, j], at + 1))
        return reduce(Sets.joined, parts, Sets(low, high, self.needs))


class Counter:
    """Sizes of the sets of a root, exactly."""

    def __init__(self, root: Root) -> None:
        self.root, self.kind = root, np.int64 if np.prod(root.allowed.sum(axis=1).astype(object)) < _COUNTABLE else object
        ends = np.zeros((len(root.allowed), 1), dtype=np.int64)
        self._before = np.concatenate([ends, np.cumsum(root.allowed, axis=1)], axis=1)  # allowed tokens before each

    def tokens(self, sets: Sets) -> Any:
        """How many are left at each position: [n, free positions]."""
        places = np.arange(sets.low.shape[1])
        return self._before[places, sets.high + 1] - self._before[places, sets.low]

    def sizes(self, sets: Sets) -> Any:
        tokens = self.tokens(sets).astype(self.kind)
        without = np.where(sets.needs[:, None], tokens - sets.supply(self.root), 0)
        return np.prod(tokens, axis=1) - np.prod(without, axis=1) * sets.needs

    def settled(self, sets: Sets) -> Sets:
        """The same sets, without empty ones: where one position alone may hold the answer that is needed, it does."""
        tokens, supply = self.tokens(sets), sets.supply(self.root)
        needs = sets.needs & ~(supply & (tokens == 1)).any(axis=1)
        single = (needs & (supply.sum(axis=1) == 1))[:, None] & supply
        low, high = (np.where(single, self.root.answer, end).astype(np.int32) for end in (sets.low, sets.high))
        result = Sets(low, high, needs & ~single.any(axis=1))
        return result.of(np.flatnonzero((tokens > 0).all(axis=1) & (supply.any(axis=1) | ~result.needs)))

    def every(self, sets: Sets) -> Iterator[list[int]]:
        """All inputs of the sets, the last token included.

        >>> root = Root(0, 2, np.array([[True, True, True]] * 2), True)
        >>> list(Counter(root).every(root.whole))
        [[0, 2, 0], [1, 2, 0], [2, 0, 0], [2, 1, 0], [2, 2, 0]]
        """
        tokens = np.arange(self.root.allowed.shape[1])
        for low, high, needs in zip(sets.low, sets.high, sets.needs, strict=True):
            inside = self.root.allowed & (tokens >= low[:, None]) & (tokens <= high[:, None])
            for free in product(*(np.flatnonzero(row).tolist() for row in inside)):
                if not needs or self.root.answer in free:
                    yield [*free, self.root.last]

    def inputs(self, sets: Sets) -> list[list[int]]:
        """The first input of each set that needs nothing, the last token included."""
        free, tokens = self.root.allowed.shape
        inside = self.root.allowed & (np.arange(tokens) >= sets.low[..., None]) & (np.arange(tokens) <= sets.high[..., None])
        return [[*row, self.root.last] for row in inside.argmax(axis=2).tolist()] if free else [[self.root.last]] * len(sets)


def _largest(answer: int, choices: Any, last: int, order: Callable[[Any, Any], Any]) -> Root | None:
    """The answer is the largest (by `order`) token: no other is larger, and it is there."""
    if not order(last, answer):
        return None
    return Root(last, answer, choices & order(np.arange(choices.shape[1]), answer), last != answer)


def _first(answer: int, choices: Any, last: int) -> Root | None:
    if not len(choices):
        return Root(last, answer, choices, False) if last == answer else None
    allowed = choices.copy()
    allowed[0] = choices[0] & (np.arange(choices.shape[1]) == answer)
    return Root(last, answer, allowed, False)


# By word, the inputs with a last token of which the rule demands an answer: None where there are none.
ROOTS: dict[str, Callable[[int, Any, int], Root | None]] = {
    "max": lambda answer, choices, last: _largest(answer, choices, last, np.less_equal),
    "min": lambda answer, choices, last: _largest(answer, choices, last, np.greater_equal),
    "first": _first,
    "last": lambda answer, choices, last: Root(last, answer, choices, False) if last == answer else None,
}


def roots(word: str, choices: Sequence[Sequence[int]], tokens: int) -> Iterator[Root]:
    """A domain, one set of tokens a position, cut by its last token and by what the rule demands.

    >>> [(root.last, root.answer, root.size) for root in roots("max", [(0, 1, 2)] * 2, 3)]
    [(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 1, 2), (1, 2, 1), (2, 2, 3)]
    """
    allowed = np.zeros((len(choices) - 1, tokens), dtype=bool)
    for place, some in enumerate(choices[:-1]):
        allowed[place, list(some)] = True
    for last in sorted(choices[-1]):
        for answer in range(tokens):
            root = ROOTS[word](answer, allowed, last)
            if root is not None and root.size:
                yield root
