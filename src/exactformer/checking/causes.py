"""Likely causes of a new error: slips that people make, each really made, where exactly the printed number comes of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from flint import fmpq

from exactformer.checking.functions import OPS, each, shares
from exactformer.checking.printed import Claimed, Printed
from exactformer.checking.record import Index, Node, Record, Slip
from exactformer.checking.verdicts import Verdict, judge
from exactformer.model.breaking import MISTAKES, broken
from exactformer.model.fields import ConfigError
from exactformer.model.operations.attention import SOFTMAX, Hide, Scale
from exactformer.model.operations.norms import Deviation
from exactformer.numbers import Exact, Named, Undecided, exact, exp
from exactformer.numbers.arrays import Array
from exactformer.numbers.field import divide, multiply, negate
from exactformer.trace import Step, Trace, run
from exactformer.worksheets.cost import multiplications

_MOST = 10_000  # multiplications of a pass that is computed again for each mistake
_FEWEST = 2  # digits without which many things would fit
_ROUNDED = "computed from the printed numbers above, and there "


def cause(record: Record, name: str, index: Index, printed: Claimed, order: int) -> str:
    """The first slip that gives what is printed, in words; empty where none does."""
    if not isinstance(printed, Printed) or not _telling(printed):
        return ""
    for words, value in _slips(record, record.nodes[name], index, order):
        try:
            if isinstance(value, Exact | Named) and judge(value, printed) is Verdict.RIGHT:
                return words
        except (Undecided, ValueError, ArithmeticError):
            continue
    return ""


def _telling(printed: Printed) -> bool:
    """Has it enough digits that it would be a wonder if something else gave the same?"""
    if printed.value is None or (isinstance(printed.value, Exact) and printed.value.value in (0, 1, -1)):
        return False
    digits = sum(c.isdigit() for c in printed.digits.lower().partition("e")[0].lstrip("+-−0."))
    return printed.place is None or digits >= _FEWEST


def _slips(record: Record, node: Node, index: Index, order: int) -> Iterator[tuple[str, Any]]:
    truth = node.truth
    if isinstance(truth[index], Exact | Named):
        yield "the sign is the other one", negate(truth[index])
    if len(index) >= 2 and index[-1] < truth.shape[-2] and index[-2] < truth.shape[-1] and index[-1] != index[-2]:
        yield "row and column have changed places", truth[(*index[:-2], index[-1], index[-2])]
    true = [record.nodes[read].truth for read in node.reads]
    yield from _made(node.slips, true, index)
    nearest = next(record.worlds(node.name, order), None)
    inputs = None if nearest is None else record.inputs(node.name, nearest)
    if inputs is not None:
        yield from ((_ROUNDED + words, value) for words, value in _made(node.slips, inputs, index))
    for words, steps in record.mistaken():
        if node.name in steps and steps[node.name].shape == truth.shape:
            yield words, steps[node.name][index]


def _made(slips: Sequence[Slip], inputs: Sequence[Array], index: Index) -> Iterator[tuple[str, Any]]:
    for words, compute in slips:
        try:
            yield words, compute(inputs)[index]
        except (Undecided, ValueError, ArithmeticError, IndexError, TypeError):  # this slip cannot be made here
            continue


def slips_of(step: Step, reads: tuple[str, ...], load: Callable[[str], Array]) -> tuple[Slip, ...]:
    """The slips of a step of a pass, by its operation. `reads` are those of what it reads that are steps; weights are loaded."""

    def given(inputs: Sequence[Array]) -> list[Array]:
        known = dict(zip(reads, inputs, strict=True))
        return [known[read] if read in known else load(read) for read in step.reads]

    return tuple((words, lambda inputs, compute=compute: compute(given(inputs))) for words, compute in _of(step))


def _of(step: Step) -> Iterator[Slip]:
    operation = step.operation
    if isinstance(operation, Scale):
        factor = operation.factor
        yield "the scale is forgotten", lambda inputs: inputs[0]
        yield f"the scale is {multiply(factor, factor)}: d for √d", lambda inputs: OPS.scale(inputs[0], multiply(factor, factor))
        yield "it is divided by the scale", lambda inputs: OPS.scale(inputs[0], divide(exact(1), factor))
    elif isinstance(operation, Hide):
        yield "the mask is forgotten", lambda inputs: inputs[0]
    elif operation is SOFTMAX:
        yield "the softmax is taken of columns", lambda inputs: np.swapaxes(OPS.softmax(np.swapaxes(inputs[0], -1, -2)), -1, -2)
        yield "the numbers are divided by their sum, without e to their power", lambda inputs: _by_head(shares, inputs[0])
        yield "not divided by the sum of the row", lambda inputs: each(exp)(inputs[0])
    elif isinstance(operation, Deviation):
        yield "the root is forgotten", lambda inputs: inputs[0]
        yield "ε is forgotten", lambda inputs: OPS.deviation(inputs[0], exact(0))
    elif operation.name in ("variance", "mean_square"):
        yield "divided by n - 1 instead of n", lambda inputs: _sample(operation.apply(OPS, *inputs), inputs[0].shape[-1])
    elif operation.name in ("gelu", "gelu_tanh"):
        other: Any = "gelu_tanh" if operation.name == "gelu" else "gelu"
        words = "this is the tanh form of GELU" if other == "gelu_tanh" else "this is GELU with erf"
        yield words, lambda inputs: OPS.activate(inputs[0], other)


def _by_head(function: Callable[[Array], Array], x: Array) -> Array:
    return np.stack([function(matrix) for matrix in x]) if x.ndim == 3 else function(x)


def _sample(variance: Array, n: int) -> Array:
    return each(lambda value: multiply(value, Exact(fmpq(n, n - 1))))(variance)


def mistaken(trace: Trace) -> list[tuple[str, Mapping[str, Array]]]:
    """The pass with each of the classic mistakes, where it is small: what every step is then."""
    if multiplications(trace.model.config, len(trace.tokens)) > _MOST:
        return []
    found: list[tuple[str, Mapping[str, Array]]] = []
    for name in MISTAKES:
        try:
            wrong = run(broken(trace.model, [name]), trace.tokens)
        except (ConfigError, ValueError, ArithmeticError):  # the model has nothing of the kind
            continue
        said = MISTAKES[name].slip.format(scale=trace.model.config.scale_factor)
        found.append((said, {step.name: step.values for step in wrong.steps}))
    return found
