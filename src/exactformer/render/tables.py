"""Whole matrices as tables with named rows and columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from exactformer.circuits.matrices import CircuitTable
from exactformer.messages import printable
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named
from exactformer.numbers.digits import fixed_decimals
from exactformer.render.values import show
from exactformer.trace import Step, Trace

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


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
    return [name, *(f"  {column}: {cell}" if column else f"  {cell}" for column, cell in zip(columns, row, strict=True) if cell)]


def wrapped(text: str, width: int) -> list[str]:
    """A paragraph; words that are too long for a line have one of their own."""
    return wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def folded(text: str, width: int) -> str:
    r"""A text whose lines are at most `width` columns long: longer ones go on below, further in. Colours have no width.

    >>> print(folded("  one two three\n  four\n", 10), end="")
      one two
        three
      four
    """
    return "".join(f"{part}\n" for line in text.splitlines() for part in _fold(line, width))


def _fold(line: str, width: int) -> list[str]:
    if len(_COLOURS.sub("", line)) <= width:
        return [line]
    indent = " " * min(len(line) - len(line.lstrip()), width // 2)
    return wrap(line.lstrip(), width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def step(trace: Trace, name: str, decimals: int | None, digits: int = 12, width: int | None = None) -> str:
    return table(trace[name], decimals, digits, width)


def table(found: Step, decimals: int | None = None, digits: int = 12, width: int | None = None) -> str:
    """One step as a whole: a table for each head, tokens naming the rows and, where they are positions, the columns."""
    lines = [f"{found.name} = {found.formula}"]
    for head, matrix in enumerate(matrices(found)):
        lines += [f"head {head}"] if len(matrices(found)) > 1 else []
        cells = [[entry(value, decimals, digits) for value in row] for row in matrix]
        names = row_names(found, len(matrix)), column_names(found, head, matrix.shape[1])
        lines += ["  " + line for line in grid(*names, cells, width)]
    return "\n".join(lines) + "\n"


def matrices(found: Step) -> list[Any]:
    """A matrix for each head, or one alone; a vector is a row."""
    values = np.asarray(found.values)
    return list(values) if values.ndim == 3 else [np.atleast_2d(values)]


def row_names(found: Step, count: int) -> list[str]:
    """What the rows stand for: positions, by their tokens, or tokens; else their numbers."""
    named = found.words.along(found.axes[-2]) if len(found.axes) > 1 else ()
    return _named(named, count, "" if count == 1 else None)


def column_names(found: Step, head: int, count: int) -> list[str]:
    labels = found.labels[head] if found.labels else found.words.along(found.axes[-1]) if found.axes else ()
    return _named(labels, count, "" if found.labels else None)


def _named(names: Sequence[str], count: int, otherwise: str | None) -> list[str]:
    """The names, printable, and for what has none its number, or what else is said."""
    rest = [str(n) if otherwise is None else otherwise for n in range(len(names), count)]
    return [*map(printable, names[:count]), *rest]


def entry(value: Any, decimals: int | None, digits: int = 12) -> str:
    """A number in a table: rounded to decimals, or in its shortest form."""
    if decimals is None or value is MASKED or not isinstance(value, Exact | Named):
        rounded = decimals is not None and isinstance(value, float | np.floating)
        return f"{value:.{decimals}f}" if rounded else show(value, digits).marked
    return fixed_decimals(value, decimals)


def circuit(table: CircuitTable, decimals: int | None, width: int | None = None) -> str:
    """A circuit with its title and meaning."""
    cells = [[entry(value, decimals) for value in row] for row in table.values]
    shown = grid(table.rows, table.columns, cells, width)
    return "\n".join([f"{table.title}: {table.meaning}", *(f"  {line}" for line in shown)]) + "\n"
