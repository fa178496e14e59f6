"""From logits to ranked order, kept tokens and renormalised probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from exactformer.decoding.row import Row
from exactformer.decoding.rows import row_of
from exactformer.decoding.selection import drawn, in_order, largest, nucleus
from exactformer.decoding.strategy import GREEDY, DecodingError, Strategy
from exactformer.decoding.uniform import Uniform
from exactformer.numbers.field import ONE


@dataclass(frozen=True)
class Distribution:
    """What a strategy makes of a row of logits. Tokens are called by `labels`; properties prove when they are read."""

    row: Row
    strategy: Strategy
    labels: tuple[Any, ...]

    @property
    def proved(self) -> bool:
        return self.row.proved

    @cached_property
    def ids(self) -> list[int]:
        """The indices that are kept, in the order of the vocabulary."""
        everything = range(self.row.size)
        if self.strategy.greedy:
            return largest(self.row, everything, 1)
        kept = list(everything) if self.strategy.top_k is None else largest(self.row, everything, self.strategy.top_k)
        return kept if self.strategy.top_p is None else nucleus(self.row, kept, self.strategy.top_p.fraction)

    def probability(self, id: int) -> Any:
        """Of one that is kept, after renormalising; of the greedy choice, what it has among all."""
        return self.row.probability(id, range(self.row.size) if self.strategy.greedy else self.ids)

    @property
    def order(self) -> tuple[Any, ...]:
        """All tokens, the largest logit first, equal ones in the order of the vocabulary."""
        return tuple(self.labels[i] for i in in_order(self.row, range(self.row.size)))

    @property
    def greedy(self) -> Any:
        """The token of the largest logit, of equal ones the first in the vocabulary."""
        return self.labels[largest(self.row, range(self.row.size), 1)[0]]

    @property
    def kept(self) -> tuple[Any, ...]:
        """The tokens that may be drawn, the largest logit first."""
        return tuple(self.labels[i] for i in in_order(self.row, self.ids))

    @property
    def probabilities(self) -> dict[Any, Any]:
        """Of the tokens that are kept."""
        return {self.labels[i]: self.probability(i) for i in self.ids}

    def draw(self, seed: int, place: int = 0) -> Any:
        """The token that the uniform number of this seed and place draws; a greedy choice needs none."""
        return self.labels[self.draw_id(seed, place)]

    def draw_id(self, seed: int, place: int) -> int:
        return drawn(self.row, self.ids, Uniform(seed, place))


def distribution(
    logits: Mapping[Any, Any] | Sequence[Any] | Any, temperature: Any = "1", top_k: int | None = None, top_p: Any = None,
    bits: int = 128,
) -> Distribution:  # fmt: skip
    """What temperature, top-k and top-p, in this order, make of logits: a table {token: logit}, or a row of them.

    Logits are exact or named numbers, or balls that were computed with `bits` bits, or a NumPy array of floats.

    >>> top_2 = distribution({"a": 3, "b": 1, "c": 2}, top_k=2)
    >>> top_2.order, top_2.kept, top_2.greedy
    (('a', 'c', 'b'), ('a', 'c'), 'a')
    >>> {token: str(p) for token, p in top_2.probabilities.items()}
    {'a': 'e/(1+e)', 'c': '1/(1+e)'}
    >>> print(distribution({"a": 3, "b": 1, "c": 2}).probabilities["a"].written)
    e^3/(e^3+e^1+e^2)
    >>> distribution([1, 1], top_p="1/2").kept, distribution([1, 1], top_p="0.51").kept
    ((0,), (0, 1))
    """
    return of_row(logits, Strategy(temperature, top_k, top_p), bits)


def of_row(logits: Any, strategy: Strategy, bits: int = 128, labels: tuple[Any, ...] | None = None) -> Distribution:
    """The same for a strategy. Without `labels`, tokens are called by the keys of a table, or by their indices."""
    if isinstance(logits, Mapping):
        labels, logits = tuple(logits), list(logits.values())
    if not len(logits):
        raise DecodingError("logits: there are none")
    row = row_of(logits, ONE if strategy.greedy else strategy.temperature, bits)
    return Distribution(row, strategy, tuple(range(row.size)) if labels is None else labels)


def ranked(logits: Mapping[Any, Any] | Sequence[Any] | Any, bits: int = 128) -> tuple[Any, ...]:
    """Tokens by their logits, the largest first; equal ones keep their order.

    >>> ranked({"a": 3, "b": 1, "c": 2})
    ('a', 'c', 'b')
    >>> from exactformer.numbers import exact, exp
    >>> ranked([exact("2.7"), exp(1), exact("2.7"), 3])
    (3, 1, 0, 2)
    """
    return of_row(logits, GREEDY, bits).order
