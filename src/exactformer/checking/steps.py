"""The steps of a pass as nodes of a record: each can be computed again from other values of what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from exactformer.checking.operations import OPS
from exactformer.checking.record import Node, Record
from exactformer.model import Config
from exactformer.numbers import Undefined
from exactformer.numbers.arrays import Array
from exactformer.trace import Step, Trace


def tokens(chosen: Iterable[tuple[str | None, str, bool]]) -> Array:
    """A column of tokens. Each is given with the reason why there is none, and whether that is proved."""
    entries = [[Undefined(why, undecided=not proved) if token is None else token] for token, why, proved in chosen]
    return np.array(entries, dtype=object).reshape(-1, 1)  # [T, 1]


def _choose(c: Config, logits: Array) -> Array:
    choices = OPS.choose(logits)
    return tokens((None if x.index is None else c.vocabulary[x.index], x.why, x.proved) for x in choices)


# What each operation of a pass does to what it reads, weights included. Steps that read no step are not computed again.
_AGAIN: dict[str, Callable[..., Any]] = {
    "same": lambda c, x: x,
    "identity": lambda c, x: x,
    "add": lambda c, x, y: OPS.add(x, y),
    "linear": lambda c, x, w, b=None: OPS.linear(x, w, b),
    "unembed": lambda c, x, w, b=None: OPS.linear(x, np.transpose(w), b),
    "project": lambda c, x, w, b=None: OPS.project(x, w, b),
    "merge": lambda c, z, w, b=None: OPS.merge(z, w, b),
    "scores": lambda c, q, k: OPS.scores(q, k),
    "scale": lambda c, x: OPS.scale(x, c.scale_factor),
    "mask": lambda c, x: OPS.mask(x, c),
    "erase": lambda c, x: OPS.erase(x, c),
    "shift": lambda c, x: OPS.shift(x),
    "softmax": lambda c, x: OPS.softmax(x),
    "mix": lambda c, pattern, v: OPS.mix(pattern, v),
    "mean": lambda c, x: OPS.mean(x),
    "center": lambda c, x, mean: OPS.center(x, mean),
    "variance": lambda c, x: OPS.variance(x),
    "deviation": lambda c, x: OPS.deviation(x, c.epsilon),
    "normalise": lambda c, x, std, w, b: OPS.normalise(x, std, w, b, "the norm"),
    "relu": lambda c, x: OPS.activate(x, "relu"),
    "gelu": lambda c, x: OPS.activate(x, "gelu"),
    "gelu_tanh": lambda c, x: OPS.activate(x, "gelu_tanh"),
    "argmax": _choose,
}


def record_of(trace: Trace) -> Record:
    """Every step of a trace, its tokens too."""
    record = Record()
    weights = dict(trace.model.weights.named())
    names = {step.name for step in trace.steps}
    for step in trace.steps:
        reads = tuple(read for read in step.reads if read in names)
        again = _again(step, reads, weights, trace.model.config)
        chosen = step.op == "argmax"
        truth = tokens((out.token, out.why, out.proved) for out in trace.output) if chosen else step.values
        record.add(Node(step.name, truth, reads, again, of_tokens=chosen))
    return record


def _again(step: Step, reads: tuple[str, ...], weights: dict[str, Any], config: Config) -> Callable[[Sequence[Array]], Array]:
    def compute(inputs: Sequence[Array]) -> Array:
        given = dict(zip(reads, inputs, strict=True)) | {name: OPS.load(weights[name]) for name in step.reads if name in weights}
        result: Array = _AGAIN[step.op](config, *(given[read] for read in step.reads))
        return result

    return compute
