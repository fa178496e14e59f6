"""One exercise in Python and in a notebook: what is asked, hints one at a time, answers judged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from exactformer.exercises.cell import Cell, ExerciseError, find_cell
from exactformer.exercises.explaining import derivation, hints, question
from exactformer.exercises.judging import FEWEST, Judgement, judged
from exactformer.exercises.sheet import make_sheet
from exactformer.showing import Shown
from exactformer.worksheets import examples, load, worksheet
from exactformer.worksheets.models import built_in, place_of


@dataclass(frozen=True)
class Exercise(Shown):
    """A cell that is asked for. `answer("e/(1+e)")` judges; `hint(1)`, `hint(2)`, … help; `derivation` tells."""

    cell: Cell
    decimals: int = FEWEST

    @property
    def question(self) -> str:
        return question(self.cell)

    def answer(self, text: str) -> Judgement:
        return judged(text, self.cell, self.decimals)

    def hint(self, number: int = 1) -> str:
        """The first hint, the second, …; after the last, the last."""
        found = hints(self.cell)
        return found[min(max(number, 1), len(found)) - 1] if found else "there is no hint for this number"

    @property
    def derivation(self) -> str:
        return "\n".join(derivation(self.cell))

    def __repr__(self) -> str:
        return f"<exercise {self.cell.name}>"


def exercise(
    source: str | os.PathLike[str],
    cell: str | None = None,
    tokens: str | Sequence[str] | None = None,
    level: int = 2,
    seed: int = 0,
    decimals: int = FEWEST,
) -> Exercise:
    """An exercise on a worksheet or a built-in example: the cell that is named, or one that the seed draws.

    >>> import exactformer as xf
    >>> task = xf.exercise("capstone", "blocks.0.attn.pattern[0, 1, 0]")
    >>> print(task.answer("1/(1+e)"))
    equal (proved)
    >>> print(task.hint(3))
    With the numbers put in: exp(1)/(exp(1) + exp(2)).
    """
    words = tokens.split() if isinstance(tokens, str) else tokens
    if cell is not None:
        return Exercise(find_cell(load(source).trace(words), cell), decimals)
    sheet = make_sheet(worksheet_text(source), os.fspath(source), level, seed, 1, "cells", tokens=words)
    return Exercise(sheet.cells[0], decimals)


def worksheet_text(source: str | os.PathLike[str]) -> str:
    """The text of a worksheet by path, or of a built-in example by name."""
    name = os.fspath(source)
    if name in built_in() or (name not in examples() and place_of(name).is_dir()):
        raise ExerciseError(f"{name}: is a model in a folder; exercises are made of worksheets, whose numbers can be written")
    return worksheet.worksheet_text(name)
