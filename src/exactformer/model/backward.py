"""The backward pass, written once for every arithmetic: each operation knows what it hands back to what it reads.

It walks the steps of a recorded pass from the last to the first. A step's gradient is the sum of what its readers hand back;
so residual streams, tied weights and shared steps need no special care.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from exactformer.model.arithmetics.roles import Adjoints
from exactformer.model.forward import Model
from exactformer.model.operations.operation import Part
from exactformer.model.step import Step


@dataclass(frozen=True)
class Tape:
    """What an operation may ask of the pass that it was part of: the value of a step or a weight is `tape[name]`."""

    ids: list[int]
    steps: Sequence[Step]
    values: dict[str, Any]
    ops: Adjoints

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


class Record(Protocol):
    """Takes down one gradient with the parts that it is the sum of."""

    def __call__(self, name: str, value: Any, parts: Sequence[Part]) -> None: ...


def backward(model: Model, ids: list[int], steps: Sequence[Step], upstream: Part, ops: Adjoints, record: Record) -> dict[str, Any]:
    """The gradient of every weight. `upstream` is ∂L/∂ of the last step."""
    weights = {name: ops.load(values) for name, values in model.weights.named()}
    tape = Tape(ids, steps, {step.name: step.values for step in steps} | weights, ops)
    pending: dict[str, list[Part]] = {upstream.target: [upstream]}

    def collected(name: str) -> Any:
        parts = pending.pop(name, [])
        total = parts[0].value if parts else ops.zeros_like(tape[name])
        for part in parts[1:]:
            total = ops.add(total, part.value)
        total = ops.settle(total)
        record(f"grad.{name}", total, parts)
        return total

    for step in reversed(steps):
        if step.name in pending:
            for part in step.operation.back(tape, step, collected(step.name)):
                pending.setdefault(part.target, []).append(part)
    return {name: collected(name) for name in weights}
