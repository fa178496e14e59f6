"""A sheet of exercises: cells of a pass that are left blank, drawn by a seed, so that every student can have another."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from exactformer.exercises.cell import Cell, ExerciseError, find_cell
from exactformer.exercises.explaining import parts, spelled
from exactformer.exercises.judging import FEWEST
from exactformer.messages import short
from exactformer.model.changing import with_weights
from exactformer.numbers import Exact, Named, Undecided
from exactformer.numbers.nearness import nearly
from exactformer.trace import Step, Trace
from exactformer.worksheets import Worksheet, loads
from exactformer.worksheets.cost import multiplications

Vary = Literal["cells", "tokens", "weights"]
LEVELS = {1: "fractions alone", 2: "from fractions to a formula", 3: "formulas made of formulas"}
MOST = 50  # exercises of a sheet
_TRIES = 600  # entries that are looked at, whatever the size of the pass
_LONGEST = {1: 20, 2: 24, 3: 60}  # characters of an answer
_LARGEST_VOCABULARY = 1000  # tokens of which other inputs are drawn
_LARGEST_TABLE = 200  # entries of a W_E whose numbers are changed
_CHANGES = 3
_DIGITS = 12
_DRAWS, _QUICK = 20, 2000  # inputs that are tried, where a pass has few multiplications


@dataclass(frozen=True)
class Sheet:
    """What is asked, and of which pass: the text of its worksheet, the tokens, and the weights that were changed."""

    worksheet: str
    source: str  # what the worksheet is called
    title: str
    tokens: tuple[str, ...]
    changes: tuple[str, ...]
    level: int
    seed: int
    decimals: int
    cells: tuple[Cell, ...]


def answer_of(cell: Cell) -> str:
    """The answer as a student would write it: the closed form where it can be read, else digits."""
    text = str(cell.value)
    if isinstance(cell.value, Named) and text.startswith("≈"):
        return nearly(cell.value, _DIGITS)
    return text


def make_sheet(
    text: str, source: str, level: int = 2, seed: int = 0, count: int = 6, vary: Vary | None = None, decimals: int = FEWEST,
    cells: Sequence[str] = (), tokens: Sequence[str] | None = None,
) -> Sheet:  # fmt: skip
    """A sheet of `count` exercises on a worksheet. The same seed makes the same sheet; `cells` are asked instead of drawn ones.

    Another seed has other cells, another input, and some other numbers in W_E where that table is small; `vary` says otherwise.

    >>> from exactformer.worksheets import example_text
    >>> sheet = make_sheet(example_text("capstone"), "capstone", level=2, seed=3, count=2)
    >>> sheet.tokens, [cell.name for cell in sheet.cells]
    (('c', 'c'), ['blocks.0.attn.pattern[0, 1, 1]', 'probs[1, 2]'])
    """
    if level not in LEVELS or vary not in (None, *get_args(Vary)) or not 1 <= count <= MOST:
        raise ExerciseError(f"a sheet has 1 to {MOST} exercises of the levels {', '.join(map(str, LEVELS))}")
    worksheet = loads(text, source)
    rng = random.Random(f"exercise {seed}")
    if vary is None:
        vary = "cells" if cells else "weights" if _changeable(worksheet) else "tokens"
    best: Sheet | None = None
    quick = multiplications(worksheet.model.config, len(worksheet.own_tokens)) <= _QUICK
    for _ in range(_DRAWS if quick else 3):  # other tokens or weights may lead to numbers that nobody would want to write
        words = _drawn_tokens(worksheet, rng) if tokens is None and vary != "cells" else tuple(tokens or worksheet.own_tokens)
        changes = _drawn_changes(worksheet, rng) if vary == "weights" else ()
        sheet = Sheet(text, source, worksheet.title, words, changes, level, seed, decimals, ())
        trace = trace_of(sheet, worksheet)
        chosen = [find_cell(trace, name) for name in cells] or _drawn_cells(trace, level, count, rng)
        if best is None or len(chosen) > len(best.cells):
            best = replace(sheet, cells=tuple(chosen))
        if vary == "cells" or len(chosen) >= (len(cells) or count):
            break
    if best is None or not best.cells:
        raise ExerciseError(f"{source}: has no numbers for a sheet of level {level} ({LEVELS[level]})")
    return best


def trace_of(sheet: Sheet, worksheet: Worksheet | None = None) -> Trace:
    """The pass that a sheet is about."""
    worksheet = worksheet or loads(sheet.worksheet, sheet.source)
    if sheet.changes:
        worksheet = replace(worksheet, model=with_weights(worksheet.model, sheet.changes))
    return worksheet.trace(sheet.tokens)


def _drawn_tokens(worksheet: Worksheet, rng: random.Random) -> tuple[str, ...]:
    """As many tokens as the worksheet's own input has; where there are very many tokens, its own."""
    vocabulary, own = worksheet.model.config.vocabulary, worksheet.own_tokens
    return own if len(vocabulary) > _LARGEST_VOCABULARY else tuple(rng.choice(vocabulary) for _ in own)


