"""Tables of a worksheet, and what is said of one that cannot be read."""

from __future__ import annotations

from typing import Any, Self

from exactformer import reading
from exactformer.messages import Problems, Refused, short


class WorksheetError(Refused):
    """A worksheet that cannot be read: one line that names the file and the field."""


class WorksheetProblems(WorksheetError, Problems):
    """Several of them."""


class Table(reading.Table):
    """A TOML table with its place in the worksheet."""

    refusal = WorksheetError
    kind = "a worksheet"

    def refuse_problems(self) -> None:
        """Refuse what was collected."""
        if self.problems:
            raise WorksheetProblems(self.problems)

    def tables(self, field: str, default: Any = ()) -> list[Self]:
        value = self.take(field, default)
        if not isinstance(value, list | tuple) or not all(isinstance(item, dict) for item in value):
            raise self.error(field, f"is not a list of tables (write [[{self.place}{short(field)}]] above each)")
        return [self.inner(f"{field}.{n}", item) for n, item in enumerate(value)]
