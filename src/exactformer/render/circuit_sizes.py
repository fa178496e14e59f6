"""The largest entries of circuits and their norms, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from exactformer.circuits.matrices import CircuitTable
from exactformer.circuits.sizes import Entry, Sizes
from exactformer.messages import printable
from exactformer.render import json as as_json
from exactformer.render.tables import grid
from exactformer.render.values import show

Sized = tuple[CircuitTable, Sizes]
NORMS = {"frobenius": "Frobenius norm", "rows": "largest row sum", "spectral": "spectral norm"}


def text(found: Iterable[Sized], digits: int = 12, width: int | None = None) -> str:
    return "\n".join(_text(table, sizes, digits, width) for table, sizes in found)


def _text(table: CircuitTable, sizes: Sizes, digits: int, width: int | None) -> str:
    rows, columns = table.values.shape
    lines = [f"{table.title}: {table.meaning} ({rows:,} × {columns:,}; of all entries, proved)"]
    for name, entries in (("largest", sizes.largest), ("smallest", sizes.smallest)):
        cells = [[printable(each.row), printable(each.column), _number(each.value, digits)] for each in entries]
        names = [name, *[""] * (len(cells) - 1)][: len(cells)]
        lines += [f"  {line}" for line in grid(names, ["row", "column", "value"], cells, width)]
    norms = [(words, getattr(sizes, name)) for name, words in NORMS.items()]
    lines += [f"  {words:<16} {_number(value, digits)}" for words, value in norms if value is not None]
    return "\n".join(lines) + "\n"


def _number(value: Any, digits: int) -> str:
    shown = show(value, digits)
    return f"{shown.text} ≈ {shown.digits}" if shown.digits and not shown.too_long else shown.text


def json_text(found: Iterable[Sized], digits: int = 12) -> str:
    circuits = [document(table, sizes, digits) for table, sizes in found]
    return json.dumps({"format": "exactformer circuits 1", "circuits": circuits}, ensure_ascii=False, indent=1) + "\n"


def document(table: CircuitTable, sizes: Sizes, digits: int) -> dict[str, Any]:
    def entries(some: tuple[Entry, ...]) -> list[dict[str, Any]]:
        return [{"row": each.row, "column": each.column, "value": as_json.value(each.value, digits)} for each in some]

    norms = {name: getattr(sizes, name) for name in NORMS}
    return {
        "title": table.title,
        "meaning": table.meaning,
        "shape": list(table.values.shape),
        "largest": entries(sizes.largest),
        "smallest": entries(sizes.smallest),
        "norms": {name: None if value is None else as_json.value(value, digits) for name, value in norms.items()},
    }
