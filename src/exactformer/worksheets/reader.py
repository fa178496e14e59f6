"""Tables of a worksheet, read field by field: each field is taken once, and what nobody took is an error."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any

from exactformer.messages import short, whole_number
from exactformer.numbers import Exact, exact

_MISSING = object()
_LARGEST_COUNT = 63  # bits of a whole number that counts something
_LARGEST_NUMBER = 33_220  # bits of a number that is computed with: 10,000 decimals, as in a text


class WorksheetError(ValueError):
    """A worksheet that cannot be read: one line that names the file and the field."""


class Decimal(str):
    """A TOML float as it is written, so that 0.3 is 3/10 and an error can name the field that holds it."""


class Table:
    """A TOML table with its place in the worksheet."""

    def __init__(self, raw: dict[str, Any], file: str, path: str = "") -> None:
        self.raw, self.file, self.path = raw, file, path
        self.taken: set[str] = set()

    def error(self, field: str, problem: str) -> WorksheetError:
        return WorksheetError(f"{self.file}: {self.path}{short(field)} {problem}")

    def take(self, field: str, default: Any = _MISSING) -> Any:
        self.taken.add(field)
        if field in self.raw:
            return self.raw[field]
        if default is _MISSING:
            near = get_close_matches(field, self.raw, 1, 0.7)
            raise self.error(field, f"is missing ({short(near[0])} is there: did you mean that?)" if near else "is missing")
        return default

    def table(self, field: str, required: bool = True) -> Table:
        value = self.take(field) if required else self.take(field, {})
        if not isinstance(value, dict):
            raise self.error(field, "is not a table")
        return Table(value, self.file, f"{self.path}{short(field)}.")

    def tables(self, field: str) -> list[Table]:
        value = self.take(field, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(field, f"is not a list of tables (write [[{self.path}{short(field)}]] above each)")
        return [Table(item, self.file, f"{self.path}{short(field)}.{n}.") for n, item in enumerate(value)]

    def text(self, field: str, default: Any = _MISSING) -> str:
        value = self.take(field, default)
        if not isinstance(value, str) or isinstance(value, Decimal):
            raise self.error(field, f"is {describe(value)}, not a text")
        return value

    def integer(self, field: str, default: Any = _MISSING) -> int:
        value = self.take(field, default)
        if type(value) is not int:
            raise self.error(field, f"is {describe(value)}, not a whole number")
        if value.bit_length() > _LARGEST_COUNT:
            raise self.error(field, f"is {describe(value)}, which is too large")
        return value

    def flag(self, field: str, default: bool) -> bool:
        value = self.take(field, default)
        if type(value) is not bool:
            raise self.error(field, f"is {describe(value)}, not true or false")
        return value

    def number(self, field: str) -> Exact:
        return self.exact(self.take(field), field)

    def exact(self, value: Any, field: str) -> Exact:
        """A number as it is written: an integer, a decimal, or a text such as "1/3"."""
        if type(value) is int and value.bit_length() > _LARGEST_NUMBER:
            raise self.error(field, f"is {describe(value)}, which is too large")
        if type(value) is int or isinstance(value, str):
            try:
                return exact(value)
            except ValueError as error:
                raise self.error(f"{field}:", str(error)) from None
        raise self.error(field, f"is {describe(value)}, not a number")

    def choice(self, field: str, allowed: Iterable[str], default: Any = _MISSING) -> str:
        value = self.take(field, default)
        if value not in allowed:
            raise self.error(field, f"is {describe(value)}, not one of {', '.join(allowed)}")
        return str(value)

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
                hint = f" (did you mean {near[0]}?)" if near else f" (known here: {', '.join(sorted(known))})"
                raise self.error(field, f"is not a field of a worksheet{hint}")


def describe(value: Any) -> str:
    """A value in a message."""
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return short(value)
        case str():
            return repr(value) if len(value) <= 40 else f"a text of {len(value)} characters"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "a table"
        case int():
            return whole_number(value)
        case _:
            return str(value)
