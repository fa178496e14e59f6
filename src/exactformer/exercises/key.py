"""The key of a sheet as a file: TOML, described by docs/exercises.md. Its answers are computed again when it is read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from exactformer import reading
from exactformer.exercises.cell import ExerciseError, find_cell
from exactformer.exercises.judging import judged
from exactformer.exercises.sheet import LEVELS, MOST, Sheet, answer_of, trace_of
from exactformer.messages import Refused, short
from exactformer.reading import decoded, read_regular, toml_table

FORMAT = "exactformer exercise 1"
LARGEST = 4 * 2**20  # bytes
_MOST_DECIMALS = 50
_PLAIN = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]*")


class _Table(reading.Table):
    refusal = ExerciseError
    kind = "a key"


def written(sheet: Sheet) -> str:
    """The key as a file.

    >>> from exactformer.exercises.sheet import make_sheet
    >>> from exactformer.worksheets import example_text
    >>> text = written(make_sheet(example_text("capstone"), "capstone", cells=["blocks.0.attn.pattern[0, 1, 0]"], vary="cells"))
    >>> print(text[text.index("[[exercises]]"):])
    [[exercises]]
    number = 1
    cell = "blocks.0.attn.pattern[0, 1, 0]"
    answer = "1/(1+e)"
    <BLANKLINE>
    """
    head = {
        "format": FORMAT, "title": sheet.title, "source": sheet.source, "tokens": list(sheet.tokens),
        "changes": list(sheet.changes), "level": sheet.level, "seed": sheet.seed, "decimals": sheet.decimals,
    }  # fmt: skip
    lines = [f"{name} = {_value(value)}" for name, value in head.items()]
    lines.append(f"worksheet = {_text(sheet.worksheet)}\n")
    for n, cell in enumerate(sheet.cells, 1):
        lines += ["[[exercises]]", f"number = {n}", f"cell = {_value(cell.name)}", f"answer = {_value(answer_of(cell))}", ""]
    return "\n".join(lines)


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(text: str) -> str:
    """A worksheet as it stands, where TOML allows it."""
    whole = text if text.endswith("\n") else f"{text}\n"
    return f"'''\n{whole}'''" if "'''" not in whole and _PLAIN.fullmatch(whole) else _value(whole)


def read_key(path: Path | str) -> Sheet:
    """The sheet that a key is of, read strictly; the cells are computed, and the answers of the key compared with them."""
    content = read_regular(Path(path), LARGEST, "a key", ExerciseError)
    return read_text(decoded(content, path, ExerciseError).removeprefix("\ufeff"), str(path))


def read_text(text: str, name: str) -> Sheet:
    table = _Table(toml_table(text, name, ExerciseError), name)
    found = table.text("format")
    if found != FORMAT:
        raise table.error("format", f"is '{short(found)}'; keys of '{FORMAT}' are read")
    sheet = Sheet(
        table.text("worksheet"), table.text("source"), table.text("title"), _texts(table, "tokens"), _texts(table, "changes"),
        _whole(table, "level", 1, max(LEVELS)), _whole(table, "seed", 0, 2**62), _whole(table, "decimals", 1, _MOST_DECIMALS), (),
    )  # fmt: skip
    rows = table.tables("exercises")
    table.finish()
    if not 1 <= len(rows) <= MOST:
        raise table.error("exercises", f"has {len(rows)} entries; a key has 1 to {MOST}")
    try:
        trace = trace_of(sheet)
    except Refused as error:
        raise ExerciseError(f"{name}: {error}") from None
    cells = []
    for n, row in enumerate(rows, 1):
        if row.whole("number") != n:
            raise row.error("number", f"is not {n}: exercises are numbered from 1")
        try:
            cell = find_cell(trace, row.text("cell"))
        except ExerciseError as error:
            raise row.error("cell:", str(error)) from None
        answer = row.text("answer")
        if not judged(answer, cell, 1).right:
            raise row.error("answer", f"is '{short(answer)}', which is not what {cell.name} is")
        row.finish()
        cells.append(cell)
    return Sheet(**{**sheet.__dict__, "cells": tuple(cells)})


def _texts(table: _Table, field: str) -> tuple[str, ...]:
    items = table.items(field)
    if not all(type(item) is str for item in items):
        raise table.error(field, "is not a list of texts")
    return tuple(items)


def _whole(table: _Table, field: str, low: int, high: int) -> int:
    value = table.whole(field)
    if not low <= value <= high:
        raise table.error(field, f"is {value}, not from {low} to {high:,}")
    return value
