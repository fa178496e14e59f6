"""The steps of a pass as nodes of a record: each can be computed again from other values of what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from exactformer.checking.causes import mistaken, slips_of
from exactformer.checking.functions import OPS
from exactformer.checking.record import Node, Record
from exactformer.model import Config
from exactformer.model.operations.attention import ARGMAX
from exactformer.numbers import Undefined
from exactformer.numbers.arrays import Array
from exactformer.trace import Step, Trace


def tokens(chosen: Iterable[tuple[str | None, str, bool]]) -> Array:
    """A column of tokens. Each is given with the reason why there is none, and whether that is proved."""
    entries = [[Undefined(why, undecided=not proved) if token is None else token] for token, why, proved in chosen]
    return np.array(entries, dtype=object).reshape(-1, 1)  # [T, 1]


def record_of(trace: Trace) -> Record:
    """Every step of a trace, its tokens too."""
    record = Record()
    weights = dict(trace.model.weights.named())
    names = {step.name for step in trace.steps}
    for step in trace.steps:
        reads = tuple(read for read in step.reads if read in names)
        again = _again(step, reads, weights, trace.model.config)
        chosen = step.operation is ARGMAX
        truth = tokens((out.token, out.why, out.proved) for out in trace.output) if chosen else step.values
        slips = slips_of(step, reads, lambda name: OPS.load(weights[name]))
        record.add(Node(step.name, truth, reads, again, of_tokens=chosen, slips=slips))
    record.mistaken = cache(lambda: mistaken(trace))
    return record


def _again(step: Step, reads: tuple[str, ...], weights: dict[str, Any], config: Config) -> Callable[[Sequence[Array]], Array]:
    def compute(inputs: Sequence[Array]) -> Array:
        given = dict(zip(reads, inputs, strict=True)) | {name: OPS.load(weights[name]) for name in step.reads if name in weights}
        if step.operation is ARGMAX:
            choices = OPS.choose(*inputs)
            return tokens((None if x.index is None else config.spoken[x.index], x.why, x.proved) for x in choices)
        result: Array = step.operation.apply(OPS, *(given[read] for read in step.reads))
        return result

    return compute