def _drawn_changes(worksheet: Worksheet, rng: random.Random) -> tuple[str, ...]:
    """Some numbers of W_E, replaced by small ones."""
    table = worksheet.model.weights.W_E
    if not _changeable(worksheet):
        raise ExerciseError(
            f"{short(worksheet.title or 'the worksheet')}: its embedding is too large, or made by a circuit: vary tokens"
        )
    places = rng.sample(list(np.ndindex(*table.shape)), min(_CHANGES, table.size))
    return tuple(f"W_E[{i},{j}]={rng.choice((-2, -1, 1, 2, 3))}" for i, j in sorted(places))


def _changeable(worksheet: Worksheet) -> bool:
    return worksheet.circuit is None and worksheet.model.weights.W_E.size <= _LARGEST_TABLE


def _drawn_cells(trace: Trace, level: int, count: int, rng: random.Random) -> list[Cell]:
    """Cells of the level, filled up by easier ones; none is made from another. In the order of the pass."""
    places = list(_places(trace))
    rng.shuffle(places)
    by_level: dict[int, list[Cell]] = {n: [] for n in range(level, 0, -1)}
    for step, index in places[:_TRIES]:
        found = Cell(trace, step, index)
        own = _level(found)
        if own in by_level and len(by_level[own]) < 4 * count:
            by_level[own].append(found)
    chosen: list[Cell] = []
    values: list[str] = []
    for cell in (cell for cells in by_level.values() for cell in cells):
        if (
            len(chosen) < count
            and str(cell.value) not in values
            and not any(_made_of(cell, x) or _made_of(x, cell) for x in chosen)
        ):
            chosen.append(cell)
            values.append(str(cell.value))
    order = {step.name: n for n, step in enumerate(trace.steps)}
    return sorted(chosen, key=lambda cell: (order[cell.step.name], cell.index))


def _places(trace: Trace) -> Iterator[tuple[Step, tuple[int, ...]]]:
    for step in trace.steps:
        for index in np.ndindex(*step.values.shape):
            if isinstance(step.values[index], Exact | Named):
                yield step, index


def _level(cell: Cell) -> int:
    """How hard a cell is; 0 where it is no exercise: a copy, a plain 0, or a number that is too long to be written."""
    value, read = cell.value, [x for _, _, values in parts(cell) for x in values]
    try:
        text = str(value)
    except Undecided:
        return 0
    if value == 0 or not read or spelled(cell) in ("", text) or any(str(x).startswith("≈") for x in read):
        return 0
    rational = all(not isinstance(x, Named) for x in read)
    level = 1 if rational and isinstance(value, Exact) else 2 if rational or isinstance(value, Exact) else 3
    copied = level > 1 and text in map(str, read)  # times 1, plus 0
    return 0 if copied or text.startswith("≈") or len(text) > _LONGEST[level] else level


def _made_of(cell: Cell, other: Cell) -> bool:
    """Does a cell read another, or a copy of it, so that one exercise would give away the other?"""
    return any(
        (name == other.step.name and all(i is None or i == j for i, j in zip(index, other.index, strict=True)))
        or (isinstance(other.value, Named) and str(other.value) in map(str, values))
        for name, index, values in parts(cell)
    )
