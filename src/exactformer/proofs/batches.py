"""A domain in batches: inputs of one length as arrays of ids, with what is demanded of each. Each is made when it is asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from math import prod
from typing import Any

import numpy as np

from exactformer.certificates.many import at_once
from exactformer.hashing import Digest
from exactformer.model import Config
from exactformer.proofs.chunks import RunError
from exactformer.proofs.domain import Places, Product, Sequences, Tokens, places_of
from exactformer.proofs.rules import Demand, Rule, demand

_FEWEST = 1024  # inputs of a batch, where there are so many
_SHARES = 64  # batches that a small domain is cut into, so that several processes have work
_COUNTABLE = 1 << 62
_MOST_INPUTS, _MOST_BATCHES = 10**12, 10**8  # that are gone through: a run keeps a byte for every batch
Inputs = Sequences | Product | list[Tokens]


@dataclass(frozen=True, eq=False)
class Batch:
    """Inputs [n, T] as ids; and the answers any of which is right, ids of outputs [n, answers, most], −1 where there are fewer."""

    first: int  # the number of its first input in the domain
    ids: Any
    right: Any
    kinds: Any  # [n]: which of the `names`
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"inputs {self.first:,} to {self.first + len(self) - 1:,}"

    @cached_property
    def digest(self) -> str:
        """Of what it asks: a result that a journal kept belongs to it, or not."""
        arrays = (np.ascontiguousarray(a, dtype=np.int64) for a in (self.ids, self.right, self.kinds))
        parts = [part for a in arrays for part in (a.shape, a.reshape(-1).view(np.uint8).data)]
        return Digest("exactformer batch").add(self.first, self.names, *parts).hexdigest()[:16]


@dataclass(frozen=True)
class Box:
    """All sequences of a product, in order."""

    choices: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        return len(self.choices)

    @property
    def size(self) -> int:
        return prod(map(len, self.choices))

    def rows(self, start: int, stop: int) -> Any:
        """[stop − start, T]"""
        return self.numbered(np.arange(start, stop))

    def numbered(self, numbers: Any) -> Any:
        """The sequences of these numbers, [n, T]."""
        rest, columns = numbers, []
        for some in reversed(self.choices):
            rest, place = np.divmod(rest, len(some))
            columns.append(np.array(some)[place])
        return np.stack(columns[::-1], axis=1)


@dataclass(frozen=True, eq=False)
class Listed:
    """Inputs of one length, as they were given."""

    ids: Any

    @property
    def length(self) -> int:
        return int(self.ids.shape[1])

    @property
    def size(self) -> int:
        return len(self.ids)

    def rows(self, start: int, stop: int) -> Any:
        return self.ids[start:stop]


def parts_of(inputs: Inputs, vocabulary: Tokens) -> list[Box | Listed]:
    """The inputs of a domain, those of one length together."""
    index = {token: n for n, token in enumerate(vocabulary)}
    if isinstance(inputs, Sequences):
        some = tuple(index[token] for token in inputs.vocabulary)
        return [Box((some,) * length) for length in range(inputs.shortest, inputs.longest + 1)]
    if isinstance(inputs, Product):
        return [Box(tuple(tuple(index[token] for token in some) for some in inputs.choices))]
    return [Listed(np.array([[index[token] for token in tokens] for tokens in same])) for _, same in groupby(inputs, len)]


def check_number(inputs: int, config: Config, longest: int, instead: Callable[[], str] = str) -> None:
    """Refuse what nobody could go through, before anything is kept of its batches; `instead` says what else there is.

    >>> from exactformer.worksheets import load
    >>> check_number(10**13, load("capstone").model.config, 3)
    Traceback (most recent call last):
    exactformer.proofs.chunks.RunError: there are 10,000,000,000,000 inputs: too many to go through one by one
    """
    if inputs > _MOST_INPUTS or inputs > _MOST_BATCHES * at_once(config, longest):
        raise RunError(f"there are {inputs:,} inputs: too many to go through one by one{instead()}")


class Batches(Sequence[Batch]):
    """The batches of a domain. How it is cut depends on the model and the domain alone, and not on who computes it."""

    def __init__(
        self, inputs: Inputs, config: Config, longest: int, asked: Callable[[Any], tuple[Any, Any, Tokens]], most: int | None = None
    ) -> None:
        self.parts, self.asked = parts_of(inputs, config.vocabulary), asked
        sizes = [part.size for part in self.parts]
        if sum(sizes) > _COUNTABLE:
            raise RunError(f"there are {sum(sizes):,} inputs: too many to count one by one")
        self.inputs = sum(sizes)
        self.most = most or min(at_once(config, longest), max(_FEWEST, -(-self.inputs // _SHARES)))
        self._firsts = list(accumulate(sizes, initial=0))  # the number of the first input of each part
        self._batches = list(accumulate((-(-size // self.most) for size in sizes), initial=0))  # and of its first batch

    def __len__(self) -> int:
        return self._batches[-1]

    def __getitem__(self, number: Any) -> Any:
        ids, first = self.ids(number)
        return Batch(first, ids, *self.asked(ids))

    def ids(self, number: int) -> tuple[Any, int]:
        """The inputs of a batch, and the number of the first of them."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        place = bisect_right(self._batches, number) - 1
        part, start = self.parts[place], (number - self._batches[place]) * self.most
        return part.rows(start, min(start + self.most, part.size)), self._firsts[place] + start

    def number_of(self, first: int) -> int:
        """Which batch has the input of that number."""
        place = bisect_right(self._firsts, first) - 1
        return self._batches[place] + (first - self._firsts[place]) // self.most

    def add_to(self, digest: Digest) -> None:
        for part in self.parts:
            if isinstance(part, Box):
                digest.add("box", part.choices)
            else:
                ids = np.ascontiguousarray(part.ids, dtype=np.int64)
                digest.add("list", ids.shape, ids.reshape(-1).view(np.uint8).data)


