"""Tables of a file, read field by field: each field is taken once, and what nobody took is an error."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Self

from exactformer.messages import Refused, quoted, short
from exactformer.numbers import Exact, exact
from exactformer.reading.number_arrays import Decimal, NumberArray
from exactformer.reading.toml_places import Located

_MISSING: Any = object()
_MOST_NAMES = 20  # of fields in a message
_LARGEST_COUNT = 63  # bits of a whole number that counts something
_LARGEST_NUMBER = 33_220  # bits of a number that is computed with: 10,000 decimals, as in a text


class Table:
    """A table with its place in the file. What a family of files says otherwise, a class of its own says.

    >>> table = Table({"size": 3, "name": "x", "sizes": 1.5}, "x.toml", "model.")
    >>> table.whole("size"), table.text("name")
    (3, 'x')
    >>> table.text("size")
    Traceback (most recent call last):
    exactformer.messages.Refused: x.toml: model.size is 3, not a text
    >>> table.finish()
    Traceback (most recent call last):
    exactformer.messages.Refused: x.toml: model.sizes is not a field of this file (did you mean size?)
    """

    refusal: ClassVar[type[Refused]] = Refused
    kind: ClassVar[str] = "this file"  # what it is that has the fields
    colon: ClassVar[bool] = False  # "size: 'x' is not a count", or "size is 'x', not a count"
    entry: ClassVar[str] = "{}.{}"  # the place of an entry in a list

    def __init__(self, raw: dict[str, Any], file: Path | str, place: str = "") -> None:
        self.raw, self.file, self.place = raw, file, place
        self.taken: set[str] = set()

    def error(self, field: str, problem: str) -> Refused:
        file = self.file.where(self.place + field) if isinstance(self.file, Located) else self.file
        return self.refusal(f"{file}: {self.place}{short(field)}{':' * self.colon} {problem}")

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Where the file keeps its problems, go on after one: all are reported together."""
        try:
            yield
        except Refused as error:
            if not isinstance(self.file, Located):
                raise
            self.file.problems.append(str(error))

    @property
    def problems(self) -> list[str]:
        return self.file.problems if isinstance(self.file, Located) else []

    def wrong(self, field: str, value: Any, wanted: str) -> Refused:
        is_not = f"{described(value)} is not {wanted}" if self.colon else f"is {described(value)}, not {wanted}"
        return self.error(field, is_not)

    def inner(self, field: str, value: Any) -> Self:
        """The table that is a field, or an entry of one."""
        if not isinstance(value, dict):
            raise self.wrong(field, value, "a table")
        return type(self)(value, self.file, f"{self.place}{short(field)}.")

    def take(self, field: str, default: Any = _MISSING) -> Any:
        self.taken.add(field)
        if field in self.raw:
            value = self.raw[field]
            return value.listed() if isinstance(value, NumberArray) else value
        if default is _MISSING:
            near = get_close_matches(field, self.raw, 1, 0.7)
            raise self.error(field, f"is missing ({short(near[0])} is there: did you mean that?)" if near else "is missing")
        return default

    def table(self, field: str, required: bool = True) -> Self:
        return self.inner(field, self.take(field) if required else self.take(field, {}))

    def tables(self, field: str, default: Any = _MISSING) -> list[Self]:
        return [self.inner(self.entry.format(field, n), item) for n, item in enumerate(self.items(field, default))]

    def items(self, field: str, default: Any = _MISSING) -> list[Any]:
        value = self.take(field, default)
        if not isinstance(value, list):
            raise self.wrong(field, value, "a list")
        return value

    def text(self, field: str, default: Any = _MISSING) -> str:
        value = self.take(field, default)
        if not isinstance(value, str) or isinstance(value, Decimal):
            raise self.wrong(field, value, "a text")
        return value

    def whole(self, field: str, default: Any = _MISSING) -> int:
        value = self.take(field, default)
        if type(value) is not int:
            raise self.wrong(field, value, "a whole number")
        if value.bit_length() > _LARGEST_COUNT:
            raise self.error(field, f"is {described(value)}, which is too large")
        return value

    def flag(self, field: str, default: bool) -> bool:
        value = self.take(field, default)
        if type(value) is not bool:
            raise self.wrong(field, value, "true or false")
        return value

    def number(self, field: str) -> Exact:
        return self.exact(self.take(field), field)

    def exact(self, value: Any, field: str) -> Exact:
        """A number as it is written: an integer, a decimal, or a text such as "1/3"."""
        if type(value) is int and value.bit_length() > _LARGEST_NUMBER:
            raise self.error(field, f"is {described(value)}, which is too large")
        if type(value) is int or isinstance(value, str):
            try:
                return exact(value)
            except ValueError as error:
                raise self.error(field if self.colon else f"{field}:", str(error)) from None
        raise self.wrong(field, value, "a number")

    def one_of(self, field: str, allowed: Iterable[str], default: Any = _MISSING) -> str:
        value = self.take(field, default)
        if not isinstance(value, str) or value not in allowed:
            raise self.wrong(field, value, f"one of {', '.join(allowed)}")
        return value

    def finish(self, **elsewhere: str) -> None:
        """Nothing may be left over: a misspelt field must not be a silent default.

        `elsewhere` tells with which choice a field would have its place.
        """
        for field in self.raw:
            if field in elsewhere and field not in self.taken:
                raise self.error(field, f"is given, but it goes with {elsewhere[field]}")
        self.only(self.taken)

    def only(self, known: Collection[str]) -> None:
        """Refuse a field that is not one of these, with the one that was perhaps meant."""
        for field in self.raw:
            if field not in known:
                near = get_close_matches(field, known, 1)
                hint = f" (did you mean {near[0]}?)" if near else f" (known here: {_names(known)})"
                raise self.error(field, f"is not a field of {self.kind}{hint}")


def _names(known: Collection[str]) -> str:
    names = sorted(known)
    return (
        ", ".join(names) if len(names) <= _MOST_NAMES else f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
    )


def described(value: Any) -> str:
    """A value of a file in a message.

    >>> [described(value) for value in (True, None, "x", Decimal("1.50"), [1, 2], {})]
    ['true', 'null', "'x'", '1.50', 'a list of 2', 'a table of 0']
    """
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case Decimal():
            return short(value)
        case list() | dict():
            return f"a {'list' if isinstance(value, list) else 'table'} of {len(value)}"
        case str() | int():
            return quoted(value)
        case _:  # a date
            return str(value)
