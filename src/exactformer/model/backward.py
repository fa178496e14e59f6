"""The backward pass, written once for every arithmetic: for each operation, what it hands back to what it reads.

It walks the steps of a recorded pass from the last to the first. A step's gradient is the sum of what its readers hand back;
so residual streams, tied weights and shared steps need no special care.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from exactformer.model.arithmetic import Arithmetic
from exactformer.model.forward import Model
from exactformer.model.scaling import scale_free


class Recorded(Protocol):
    """A step of a forward pass."""

    @property
    def name(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def values(self) -> Any: ...


class Part(NamedTuple):
    """What one reader hands back to `target`: `role` says by which formula, `reads` from what."""

    target: str
    role: str
    value: Any
    reads: tuple[str, ...]
    remarks: tuple[tuple[int, str], ...] = ()


class Record(Protocol):
    """Takes down one gradient with the parts that it is the sum of."""

    def __call__(self, name: str, value: Any, parts: Sequence[Part]) -> None: ...


def backward(
    model: Model, ids: list[int], steps: Sequence[Recorded], upstream: Part, ops: Arithmetic, record: Record
) -> dict[str, Any]:
    """The gradient of every weight. `upstream` is ∂L/∂ of the last step."""
    weights = {name: ops.load(values) for name, values in model.weights.named()}
    values = {step.name: step.values for step in steps} | weights
    context = _Context(model, ids, steps, values, ops)
    pending: dict[str, list[Part]] = {upstream.target: [upstream]}

    def collected(name: str) -> Any:
        parts = pending.pop(name, [])
        total = parts[0].value if parts else ops.zeros_like(values[name])
        for part in parts[1:]:
            total = ops.add(total, part.value)
        total = ops.settle(total)
        record(f"grad.{name}", total, parts)
        return total

    for step in reversed(steps):
        if step.name in pending:
            gradient = collected(step.name)
            for part in _RULES[step.op](context, step, gradient):
                pending.setdefault(part.target, []).append(part)
    return {name: collected(name) for name in weights}


class _Context(NamedTuple):
    model: Model
    ids: list[int]
    steps: Sequence[Recorded]
    values: dict[str, Any]
    ops: Arithmetic


def _transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _pass_on(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    for read in step.reads:
        yield Part(read, "pass", g, (f"grad.{step.name}",))


def _lookup(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    table = step.reads[-1]
    rows = c.ids if step.op == "lookup" else list(range(len(c.ids)))
    yield Part(table, "lookup", c.ops.scatter(g, rows, c.values[table].shape[0]), (f"grad.{step.name}",))


def _nothing(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    return iter(())


def _linear(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    """y = x W + b; where the embedding is tied, y = x W_Eᵀ."""
    x, w = step.reads[:2]
    grad = f"grad.{step.name}"
    if step.op == "unembed":
        yield Part(x, "tied.x", c.ops.product(g, c.values[w]), (grad, w))
        yield Part(w, "tied.W", c.ops.product(_transposed(g), c.values[x]), (grad, x))
    else:
        yield Part(x, "linear.x", c.ops.product(g, _transposed(c.values[w])), (grad, w))
        yield Part(w, "linear.W", c.ops.product(_transposed(c.values[x]), g), (x, grad))
    for b in step.reads[2:]:
        yield Part(b, "bias", c.ops.total(g, 0), (grad,))


def _project(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    """y_h = x W_h + b_h for every head h."""
    x, w = step.reads[:2]
    grad = f"grad.{step.name}"
    back = c.ops.total(c.ops.product(g, _transposed(c.values[w])), 0)
    yield Part(x, "linear.x", back, (grad, w))
    yield Part(w, "linear.W", c.ops.product(_transposed(c.values[x])[None], g), (x, grad))
    for b in step.reads[2:]:
        if b.endswith(".b_K"):  # it adds q·b_K to a whole row of scores, and a softmax ignores that
            yield Part(b, "shift.invariant", c.ops.zeros_like(c.values[b]), (grad,))
        else:
            yield Part(b, "bias", c.ops.total(g, 1), (grad,))


def _merge(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    """y = Σ_h z_h W_O,h + b."""
    z, w = step.reads[:2]
    grad = f"grad.{step.name}"
    yield Part(z, "linear.x", c.ops.product(g[None], _transposed(c.values[w])), (grad, w))
    yield Part(w, "linear.W", c.ops.product(_transposed(c.values[z]), g[None]), (z, grad))
    for b in step.reads[2:]:
        yield Part(b, "bias", c.ops.total(g, 0), (grad,))


def _scores(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    q, k = step.reads
    yield Part(q, "scores.q", c.ops.product(g, c.values[k]), (f"grad.{step.name}", k))
    yield Part(k, "scores.k", c.ops.product(_transposed(g), c.values[q]), (f"grad.{step.name}", q))


def _scale(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    factor = c.ops.constant(c.model.config.scale_at(step.name))
    yield Part(step.reads[0], "scale", c.ops.scale(g, factor), (f"grad.{step.name}",))


def _softmax(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    """∂L/∂s = (diag(a) − a aᵀ) ∂L/∂a, row by row; what is masked has a = 0."""
    weighted = c.ops.times(step.values, g)
    mean = c.ops.total(weighted, -1)[..., None]
    back = c.ops.subtract(weighted, c.ops.times(step.values, mean))
    yield Part(step.reads[0], "softmax", back, (step.name, f"grad.{step.name}"))


def _erase(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    yield Part(step.reads[0], "pass", c.ops.erase(g, c.model.config), (f"grad.{step.name}",))


def _mix(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    pattern, v = step.reads
    yield Part(pattern, "mix.pattern", c.ops.product(g, _transposed(c.values[v])), (f"grad.{step.name}", v))
    yield Part(v, "mix.v", c.ops.product(_transposed(c.values[pattern]), g), (pattern, f"grad.{step.name}"))


def _mean(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    x = step.reads[0]
    spread = c.ops.times(g, c.ops.ratio(1, c.values[x].shape[-1]))
    yield Part(x, "mean", np.broadcast_to(spread, c.values[x].shape), (f"grad.{step.name}",))


def _center(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    x, mean = step.reads
    yield Part(x, "pass", g, (f"grad.{step.name}",))
    yield Part(mean, "center.mean", c.ops.times(c.ops.total(g, -1)[..., None], c.ops.ratio(-1, 1)), (f"grad.{step.name}",))


def _variance(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    x = step.reads[0]
    slope = c.ops.times(c.values[x], c.ops.ratio(2, c.values[x].shape[-1]))
    yield Part(x, "variance", c.ops.times(slope, g), (f"grad.{step.name}", x))


def _deviation(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    half = c.ops.times(g, c.ops.ratio(1, 2))
    yield Part(step.reads[0], "deviation", c.ops.over(half, step.values), (f"grad.{step.name}", step.name))


def _normalise(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    """y = w·x/s + b, entry by entry."""
    x, s, w, b = step.reads
    grad, ops = f"grad.{step.name}", c.ops
    g = ops.mark(g)
    unit = ops.over(c.values[x], c.values[s])  # x/s
    scaled = ops.over(ops.times(g, c.values[w]), c.values[s])  # g·w/s
    yield Part(x, "normalise.x", scaled, (grad, w, s))
    if scale_free(step.name, c.steps, c.model.config) and len(ops.zero_entries(c.values[b])) == c.values[b].size:
        yield Part(s, "scale.invariant", ops.times(c.values[s], ops.ratio(0, 1)), (grad,))
    else:
        back = ops.times(ops.total(ops.times(scaled, unit), -1)[..., None], ops.ratio(-1, 1))
        yield Part(s, "normalise.s", back, (grad, w, x, s))
    yield Part(w, "normalise.w", ops.total(ops.times(g, unit), 0), (grad, x, s))
    yield Part(b, "bias", ops.total(g, 0), (grad,))


def _activation(c: _Context, step: Recorded, g: Any) -> Iterator[Part]:
    pre = step.reads[0]
    x = c.values[pre]
    kinks = c.ops.zero_entries(x) if step.op == "relu" else []
    remarks = tuple((i, f"ReLU′(0) = 0, by convention, at position {i}, unit {j}") for i, j in kinks)
    slope = c.ops.slope(x, step.op)  # type: ignore[arg-type]
    yield Part(pre, f"{step.op}.slope", c.ops.times(g, slope), (f"grad.{step.name}", pre), remarks)


_RULES: dict[str, Callable[[_Context, Recorded, Any], Iterator[Part]]] = {
    "lookup": _lookup, "table": _lookup, "sinusoidal": _nothing,
    "hardmax": _nothing, "same": _pass_on, "add": _pass_on, "linear": _linear,
    "unembed": _linear, "project": _project, "merge": _merge, "scores": _scores, "scale": _scale, "mask": _pass_on,
    "shift": _pass_on, "softmax": _softmax, "erase": _erase, "mix": _mix, "mean": _mean, "center": _center, "variance": _variance,
    "deviation": _deviation, "normalise": _normalise, "relu": _activation, "identity": _activation, "gelu": _activation,
    "gelu_tanh": _activation,
}  # fmt: skip
