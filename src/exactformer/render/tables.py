"""Whole matrices as tables with named rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from exactformer.circuits.matrices import CircuitTable
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.axes import POSITION, TOKEN
from exactformer.numbers import Exact, Named
from exactformer.numbers.digits import fixed_decimals
from exactformer.render.values import show
from exactformer.trace import Trace


def grid(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Lines of a table, columns aligned to the right; one that is wider than `width` is a list of its cells, row by row.

    >>> print("\\n".join(grid(["a"], ["one", "two"], [["1", "2"]])))
       one  two
    a    1    2
    >>> grid(["a"], ["one", "two"], [["1", "2"]], width=9)
    ['a', '  one: 1', '  two: 2']
    """
    table = [["", *columns], *([name, *row] for name, row in zip(rows, cells, strict=True))]
    widths = [max(len(row[n]) for row in table) for n in range(len(table[0]))]
    if width is not None and sum(widths) + 2 * len(columns) > width:
        return [line for name, row in zip(rows, cells, strict=True) for line in _listed(name, columns, row)]
    return [
        "  ".join(cell.rjust(w) if n else cell.ljust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in table
    ]


def _listed(name: str, columns: Sequence[str], row: Sequence[str]) -> list[str]:
    return [name, *(f"  {column}: {cell}" for column, cell in zip(columns, row, strict=True) if cell)]


def wrapped(text: str, width: int) -> list[str]:
    """A paragraph; words that are too long for a line have one of their own."""
    return wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def step(trace: Trace, name: str, decimals: int | None, digits: int = 12) -> str:
    """One step as a whole: a table for each head, tokens naming the rows and, where they are positions, the columns."""
    found = trace[name]
    matrices = list(found.values) if found.by_head else [found.values]
    lines = [f"{found.name} = {found.formula}"]
    for head, matrix in enumerate(matrices):
        lines += [f"head {head}"] if len(matrices) > 1 else []
        cells = [[entry(value, decimals, digits) for value in row] for row in matrix]
        lines += ["  " + line for line in grid(trace.tokens, _columns(trace, name, head, matrix.shape[1]), cells)]
    return "\n".join(lines) + "\n"


def _columns(trace: Trace, name: str, head: int, width: int) -> Sequence[str]:
    found = trace[name]
    if found.axes[-1] is TOKEN:
        return trace.model.config.vocabulary
    if found.axes[-1] is POSITION:
        return trace.tokens
    labels = found.labels[head] if found.labels else ()
    return [*labels, *("" if labels else str(n) for n in range(len(labels), width))]


def entry(value: Any, decimals: int | None, digits: int = 12) -> str:
    """A number in a table: rounded to decimals, or in its shortest form."""
    if decimals is None or value is MASKED or not isinstance(value, Exact | Named):
        rounded = decimals is not None and isinstance(value, float | np.floating)
        return f"{value:.{decimals}f}" if rounded else show(value, digits).marked
    return fixed_decimals(value, decimals)


def circuit(table: CircuitTable, decimals: int | None) -> str:
    """A circuit with its title and meaning."""
    cells = [[entry(value, decimals) for value in row] for row in table.values]
    return "\n".join([f"{table.title}: {table.meaning}", *("  " + line for line in grid(table.rows, table.columns, cells))]) + "\n"
