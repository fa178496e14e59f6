"""The number that is asked for: an entry of a step, or the sum of a row of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from exactformer.messages import Refused, quoted, short
from exactformer.model.step import Step
from exactformer.numbers import recover
from exactformer.numbers.arrays import total
from exactformer.trace import Gradient, Trace
from exactformer.trace.naming import Ambiguous, full_name

Index = tuple[int, ...]
_NAME = re.compile(r"(?:(sum)\s+)?([\w.]{1,200})\s*\[\s*([0-9]{1,9}(?:\s*,\s*[0-9]{1,9}){0,3})\s*\]")


class ExerciseError(Refused):
    """An exercise that cannot be set, a key or a table of answers that cannot be read: one line that names what is at fault."""


@dataclass(frozen=True)
class Cell:
    """An entry of a step (`index` has a number for each axis), or the sum of the row that `index` names."""

    trace: Trace
    step: Step
    index: Index
    total: bool = False
    gradient: Gradient | None = None  # of which the step is, where its name begins with `grad.`

    @property
    def name(self) -> str:
        """blocks.0.attn.pattern[0, 1, 0]"""
        return f"{'sum ' * self.total}{self.step.name}[{', '.join(map(str, self.index))}]"

    @cached_property
    def value(self) -> Any:
        """A number, MASKED, or a token."""
        return self.of(self.step.values)

    def of(self, values: Any) -> Any:
        """The same entry of other values of the step; None where there is none."""
        if values.ndim != self.step.values.ndim or any(i >= n for i, n in zip(self.index, values.shape, strict=False)):
            return None
        found = values[self.index]
        return recover(total(list(found))) if self.total else found

    def steps(self) -> tuple[Step, ...]:
        """All steps that there are: of the pass, of the backward pass, and the weights."""
        return _steps(self.trace, self.gradient)


def find_cell(trace: Trace, name: str, gradient: Gradient | None = None) -> Cell:
    """The cell of a name such as `blocks.0.attn.pattern[0, 1, 0]`, `pattern[0, 1, 0]` or `sum pattern[0, 1]`.

    >>> from exactformer import load
    >>> find_cell(load("capstone").trace(), "blocks.0.attn.pattern[0,1,0]").value
    <1/(1+e)>
    >>> find_cell(load("capstone").trace(), "embed[7, 0]")
    Traceback (most recent call last):
    exactformer.exercises.cell.ExerciseError: embed[7, 0]: there is no such entry: embed is 2 × 2, counted from 0
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise ExerciseError(
            f"{quoted(name)} does not name a number: write a step and an index, such as blocks.0.attn.pattern[0, 1, 0]"
        )
    if not trace.exact:
        raise ExerciseError(f"{short(name)}: answers are judged exactly, so the pass is to be exact, not {trace.arithmetic}")
    steps = {step.name: step for step in _steps(trace, gradient)}
    try:
        full = full_name(match[2], steps)
    except Ambiguous as error:
        raise ExerciseError(f"{short(name)}: {error}") from None
    if full is None:
        raise ExerciseError(f"{short(name)}: there is no step {match[2]} in this pass")
    step = steps[full]
    cell = Cell(trace, step, tuple(int(i) for i in match[3].split(",")), bool(match[1]), gradient)
    shape = step.values.shape
    if len(cell.index) != len(shape) - cell.total or any(i >= n for i, n in zip(cell.index, shape, strict=False)):
        kind = "row" if cell.total else "entry"
        raise ExerciseError(f"{cell.name}: there is no such {kind}: {step.name} is {' × '.join(map(str, shape))}, counted from 0")
    row = step.values[cell.index] if cell.total else [step.values[cell.index]]
    if any(isinstance(value, arb) for value in np.atleast_1d(row)):
        raise ExerciseError(f"{cell.name}: has guaranteed digits and no closed form, as the vocabulary is large")
    if cell.total and not all(hasattr(value, "status") for value in row):
        raise ExerciseError(f"{cell.name}: not all of that row are numbers that could be added")
    return cell


def _steps(trace: Trace, gradient: Gradient | None) -> tuple[Step, ...]:
    return (*trace.steps, *(() if gradient is None else gradient.steps), *trace.weights)
