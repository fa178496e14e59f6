"""Slips that people make, each really made: what comes out is compared with an answer that is wrong, and nothing is guessed.

Some are made to the entry (its sign, its neighbour), some to the operation of its step (without e, with n - 1), some to the whole
pass (model/breaking.py), which is then computed again up to the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from exactformer.arithmetics import arithmetic
from exactformer.checking.functions import OPS
from exactformer.exercises.cell import Cell
from exactformer.model import Model, forward
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.breaking import MISTAKES, broken
from exactformer.model.fields import ConfigError
from exactformer.model.operations.attention import SOFTMAX, Scale
from exactformer.model.operations.norms import Deviation
from exactformer.model.operations.operation import short
from exactformer.model.step import Step
from exactformer.numbers import Exact, Named, Undecided, exact, exp
from exactformer.numbers.digits import fixed_decimals
from exactformer.numbers.field import divide, multiply, negate, total
from exactformer.worksheets.cost import multiplications

_MOST = 10_000  # multiplications of a pass that is computed again for each mistake
_PRODUCTS = ("linear", "unembed", "project", "merge")
_EARLY = (1, 2, 3)  # decimals to which people round before they go on


class Slip(NamedTuple):
    """A slip by its name, in words, and what comes of it; `rounded` where decimals were rounded on the way."""

    name: str
    words: str
    value: Any
    rounded: bool = False


def slips(cell: Cell, near: Callable[[float], bool] = lambda value: True) -> Iterator[Slip]:
    """Every slip that can be made on the way to a cell, the plainest first. They are computed as they are asked for.

    `near` says of a float whether the number that one looks for could be that: a pass with a mistake in it takes milliseconds in
    floats, and is computed exactly only where they are near. So a slip may be missed where floats are far off; none is made up.

    >>> from exactformer import load
    >>> from exactformer.exercises.cell import find_cell
    >>> cell = find_cell(load("capstone").trace(), "blocks.0.attn.pattern[0, 1, 0]")
    >>> {slip.name: str(slip.value) for slip in slips(cell)}["softmax-without-e"]
    '1/3'
    """
    if not isinstance(cell.value, Exact | Named):
        return
    for make in (_of_entry, _of_neighbours, _of_steps, _of_operation, lambda cell: _of_pass(cell, near), _of_rounding):
        try:
            yield from make(cell)
        except (Undecided, ArithmeticError, ValueError):  # this slip ends in no number
            continue


def _of_entry(cell: Cell) -> Iterator[Slip]:
    yield Slip("sign", "the sign is the other one", negate(cell.value))
    if cell.value != 0:
        yield Slip("upside-down", "it is upside down: 1 over the number", divide(exact(1), cell.value))


def _of_neighbours(cell: Cell) -> Iterator[Slip]:
    """Other entries of the same step."""
    values, index = cell.step.values, cell.index
    rank = values.ndim - cell.total
    if not cell.total and rank >= 2 and index[-1] < values.shape[-2] and index[-2] < values.shape[-1]:
        swapped = (*index[:-2], index[-1], index[-2])
        yield Slip("transposed", f"row and column have changed places: this is {_at(cell, swapped)}", values[swapped])
    row = rank - 1 if cell.total else rank - 2
    moves = [(row, -1, "row-before", "the row before"), (row, 1, "row-after", "the row after")]
    if not cell.total:
        moves += [(rank - 1, -1, "column-before", "the column before"), (rank - 1, 1, "column-after", "the column after")]
    for axis, by, name, words in moves:
        if axis >= 0 and 0 <= index[axis] + by < values.shape[axis]:
            moved = (*index[:axis], index[axis] + by, *index[axis + 1 :])
            yield Slip(name, f"{words} is used: this is {_at(cell, moved)}", replace(cell, index=moved).of(values))
    if values.ndim == 3:
        for head in range(values.shape[0]):
            if head != index[0]:
                other = (head, *index[1:])
                yield Slip("other-head", f"another head is used: this is {_at(cell, other)}", replace(cell, index=other).of(values))


def _at(cell: Cell, index: Sequence[int]) -> str:
    return f"{short(cell.step.name)}[{', '.join(map(str, index))}]"


def _of_steps(cell: Cell) -> Iterator[Slip]:
    """The same entry of the steps before, and of the one after."""
    steps = {step.name: step for step in cell.steps()}
    for read in cell.step.reads:
        if read in steps and steps[read].values.shape == cell.step.values.shape:
            words = f"one step is missing: this is {_at(cell, cell.index).replace(short(cell.step.name), short(read))}"
            yield Slip("step-before", words, cell.of(steps[read].values))
    for step in cell.trace.steps:
        if cell.step.name in step.reads and step.values.shape == cell.step.values.shape:
            words = f"one step too far: this is {_at(cell, cell.index).replace(short(cell.step.name), short(step.name))}"
            yield Slip("step-after", words, cell.of(step.values))


def _inputs(cell: Cell) -> list[Any] | None:
    """What the operation of the step was applied to; None where no operation computed it."""
    steps = {step.name: step.values for step in cell.steps()}
    if cell.gradient is not None or not cell.step.reads or any(read not in steps for read in cell.step.reads):
        return None
    return [OPS.load(steps[read]) for read in cell.step.reads]


def _of_operation(cell: Cell) -> Iterator[Slip]:
    """The operation of the step, done a little differently."""
    inputs, step = _inputs(cell), cell.step
    if inputs is None:
        return
    if step.op in _PRODUCTS:
        yield from _of_product(cell, inputs)
    elif step.op == "scores" and inputs[0].shape[-1] == inputs[1].shape[-2]:
        yield Slip("not-transposed", "keys are not transposed", cell.of(OPS.scores(inputs[0], np.swapaxes(inputs[1], -1, -2))))
    elif step.op == "softmax":
        yield from _of_softmax(cell, inputs[0])
    elif isinstance(step.operation, Scale):
        factor = step.operation.factor
        squared = multiply(factor, factor)
        yield Slip("scale-squared", f"the scale is {squared} instead of {factor}", cell.of(OPS.scale(inputs[0], squared)))
        yield Slip(
            "scaled-up", f"it is divided by {factor} instead of multiplied", cell.of(OPS.scale(inputs[0], divide(exact(1), factor)))
        )
    elif step.op in ("variance", "mean_square") and inputs[0].shape[-1] > 1:
        n = inputs[0].shape[-1]
        yield Slip("n-minus-1", f"divided by {n - 1} instead of {n}", multiply(cell.value, Exact(fmpq(n, n - 1))))
        yield Slip("not-divided", f"not divided by {n}", multiply(cell.value, exact(n)))
        squared_sum = total(inputs[0][cell.index[:-1]])
        yield Slip("squares", "the sum is squared, not each number", divide(multiply(squared_sum, squared_sum), exact(n)))
    elif step.op == "mean":
        yield Slip("not-divided", f"not divided by {inputs[0].shape[-1]}", multiply(cell.value, exact(inputs[0].shape[-1])))
    elif isinstance(step.operation, Deviation):
        yield Slip("no-root", "the root is forgotten", multiply(cell.value, cell.value))
        if step.operation.epsilon != 0:
            yield Slip("no-epsilon", "ε is forgotten", cell.of(replace(step.operation, epsilon=exact(0)).apply(OPS, *inputs)))


def _of_product(cell: Cell, inputs: list[Any]) -> Iterator[Slip]:
    apply = cell.step.operation.apply
    if len(inputs) == 3:
        yield Slip("no-bias", f"the bias {short(cell.step.reads[2])} is forgotten", cell.of(apply(OPS, *inputs[:2])))
    if inputs[1].shape[-1] == inputs[1].shape[-2]:
        across = np.swapaxes(inputs[1], -1, -2)
        words = f"{short(cell.step.reads[1])} is transposed, or its rows are taken for its columns"
        yield Slip("transposed-weight", words, cell.of(apply(OPS, inputs[0], across, *inputs[2:])))


def _of_softmax(cell: Cell, rows: Any) -> Iterator[Slip]:
    if cell.total:
        return
    seen = {j: x for j, x in enumerate(rows[cell.index[:-1]]) if x is not MASKED}
    own = rows[cell.index]
    if own is MASKED:
        return
    yield Slip("not-divided", "not divided by the sum of the row", exp(own))
    yield Slip(
        "softmax-without-e", "the numbers are divided by their sum, without e to their power", divide(own, total(seen.values()))
    )
    others = total([exp(x) for j, x in seen.items() if j != cell.index[-1]])
    yield Slip("others-alone", "the sum leaves out the number itself", divide(exp(own), others))
    columns = np.swapaxes(rows, -1, -2)
    swapped = (*cell.index[:-2], cell.index[-1], cell.index[-2])
    if all(i < n for i, n in zip(swapped, columns.shape, strict=True)):
        yield Slip("softmax-of-column", "the softmax is taken of a column, not of a row", SOFTMAX.apply(OPS, columns)[swapped])


class _Reached(Exception):
    """The step is there: the rest of a pass is not needed."""


def _of_pass(cell: Cell, near: Callable[[float], bool]) -> Iterator[Slip]:
    """The pass with one of the classic mistakes in it, up to the step."""
    trace = cell.trace
    if cell.gradient is not None or cell.step.op == "weight":
        return
    if multiplications(trace.model.config, len(trace.tokens)) > _MOST:
        return
    for name in MISTAKES:
        try:
            model = broken(trace.model, [name])
        except ConfigError:  # the model has nothing of the kind
            continue
        rough = _step_of(model, cell, arithmetic("float64"))
        if rough is None or rough.shape != cell.step.shape or not near(float(np.sum(rough.values[cell.index]))):
            continue
        step = _step_of(model, cell, OPS)
        if step is not None:
            said = MISTAKES[name].slip.format(scale=trace.model.config.scale_factor)
            yield Slip(name, said, cell.of(step.values))


def _step_of(model: Model, cell: Cell, ops: Any) -> Step | None:
    """The step of the cell in the pass of another model."""
    found: list[Step] = []

    def note(step: Step) -> Any:
        if step.name == cell.step.name or (cell.step.name == "probs" and step.name == "logits"):
            found.append(step)
            raise _Reached
        return step.values

    with suppress(_Reached):
        forward(model, model.ids(cell.trace.tokens), ops, note)
    if found and cell.step.name == "probs":
        return replace(cell.step, values=ops.softmax(found[0].values))
    return found[0] if found else None


def _of_rounding(cell: Cell) -> Iterator[Slip]:
    """The operation on numbers that were rounded before."""
    inputs = _inputs(cell)
    if inputs is None:
        return
    for decimals in _EARLY:
        rounded = [np.vectorize(_rounding(decimals), otypes=[object])(x) for x in inputs]
        words = f"rounded too early: the numbers before it to {decimals} decimal{'s' * (decimals > 1)}"
        value = cell.of(cell.step.operation.apply(OPS, *rounded))
        yield Slip("rounded-early", words, value, True)


def _rounding(decimals: int) -> Callable[[Any], Any]:
    def rounded(x: Any) -> Any:
        return exact(fixed_decimals(x, decimals)) if isinstance(x, Exact | Named) else x

    return rounded
