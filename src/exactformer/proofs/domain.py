"""The inputs that a theorem speaks of, and one of each kind where tokens are interchangeable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, permutations, product
from math import prod

from exactformer.proofs.chunks import RunError

Tokens = tuple[str, ...]
Classes = tuple[tuple[str, ...], ...]
_MOST = 5_000_000  # cases that are listed: they take memory before the first is computed
_SHOWN = 16  # tokens of a set that are named
_LONGEST = 4096  # tokens of a sequence: all lengths are listed


@dataclass(frozen=True)
class Sequences:
    """Every sequence over the vocabulary, from `shortest` to `longest` tokens.

    >>> len(Sequences(("a", "b", "c", "d"), 6))
    5460
    """

    vocabulary: tuple[str, ...]
    longest: int
    shortest: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", tuple(self.vocabulary))
        if not self.vocabulary or len(set(self.vocabulary)) < len(self.vocabulary):
            raise ValueError(f"a vocabulary of {len(self.vocabulary)} tokens that is empty or has one twice")
        for number in (self.shortest, self.longest):
            if type(number) is not int:
                raise ValueError(f"sequences of {number!r} tokens: give a whole number")
        if not 1 <= self.shortest <= self.longest:
            raise ValueError(f"sequences of {self.shortest} to {self.longest} tokens: there are none")

    @property
    def size(self) -> int:
        """How many there are, also where `len` has no room for it."""
        tokens, lengths = len(self.vocabulary), self.longest - self.shortest + 1
        return lengths if tokens == 1 else tokens**self.shortest * (tokens**lengths - 1) // (tokens - 1)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Tokens]:
        for n in range(self.shortest, self.longest + 1):
            yield from product(self.vocabulary, repeat=n)

    def __str__(self) -> str:
        lengths = f"{self.longest}" if self.shortest == self.longest else f"{self.shortest} to {self.longest}"
        return f"every sequence of {lengths} tokens over {' '.join(self.vocabulary)}"

    def within(self, classes: Classes) -> Classes:
        """Classes cut where the vocabulary of the domain ends: renaming a token must not lead out of it."""
        inside = [tuple(t for t in members if t in self.vocabulary) for members in classes]
        outside = [(t,) for members in classes for t in members if t not in self.vocabulary]
        return (*(members for members in inside if members), *outside)

    def representatives(self, classes: Classes) -> list[Tokens]:
        """One sequence for all that differ by a renaming within classes: each class is used in its own order.

        >>> Sequences(("a", "b"), 3, 3).representatives((("a", "b"),))
        [('a', 'a', 'a'), ('a', 'a', 'b'), ('a', 'b', 'a'), ('a', 'b', 'b')]
        """
        classes = tuple(members for members in classes if members[0] in self.vocabulary)
        if self.longest > _LONGEST:
            raise RunError(f"{self}: too long; sequences of at most {_LONGEST:,} tokens are listed")
        if self._number(classes) > _MOST:
            raise RunError(f"{self}: more than {_MOST:,} cases; no more can be listed")
        found: list[Tokens] = []
        level: list[tuple[Tokens, tuple[int, ...]]] = [((), (0,) * len(classes))]
        for length in range(1, self.longest + 1):
            level = [
                ((*tokens, members[n]), (*used[:c], max(used[c], n + 1), *used[c + 1 :]))
                for tokens, used in level
                for c, members in enumerate(classes)
                for n in range(min(used[c] + 1, len(members)))
            ]
            found += [tokens for tokens, _ in level] if length >= self.shortest else []
        return sorted(found, key=lambda tokens: (len(tokens), [self.vocabulary.index(t) for t in tokens]))

    def _number(self, classes: Classes) -> int:
        """How many representatives there are, or a number beyond those that can be listed: counted by how many members of each
        class are used, length by length."""
        sizes = [len(members) for members in classes if len(members) > 1]
        alone = len(classes) - len(sizes)  # tokens that any sequence may use next
        states, number = {(0,) * len(sizes): 1}, 0
        for n in range(1, self.longest + 1):
            grown: dict[tuple[int, ...], int] = {}
            for used, ways in states.items():
                grown[used] = grown.get(used, 0) + ways * (alone + sum(used))
                for c, size in enumerate(sizes):
                    if used[c] < size:
                        fresh = (*used[:c], used[c] + 1, *used[c + 1 :])
                        grown[fresh] = grown.get(fresh, 0) + ways
            states = grown
            number += sum(states.values()) if n >= self.shortest else 0
            if sum(states.values()) > _MOST:
                return _MOST + 1  # there are at least as many for every greater length
        return number


@dataclass(frozen=True)
class Product:
    """Every sequence whose tokens come from these sets, one for each position.

    >>> len(Product((("0", "1", "2"), ("+",), ("0", "1"))))
    6
    """

    choices: tuple[Tokens, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(map(tuple, self.choices)))
        if not self.choices or not all(self.choices) or any(len(set(some)) < len(some) for some in self.choices):
            raise ValueError("a product of sets of tokens of which one is empty or has a token twice, or there is none")

    @property
    def size(self) -> int:
        return prod(map(len, self.choices))

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Tokens]:
        return product(*self.choices)

    def __str__(self) -> str:
        alike = groupby(map(_few, self.choices))
        powers = [f"one of {some}" + (f" at {n} positions" if (n := len(list(same))) > 1 else "") for some, same in alike]
        return f"every sequence of {len(self.choices)} tokens: {', then '.join(powers)}"


@dataclass(frozen=True)
class From:
    """Where answers are read: at every position from the first that counts, in inputs of any length.

    >>> places_of(From(1), 4), places_of((0, 2), 4)
    ((1, 2, 3), (0, 2))
    """

    first: int = 0

    def __str__(self) -> str:
        return f"from position {self.first} on"


Places = tuple[int, ...] | From


def places_of(places: Places, length: int) -> tuple[int, ...]:
    """The positions at which an input of that length is answered."""
    return tuple(range(places.first, length)) if isinstance(places, From) else places


def _few(tokens: Tokens) -> str:
    """All tokens, or the first and the last of many."""
    return " ".join(tokens) if len(tokens) <= _SHOWN else f"{' '.join(tokens[:3])} … {tokens[-1]} ({len(tokens):,} tokens)"


def renamings(tokens: Tokens, classes: Classes) -> Iterator[dict[str, str]]:
    """Every renaming within classes of the tokens of a sequence, the first being none at all.

    >>> [tuple(r[t] for t in "aba") for r in renamings(("a", "b", "a"), (("a", "b"),))]
    [('a', 'b', 'a'), ('b', 'a', 'b')]
    """
    used = [[t for t in members if t in tokens] for members in classes]
    for choice in product(*(permutations(members, len(u)) for members, u in zip(classes, used, strict=True))):
        yield {old: new for u, new_ones in zip(used, choice, strict=True) for old, new in zip(u, new_ones, strict=True)}
