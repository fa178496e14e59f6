"""Who looks at whom (`Selector`), and what is made of it: how many, the value that they hold, or the average of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from exactformer.messages import quoted
from exactformer.programs.operators import MOST_VALUES, Memo, ProgramError, Scope, SOp, Tokens, checked, distinct, indices, together

_NUMBERS = (int, Fraction)
_ABSENT = object()
_COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Selector:
    """For every position, the positions that it looks at: where what they hold (keys) and what it holds (queries) go together.

    >>> from exactformer.programs import indices, tokens
    >>> earlier = select(indices, indices, "<")
    >>> (earlier & select(tokens, tokens, "==")).chosen(("a", "b", "a"), {})
    [[], [], [0]]
    """

    keys: tuple[SOp, ...]
    queries: tuple[SOp, ...]
    holds: Callable[[tuple[Any, ...], tuple[Any, ...]], bool]

    @cached_property
    def key(self) -> SOp:
        return together(self.keys)

    @cached_property
    def query(self) -> SOp:
        return together(self.queries)

    def chosen(self, tokens: Tokens, memo: Memo) -> list[list[int]]:
        keys = list(zip(*(part.run(tokens, memo) for part in self.keys), strict=True))
        queries = list(zip(*(part.run(tokens, memo) for part in self.queries), strict=True))
        return [[j for j, key in enumerate(keys) if self.holds(key, query)] for query in queries]

    def matches(self, key: Any, query: Any) -> bool:
        """The same of values of `key` and `query`."""
        return self.holds(key if len(self.keys) > 1 else (key,), query if len(self.queries) > 1 else (query,))

    def __and__(self, other: Selector) -> Selector:
        return self._with(other, lambda one, two: one and two)

    def __or__(self, other: Selector) -> Selector:
        return self._with(other, lambda one, two: one or two)

    def __invert__(self) -> Selector:
        return Selector(self.keys, self.queries, lambda key, query: not self.holds(key, query))

    def _with(self, other: Selector, both: Callable[[bool, bool], bool]) -> Selector:
        keys, queries = _union(self.keys, other.keys), _union(self.queries, other.queries)
        places = [
            [_place(part, all_) for part in own] for s in (self, other) for own, all_ in ((s.keys, keys), (s.queries, queries))
        ]

        def holds(key: tuple[Any, ...], query: tuple[Any, ...]) -> bool:
            mine_k, mine_q, its_k, its_q = places
            one = self.holds(tuple(key[n] for n in mine_k), tuple(query[n] for n in mine_q))
            return both(one, other.holds(tuple(key[n] for n in its_k), tuple(query[n] for n in its_q)))

        return Selector(keys, queries, holds)


def select(keys: Any, queries: Any, predicate: str | Callable[[Any, Any], bool]) -> Selector:
    """Position i looks at position j where predicate(keys at j, queries at i): "==", "<" and so on, or a function of the two.

    Either may be a constant: `select(tokens, "a", "==")` looks at every a.
    """
    if isinstance(predicate, str) and predicate not in _COMPARISONS:
        raise ProgramError(f"select: {quoted(predicate)} is not one of {' '.join(_COMPARISONS)}, nor a function")
    test = _COMPARISONS[predicate] if isinstance(predicate, str) else predicate

    def holds(key: tuple[Any, ...], query: tuple[Any, ...]) -> bool:
        one, other = (given[0] if isinstance(part, SOp) else part for part, given in ((keys, key), (queries, query)))
        try:
            return bool(test(one, other))
        except Exception as error:
            raise ProgramError(f"select: the predicate fails for {one!r} and {other!r}: {type(error).__name__}: {error}") from None

    key, query = (part if isinstance(part, SOp) else indices for part in (keys, queries))  # every position has an index
    return Selector((key,), (query,), holds)


@dataclass(frozen=True, eq=False)
class Attending(SOp):
    """What one head computes: a mixture of what the chosen positions hold, from which one of finitely many values is read."""

    selector: Selector
    of: SOp | None = None
    default: Any = _ABSENT

    @property
    def parts(self) -> tuple[SOp, ...]:  # type: ignore[override]
        return (self.selector.key, self.selector.query, *(() if self.of is None else (self.of,)))

    @property
    def total(self) -> bool:
        """Is it claimed that a position always looks somewhere?"""
        return self.default is _ABSENT

    def _run(self, tokens: Tokens, memo: Memo) -> list[Any]:
        held = None if self.of is None else self.of.run(tokens, memo)
        result = []
        for i, chosen in enumerate(self.selector.chosen(tokens, memo)):
            if held is not None and not chosen and self.total:
                raise ProgramError(f"position {i} of {' '.join(tokens)} looks nowhere: give a default")
            result.append(self.read([] if held is None else [held[j] for j in chosen], len(chosen), tokens))
        return result

    def read(self, held: list[Any], number: int, tokens: Tokens) -> Any:
        raise NotImplementedError


class Count(Attending):
    """How many positions are looked at."""

    def values(self, scope: Scope) -> tuple[Any, ...]:
        return tuple(range(scope.length + 1))

    def read(self, held: list[Any], number: int, tokens: Tokens) -> Any:
        return number


class Aggregate(Attending):
    """What the positions that are looked at hold, which must be the same for all of them."""

    def values(self, scope: Scope) -> tuple[Any, ...]:
        assert self.of is not None
        return distinct([*scope.of(self.of), *([] if self.total else [self.default])])

    def read(self, held: list[Any], number: int, tokens: Tokens) -> Any:
        if len(set(held)) > 1:
            raise ProgramError(f"aggregate: {held[0]!r} and others are held at once in {' '.join(tokens)}; mean takes averages")
        return held[0] if held else self.default


class Mean(Attending):
    """The average of the numbers that the positions that are looked at hold."""

    def values(self, scope: Scope) -> tuple[Any, ...]:
        numbers, sums, found = self.numbers(scope), {Fraction(0)}, set[Fraction]()
        for n in range(1, scope.length + 1):
            sums = {total + number for total in sums for number in numbers}
            found |= {total / n for total in sums}
            if len(found) > MOST_VALUES:
                raise ProgramError(f"mean: more than {MOST_VALUES} averages are possible")
        return tuple(sorted(found | (set() if self.total else {Fraction(self.default)})))

    def numbers(self, scope: Scope) -> tuple[Fraction, ...]:
        assert self.of is not None
        return tuple(map(_number, scope.of(self.of)))

    def read(self, held: list[Any], number: int, tokens: Tokens) -> Any:
        return sum(map(_number, held), Fraction(0)) / number if number else Fraction(self.default)


def count(selector: Selector) -> Count:
    """How many positions each position looks at."""
    return Count(selector)


def aggregate(selector: Selector, values: SOp, default: Any = _ABSENT) -> Aggregate:
    """What stands where each position looks; `default` where it looks nowhere."""
    return Aggregate(selector, values, default if default is _ABSENT else checked(default, "default"))


def mean(selector: Selector, values: SOp, default: Any = _ABSENT) -> Mean:
    """The average of the numbers where each position looks; `default` where it looks nowhere."""
    return Mean(selector, values, default if default is _ABSENT else _number(default))


def _number(value: Any) -> Fraction:
    if not isinstance(value, _NUMBERS):
        raise ProgramError(f"mean: {quoted(value)} is not a number")
    return Fraction(value)


def _union(one: Sequence[SOp], other: Sequence[SOp]) -> tuple[SOp, ...]:
    return (*one, *(part for part in other if not any(part is mine for mine in one)))


def _place(part: SOp, parts: Sequence[SOp]) -> int:
    return next(n for n, each in enumerate(parts) if each is part)
