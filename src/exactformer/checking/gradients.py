"""The gradients of a pass as nodes of its record: each can be computed again from other values of what it reads.

A claim says what they are gradients of: `target`, the target tokens (the loss is their mean cross-entropy), or, for a model
without logits, `upstream`, the gradient of the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exactformer.arithmetics import adjoints
from exactformer.checking.entries import depth_of, read_array
from exactformer.checking.record import Node, Record
from exactformer.model import InputError
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.backward import Tape
from exactformer.numbers import exact
from exactformer.numbers.arrays import Array, zeros
from exactformer.reading import Decimal, described
from exactformer.trace import Gradient, Step, Trace, gradient
from exactformer.worksheets.reader import Table

_OPS = adjoints("exact").for_gradients()
_LOSS = "loss"
_SAYS = {True: "target", False: "upstream"}  # by whether the model has logits


def add_gradients(table: Table, trace: Trace | None, record: Record) -> None:
    """Where a claim says what gradients are of, they become nodes of the record. It is said once for a model."""
    given = [field for field in _SAYS.values() if field in table.raw]
    if not given:
        return
    if trace is None:
        raise table.error(given[0], "is given, but there is no [model] to take gradients of")
    has_logits = trace.model.config.unembedding != "none"
    wanted, other = _SAYS[has_logits], _SAYS[not has_logits]
    if other in given:
        raise table.error(other, f"is given, but the model has {'' if has_logits else 'no '}logits: that takes {wanted}")
    if record.has_gradients:
        raise table.error(wanted, "is given, but a claim above has said already what the gradients of this model are of")
    value = table.take(wanted)
    try:
        found = gradient(trace, _tokens(table, value)) if has_logits else gradient(trace, upstream=_rows(table, value))
    except InputError as error:
        raise table.error(f"{wanted}:", str(error)) from None
    for node in nodes(found):
        if node.name in record.nodes:
            raise table.error(wanted, f"brings in the gradients, but an operation above is named {node.name} like one of them")
        record.add(node)
    record.has_gradients = True


def needed(step: str, trace: Trace | None, record: Record) -> str | None:
    """What a claim lacks that speaks of a gradient before it was said what it is of."""
    if trace is None or record.has_gradients or not (step == _LOSS or step.startswith("grad.")):
        return None
    if trace.model.config.unembedding != "none":
        return 'say which tokens are wanted, as in target = "a b", here or in a claim above'
    return "say what the gradient of the last step is, as in upstream = [[0, 0], [1, 1]], here or in a claim above"


def _tokens(table: Table, value: Any) -> Sequence[str]:
    if isinstance(value, list) and all(isinstance(token, str) and not isinstance(token, Decimal) for token in value):
        return value
    return table.text("target").split()


def _rows(table: Table, value: Any) -> Array:
    if depth_of(value) != 2:
        raise table.error("upstream", f"is {described(value)}, not a list of rows of numbers")
    rows = read_array(table, value, "upstream")
    if any(entry is MASKED for entry in rows.flat):
        raise table.error("upstream", "holds -inf, which is no gradient")
    return rows


def nodes(found: Gradient) -> list[Node]:
    """The loss, where there is one, and every gradient."""
    names = {step.name for step in (*found.trace.steps, *found.steps)}
    targets = found.trace.model.columns(found.targets) if found.targets else []
    loss = [] if found.loss is None else [Node(_LOSS, _single(found.loss), ("logits",), lambda inputs: _loss(inputs[0], targets))]
    return loss + [_node(step, tuple(read for read in step.reads if read in names), found, targets) for step in found.steps]


def _node(step: Step, reads: tuple[str, ...], found: Gradient, targets: list[int]) -> Node:
    if step.name == "grad.logits":
        return Node(step.name, step.values, reads, lambda inputs: _from_probabilities(inputs[0], targets))
    return Node(step.name, step.values, reads, _again(step, reads, found))


def _single(value: Any) -> Array:
    result = np.empty((), dtype=object)
    result[()] = value
    return result


def _loss(logits: Array, targets: list[int]) -> Array:
    return _single(_OPS.cross_entropy(logits, targets)[0])


def _from_probabilities(probs: Array, targets: list[int]) -> Array:
    """(probs − one-hot) / T."""
    wanted = zeros(*probs.shape)
    wanted[range(len(targets)), targets] = exact(1)
    result: Array = _OPS.times(_OPS.subtract(probs, wanted), _OPS.ratio(1, len(targets)))
    return result


def _again(step: Step, reads: tuple[str, ...], found: Gradient) -> Callable[[Sequence[Array]], Array]:
    """The sum of what the readers of a step or weight hand back to it."""
    name = step.name.removeprefix("grad.")
    gradients = {each.name: each.values for each in found.steps}
    readers = [each for each in found.trace.computed if name in each.reads and f"grad.{each.name}" in gradients]

    def compute(inputs: Sequence[Array]) -> Array:
        values = gradients | dict(zip(reads, inputs, strict=True))
        first, *rest = (_handed_back(name, reader, values, found.trace) for reader in readers)
        for part in rest:
            first = _OPS.add(first, part)
        return first

    return compute


def _handed_back(name: str, reader: Step, values: dict[str, Array], trace: Trace) -> Array:
    """One step of the backward pass: from `reader` to what it reads, with other values where there are such."""
    known = {step.name: step.values for step in trace.computed} | values
    known |= {weight: _OPS.load(numbers) for weight, numbers in trace.model.weights.named()}
    here = replace(reader, values=known[reader.name])
    tape = Tape(trace.model.ids(trace.tokens), trace.computed, known, _OPS)
    first, *rest = (part.value for part in here.operation.back(tape, here, values[here.gradient]) if part.target == name)
    for part in rest:
        first = _OPS.add(first, part)
    result: Array = _OPS.settle(first)
    return result
