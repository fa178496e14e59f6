"""What programs are made of: a value at every position, as RASP has it.

Every value is one of finitely many, which are known from the vocabulary and the length: so it has a one-hot code. `run` is the
meaning of a program in plain Python, and knows nothing of models.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from exactformer.messages import Refused, quoted

Tokens = tuple[str, ...]
Memo = dict[int, list[Any]]  # what was run already, by the identity of the operation
MOST_VALUES = 512  # that one operation may take: the dimensions of its code
MOST_COMBINATIONS = 4096  # of values that a function is asked about: the units of an MLP


class ProgramError(Refused):
    """A program that has no meaning for an input, or that is not of the subset that compiles."""


@dataclass(frozen=True, eq=False)
class Scope:
    """The inputs that a program is compiled for: tokens of a vocabulary, up to a length. It knows the values of operations."""

    vocabulary: Tokens
    length: int
    known: dict[int, tuple[Any, ...]] = field(default_factory=dict)

    def of(self, node: SOp) -> tuple[Any, ...]:
        """All values that an operation may take, each once."""
        if id(node) not in self.known:
            self.known[id(node)] = node.values(self)
        return self.known[id(node)]


class SOp:
    """A value at every position. Comparisons and arithmetic are taken position by position, with another or with a constant.

    >>> (tokens == "a").run(("a", "b"), {}), (indices + 1).run(("a", "b"), {})
    ([True, False], [1, 2])
    """

    parts: tuple[SOp, ...] = ()  # what it reads, position by position or through a selector

    def values(self, scope: Scope) -> tuple[Any, ...]:
        """All values that it may take: its one-hot code has a dimension for each."""
        raise NotImplementedError

    def run(self, tokens: Tokens, memo: Memo) -> list[Any]:
        if id(self) not in memo:
            memo[id(self)] = self._run(tokens, memo)
        return memo[id(self)]

    def _run(self, tokens: Tokens, memo: Memo) -> list[Any]:
        raise NotImplementedError

    @property
    def level(self) -> int:
        """After how many blocks its code is there."""
        return 1 + max(part.level for part in self.parts) if self.parts else 0

    def everything(self) -> Iterator[SOp]:
        """It, and all that it reads, what is read first before; each once."""
        seen: dict[int, SOp] = {}

        def visit(node: SOp) -> None:
            if id(node) not in seen:
                for part in node.parts:
                    visit(part)
                seen[id(node)] = node

        visit(self)
        yield from seen.values()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Apply:  # type: ignore[override]
        return _joined(operator.eq, self, other)

    def __ne__(self, other: object) -> Apply:  # type: ignore[override]
        return _joined(operator.ne, self, other)

    def __lt__(self, other: Any) -> Apply:
        return _joined(operator.lt, self, other)

    def __le__(self, other: Any) -> Apply:
        return _joined(operator.le, self, other)

    def __gt__(self, other: Any) -> Apply:
        return _joined(operator.gt, self, other)

    def __ge__(self, other: Any) -> Apply:
        return _joined(operator.ge, self, other)

    def __add__(self, other: Any) -> Apply:
        return _joined(operator.add, self, other)

    def __radd__(self, other: Any) -> Apply:
        return _joined(lambda x, y: y + x, self, other)

    def __sub__(self, other: Any) -> Apply:
        return _joined(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Apply:
        return _joined(lambda x, y: y - x, self, other)

    def __mul__(self, other: Any) -> Apply:
        return _joined(operator.mul, self, other)

    __rmul__ = __mul__

    def __and__(self, other: Any) -> Apply:
        return _joined(lambda x, y: bool(x and y), self, other)

    def __or__(self, other: Any) -> Apply:
        return _joined(lambda x, y: bool(x or y), self, other)

    def __invert__(self) -> Apply:
        return Apply(lambda x: not x, (self,))

    def __bool__(self) -> bool:
        raise ProgramError("a value at every position is neither true nor false: use & | ~, or apply a function")


class Input(SOp):
    """The tokens themselves."""

    def values(self, scope: Scope) -> tuple[Any, ...]:
        return scope.vocabulary

    def _run(self, tokens: Tokens, memo: Memo) -> list[Any]:
        return list(tokens)


class Places(SOp):
    """0, 1, 2, … along the input."""

    def values(self, scope: Scope) -> tuple[Any, ...]:
        return tuple(range(scope.length))

    def _run(self, tokens: Tokens, memo: Memo) -> list[Any]:
        return list(range(len(tokens)))


tokens, indices = Input(), Places()


@dataclass(frozen=True, eq=False)
class Apply(SOp):
    """A function of values at the same position. It may say None of values that never come together."""

    function: Callable[..., Any]
    parts: tuple[SOp, ...]

    def values(self, scope: Scope) -> tuple[Any, ...]:
        return distinct(value for _, value in self.table(scope))

    def table(self, scope: Scope) -> list[tuple[tuple[Any, ...], Any]]:
        """Every combination of values that may come, with what the function says of it."""
        sets = [scope.of(part) for part in self.parts]
        if prod(map(len, sets)) > MOST_COMBINATIONS:
            raise ProgramError(
                f"apply {_named(self.function)}: {' × '.join(str(len(some)) for some in sets)} combinations of values; "
                f"up to {MOST_COMBINATIONS:,} are compiled"
            )
        said = ((given, self._said(given)) for given in product(*sets))
        return [(given, value) for given, value in said if value is not None]

    def _said(self, given: tuple[Any, ...]) -> Any:
        try:
            value = self.function(*given)
        except Exception as error:
            raise ProgramError(
                f"apply {_named(self.function)}: fails for {', '.join(map(repr, given))} ({type(error).__name__}: {error}); "
                "let it say None of what never comes"
            ) from None
        return checked(value, f"apply {_named(self.function)}")

    def _run(self, tokens: Tokens, memo: Memo) -> list[Any]:
        result = []
        for given in zip(*(part.run(tokens, memo) for part in self.parts), strict=True):
            if (value := self._said(given)) is None:
                raise ProgramError(
                    f"apply {_named(self.function)}: says None of {', '.join(map(repr, given))}, which comes in {' '.join(tokens)}"
                )
            result.append(value)
        return result


def _joined(function: Callable[..., Any], one: SOp, other: Any) -> Apply:
    if isinstance(other, SOp):
        return Apply(function, (one, other))
    constant = checked(other, "a constant")
    return Apply(lambda value: function(value, constant), (one,))


def apply(function: Callable[..., Any], *values: SOp) -> Apply:
    """A function of what one position holds."""
    if not values or not all(isinstance(value, SOp) for value in values):
        raise ProgramError(f"apply {_named(function)}: give the values that it is applied to")
    return Apply(function, values)


def together(parts: tuple[SOp, ...]) -> SOp:
    """Several values as one."""
    return parts[0] if len(parts) == 1 else Apply(lambda *values: values, parts)


def checked(value: Any, place: str) -> Any:
    """A value that has a code: a text, a number without rounding, a truth value, or several together."""
    if value is None or isinstance(value, str | int | Fraction) or (isinstance(value, tuple) and value):
        if isinstance(value, tuple):
            for part in value:
                checked(part, place)
        return value
    raise ProgramError(
        f"{place}: {quoted(value)} is a {type(value).__name__}: values are texts, whole numbers, fractions or truth values"
    )


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Each once, in the order in which they come."""
    found = tuple(dict.fromkeys(values))
    if not found or len(found) > MOST_VALUES:
        raise ProgramError(f"an operation takes {len(found):,} values; from 1 to {MOST_VALUES} are compiled")
    return found


def _named(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__)).replace("<lambda>", "a function")
