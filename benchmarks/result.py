"""What a benchmark hands to the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Progress = Callable[[str], None]  # takes one line about what is being done


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Result:
    """`name` is that of the files written; `parts` are paragraphs and tables in order; `data` is what goes into the JSON."""

    name: str
    title: str
    parts: tuple[str | Table, ...]
    data: dict[str, Any]
