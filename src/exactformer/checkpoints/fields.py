"""Typed access to the fields of a config.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from exactformer.checkpoints.errors import CheckpointError
from exactformer.model.arithmetics.roles import Activation
from exactformer.numbers import Exact
from exactformer.reading import Decimal, Table

LARGEST_COUNT = (1 << 31) - 1
GPT2_ACTIVATIONS: Mapping[str, Activation] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}
ACTIVATIONS: Mapping[str, Activation] = {"silu": "silu", "swish": "silu", **GPT2_ACTIVATIONS}
T = TypeVar("T")


class Fields(Table):
    """A table of the document. A count that is null counts as not given; a flag that is null is refused, as other programs take it
    for false where a missing one is true.

    >>> fields = Fields({"width": 3, "eps": Decimal("1e-05")}, Path("config.json"))
    >>> fields.count("width"), fields.number("eps"), fields.flag("tied", True)
    (3, exact('1/100000'), True)
    >>> fields.count("depth")
    Traceback (most recent call last):
    exactformer.checkpoints.errors.CheckpointError: config.json: depth: is missing
    """

    refusal, colon = CheckpointError, True

    @property
    def path(self) -> Path:
        return Path(self.file)

    def get(self, field: str) -> Any:
        return self.raw.get(field)

    def count(self, field: str, default: int | None = None, least: int = 1) -> int:
        value = self.get(field)
        if value is None:
            if default is None:
                raise self.error(field, "is missing")
            return default
        if type(value) is not int or not least <= value <= LARGEST_COUNT:
            raise self.wrong(field, value, f"a whole number from {least} to {LARGEST_COUNT:,}")
        return value

    def number(self, field: str, default: str | None = None) -> Exact:
        """The decimal as it is written: 1e-05 is 1/100000."""
        value = self.take(field) if default is None else self.take(field, Decimal(default))
        if type(value) is str:
            raise self.wrong(field, value, "a number")
        return self.exact(value, field)

    def positive(self, field: str, default: str | None = None) -> Exact:
        number = self.number(field, default)
        if number <= 0:
            raise self.wrong(field, self.get(field), "positive")
        return number

    def epsilon(self, field: str, default: str) -> Exact:
        number = self.number(field, default)
        if not 0 <= number <= 1:
            raise self.wrong(field, self.get(field), "between 0 and 1")
        return number

    def choice(self, field: str, table: Mapping[str, T], default: str | None = None) -> T:
        return table[self.one_of(field, table) if default is None else self.one_of(field, table, default)]

    def optional(self, field: str) -> Fields | None:
        """A table inside this one, or None where it is null or not there."""
        return None if self.get(field) is None else self.table(field)
