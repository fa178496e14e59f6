"""Typed access to the fields of a config.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from exactformer.checkpoints.documents import Decimal
from exactformer.checkpoints.errors import CheckpointError, shown
from exactformer.model.arithmetics.roles import Activation
from exactformer.numbers import Exact, exact

LARGEST_COUNT = (1 << 31) - 1
GPT2_ACTIVATIONS: Mapping[str, Activation] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}
ACTIVATIONS: Mapping[str, Activation] = {"silu": "silu", "swish": "silu", **GPT2_ACTIVATIONS}
T = TypeVar("T")


class Fields:
    """A table of the document. A count that is null counts as not given; a flag that is null is refused, as other programs take it
    for false where a missing one is true.

    >>> fields = Fields({"width": 3, "eps": Decimal("1e-05")}, Path("config.json"))
    >>> fields.count("width"), fields.number("eps"), fields.flag("tied", True)
    (3, exact('1/100000'), True)
    >>> fields.count("depth")
    Traceback (most recent call last):
    exactformer.checkpoints.errors.CheckpointError: config.json: depth: is missing
    """

    def __init__(self, document: Mapping[str, Any], path: Path, place: str = "") -> None:
        self.document, self.path, self.place = document, path, place

    def error(self, field: str, problem: str) -> CheckpointError:
        return CheckpointError(self.path, f"{self.place}{field}", problem)

    def get(self, field: str) -> Any:
        return self.document.get(field)

    def count(self, field: str, default: int | None = None, least: int = 1) -> int:
        value = self.get(field)
        if value is None:
            if default is None:
                raise self.error(field, "is missing")
            return default
        if type(value) is not int or not least <= value <= LARGEST_COUNT:
            raise self.error(field, f"{shown(value)} is not a whole number from {least} to {LARGEST_COUNT:,}")
        return value

    def flag(self, field: str, default: bool) -> bool:
        if field not in self.document:
            return default
        value = self.get(field)
        if not isinstance(value, bool):
            raise self.error(field, f"{shown(value)} is not true or false")
        return value

    def number(self, field: str, default: str | None = None) -> Exact:
        """The decimal as it is written: 1e-05 is 1/100000."""
        if field not in self.document:
            if default is None:
                raise self.error(field, "is missing")
            return exact(default)
        value = self.get(field)
        if type(value) is not int and not isinstance(value, Decimal):
            raise self.error(field, f"{shown(value)} is not a number")
        try:
            return exact(str(value))
        except ValueError as error:
            raise self.error(field, str(error)) from None

    def positive(self, field: str, default: str | None = None) -> Exact:
        number = self.number(field, default)
        if number <= 0:
            raise self.error(field, f"{shown(self.get(field))} is not positive")
        return number

    def epsilon(self, field: str, default: str) -> Exact:
        number = self.number(field, default)
        if not 0 <= number <= 1:
            raise self.error(field, f"{shown(self.get(field))} is not between 0 and 1")
        return number

    def choice(self, field: str, table: Mapping[str, T], default: str | None = None) -> T:
        name = self.document.get(field, default)
        if name is None and field not in self.document:
            raise self.error(field, "is missing")
        if not isinstance(name, str) or name not in table:
            raise self.error(field, f"{shown(name)} is not one of {', '.join(table)}")
        return table[name]

    def table(self, field: str) -> Fields | None:
        """A table inside this one, or None where it is null or not there."""
        value = self.get(field)
        if value is not None and not isinstance(value, dict):
            raise self.error(field, f"{shown(value)} is not a table")
        return None if value is None else Fields(value, self.path, f"{self.place}{field}.")
