"""Which numbers of a block belong to which comment, and which of them is which entry."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from exactformer.checking.entries import is_hidden
from exactformer.lessons.lesson import Binding, Bound, Spot
from exactformer.lessons.numerals import is_number
from exactformer.lessons.spots import Following, Rows, SpotError
from exactformer.messages import Refused, quoted
from exactformer.numbers.arrays import Array


class Part(NamedTuple):
    kind: Literal["table", "matrix", "code"]
    rows: Rows
    more: bool  # may there be numbers that are none of its own?


def part(text: str, start: int, block: Following, how: Binding, n: int, count: int) -> Part:
    """What the nth of so many comments is bound to: all of a block, what stands in it after a text, or the nth matrix."""
    parts = block.parts
    if how.after:
        last = max((spot.span[0] for rows in parts for row in rows for spot in row), default=start)
        label = text.find(how.after, start, last)
        if label < 0:
            raise SpotError(f"{quoted(how.after)} does not stand before a number there")
        parts = [rows for rows in (_beyond(rows, label + len(how.after)) for rows in parts) if rows]
    if block.kind == "matrix":
        place = 0 if how.after else n
        if place >= len(parts):
            raise SpotError(f"the formula has fewer matrices ({len(parts)}) than comments that are bound to it ({count})")
        return Part("matrix", parts[place], False)
    if block.kind == "table" and (count > 1 or how.after):
        raise SpotError("a table is bound to one comment")
    return Part(block.kind, parts[0], bool(how.after) or n < count - 1)


def _beyond(rows: Rows, place: int) -> Rows:
    """The numbers that stand after a place."""
    left = (tuple(spot for spot in row if spot.span[0] >= place) for row in rows)
    return tuple(row for row in left if row)


LEFT_OUT = ("…", "...", r"\dots", r"\ldots", r"\cdots", r"\vdots", r"\ddots", "", "-", "–", "—")
_DOTS = LEFT_OUT[:7]
Fitted = list[list[Spot | None]]  # None for what is left out


class Misfit(Refused):
    """A block whose numbers are not as many as those of the step."""


def fitted(bound: Bound, values: Array, start: int = 0) -> Fitted:
    """The printed number of each entry of a matrix of values; those up to `start` are another comment's.

    Of a table the last columns are the numbers, after those that name its rows. Dots stand for what is left out; a row may end
    where the mask begins.
    """
    if bound.columns:
        across = fitted(replace(bound, columns=False), values.T, start)
        return [list(row) for row in zip(*across, strict=True)]
    high, wide = values.shape
    rows = [tuple(spot for spot in row if spot.span[0] >= start) for row in bound.rows]
    rows = [row for row in rows if row or bound.kind == "table"]
    if high == 1 and len(rows) == wide and bound.kind == "table":  # a row that stands as a column
        rows = [tuple(row[-1] for row in rows)]
    flat = [spot for row in rows for spot in row]
    count = high * wide
    if bound.kind == "code" and (len(flat) == count or (bound.more and len(flat) > count)):
        return [list(flat[i * wide : (i + 1) * wide]) for i in range(high)]
    found = _ragged(rows, values) or _all_of(rows, high, wide, bound.kind, isinstance(values.flat[0], str))
    if found is None:
        raise Misfit(f"{bound.to}: is {high} × {wide} numbers, but the {bound.kind} has {_size(rows, bound.kind)}")
    return found


def _all_of(rows: list[tuple[Spot, ...]], high: int, wide: int, kind: str, of_tokens: bool) -> Fitted | None:
    named = kind == "table" and not of_tokens and bool(rows) and not any(is_number(row[0]) for row in rows if row)
    widened = [_widened(row, wide) for row in _heightened(rows, high)]
    enough = all(len(row) >= wide if kind == "table" else len(row) == wide for row in widened)
    if len(widened) != high or not enough or (named and len(rows[0]) == wide):
        return None
    return [row[-wide:] for row in widened]


def _ragged(rows: list[tuple[Spot, ...]], values: Array) -> Fitted | None:
    """Row i with i + 1 numbers, where all others are hidden by the mask."""
    high, wide = values.shape
    ragged = high == wide > 1 and [len(row) for row in rows] == list(range(1, high + 1))
    if not ragged or not all(is_hidden(values[i, j]) for i in range(high) for j in range(i + 1, wide)):
        return None
    return [[*row, *[None] * (wide - len(row))] for row in rows]


def _heightened(rows: list[tuple[Spot, ...]], high: int) -> list[tuple[Spot, ...]]:
    """One row of dots stands for all that are missing."""
    dotted = [n for n, row in enumerate(rows) if row and all(spot.text in _DOTS for spot in row)]
    if len(dotted) != 1 or len(rows) - 1 > high:
        return rows
    (n,) = dotted
    return [*rows[:n], *[rows[n]] * (high - len(rows) + 1), *rows[n + 1 :]]


def _widened(row: tuple[Spot, ...], wide: int) -> list[Spot | None]:
    """Dots in a row stand for as many as are missing."""
    dotted = [n for n, spot in enumerate(row) if spot.text in _DOTS]
    if len(dotted) != 1 or len(row) >= wide:
        return list(row)
    (n,) = dotted
    return [*row[:n], *[None] * (wide - len(row) + 1), *row[n + 1 :]]


def _size(rows: list[tuple[Spot, ...]], kind: str) -> str:
    named = kind == "table" and bool(rows) and not any(is_number(row[0]) for row in rows if row)
    columns = len(rows[0]) - named if rows else 0
    return f"{len(rows)} row{'s' * (len(rows) != 1)} of {columns}" + ", besides the names of its rows" * named