def asking(rule: Rule, config: Config, steps: int, positions: Places | None) -> Callable[[Any], tuple[Any, Any, Tokens]]:
    """What is demanded of inputs [n, T], as arrays (see `Batch`): by the rule's own `arrays`, or by asking it about each.

    Tokens that follow are asked for with those before them fed back, as far as only one is right; with `positions`, the rule names
    an answer for each of these. Inputs are tokens that are read, answers what is said.
    """
    vocabulary, outputs = config.vocabulary, config.spoken
    index = {token: n for n, token in enumerate(outputs)}

    def one(tokens: Tokens) -> list[Demand]:
        if positions is not None:
            return demands_at(rule, tokens, len(places_of(positions, len(tokens))))
        found = [demand(rule, tokens)]
        while len(found) < steps and len(found[-1].right) == 1:
            tokens = (*tokens, *found[-1].right)
            found.append(demand(rule, tokens))
        return found

    def asked(ids: Any) -> tuple[Any, Any, Tokens]:
        if arrays := getattr(rule, "arrays", None):
            right, kind = arrays(ids, vocabulary, outputs)
            return right[:, :, None], np.zeros(len(ids), dtype=int), (kind,)
        return _demanded([one(tokens) for tokens in tokens_of(ids, vocabulary)], index)

    return asked


def demands_at(rule: Rule, tokens: Tokens, answers: int) -> list[Demand]:
    """What a rule demands at so many positions of an input."""
    named = rule(tokens)
    if isinstance(named, str) or not isinstance(named, list | tuple) or len(named) != answers:
        raise ValueError(f"the rule says {named!r} of {' '.join(tokens)}: it must name {answers} tokens in order")
    return [demand(lambda _, token=token: token, tokens) for token in named]


def _demanded(demands: Sequence[Sequence[Demand]], index: dict[str, int]) -> tuple[Any, Any, Tokens]:
    """Demands of answers, for one input after the other, as arrays: see `Batch`. A missing one is as one that names no token."""
    answers, most = max(map(len, demands)), max((len(d.right) for each in demands for d in each), default=1)
    right = np.full((len(demands), answers, max(1, most)), -1)
    for n, each in enumerate(demands):
        for a, wanted in enumerate(each):
            known = sorted(index[token] for token in wanted.right if token in index)
            right[n, a, : len(known)] = known
    names = tuple(sorted({each[0].kind for each in demands}))
    return right, np.array([names.index(each[0].kind) for each in demands]), names


def tokens_of(ids: Any, vocabulary: Tokens) -> Iterator[Tokens]:
    for row in ids.tolist():
        yield tuple(vocabulary[i] for i in row)
