"""The record of a backward pass: the gradient of every step and weight, and a step of gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from exactformer.arithmetics import adjoints, kind
from exactformer.messages import many, quoted, short
from exactformer.model import Model
from exactformer.model.backward import backward
from exactformer.model.fields import ConfigError
from exactformer.model.forward import InputError
from exactformer.model.operations.operation import Part
from exactformer.model.operations.others import GIVEN, OF_CROSS_ENTROPY, Summed
from exactformer.model.step import Step
from exactformer.model.weights import rebuilt_weights
from exactformer.numbers import Exact, array, exact
from exactformer.numbers.balls import enclosed, presented
from exactformer.showing import Plotted, Shown
from exactformer.trace.steps import Steps
from exactformer.trace.trace import Trace, run


@dataclass(frozen=True)
class Gradient(Plotted, Steps):
    """Gradients by name: `gradient["attn.W_Q"]`, which is `grad.blocks.0.attn.W_Q`, is a step like those of a trace."""

    trace: Trace
    targets: tuple[str, ...]  # () where the upstream gradient was given
    loss: Any  # None where the upstream gradient was given
    steps: tuple[Step, ...]
    weights: dict[str, Any]

    _kind, _prefix = "gradient", "grad."

    def __repr__(self) -> str:
        return f"<gradient of {quoted(' '.join(self.trace.tokens))}: {len(self.steps)} steps, {self.trace.arithmetic}>"


def gradient(
    trace: Trace,
    targets: Sequence[str] | str | None = None,
    upstream: Any = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Gradient:
    """Gradients of the mean cross-entropy of `targets`, or of whatever has the gradient `upstream` by the last step."""
    ops = adjoints(trace.arithmetic).for_gradients()
    model = trace.model
    steps = trace.computed
    loss: Any = None
    words: tuple[str, ...] = ()
    if model.config.unembedding == "none":
        if upstream is None or targets is not None:
            raise InputError("the model has no logits: give the gradient of its last step, not targets")
        last = Part(steps[-1].name, GIVEN, ops.load(upstream), ())
        if last.value.shape != steps[-1].values.shape:
            given, wanted = (" × ".join(map(str, shape)) for shape in (last.value.shape, steps[-1].values.shape))
            raise InputError(f"the upstream gradient has the shape {given}, not {wanted}")
    else:
        if targets is None or upstream is not None:
            raise InputError("the loss is the cross-entropy of target tokens: give one for each position")
        words = tuple(targets.split()) if isinstance(targets, str) else tuple(targets)
        if len(words) != len(trace.tokens):
            raise InputError(f"{many(len(words), 'target')} for {many(len(trace.tokens), 'position')}")
        loss, value = ops.cross_entropy(trace.logits, model.columns(words))
        last = Part("logits", OF_CROSS_ENTROPY, value, ("probs",))
    recorded: list[Step] = []

    def record(name: str, value: Any, parts: Sequence[Part]) -> None:
        progress(name)
        reads = tuple(dict.fromkeys(read for part in parts for read in part.reads))
        remarks = tuple(remark for part in parts for remark in part.remarks)
        recorded.append(Step(name, Summed.of(parts), reads, enclosed(value), remarks))

    weights = backward(model, model.ids(trace.tokens), steps, last, ops, record)
    values = {step.name: step.values for step in recorded}
    return Gradient(trace, words, presented(loss), tuple(recorded), {name: values[f"grad.{name}"] for name in weights})


def ones_at_the_end(trace: Trace) -> Any:
    """A gradient of the last step, where none is given: ones at the last position."""
    length, dim = trace.steps[-1].values.shape
    return array([[int(i == length - 1)] * dim for i in range(length)])


def usual_gradient(trace: Trace, targets: str = "") -> Gradient:
    """Of the loss of the target tokens, or else of the input itself; of a model without logits, from ones at the last position."""
    if trace.model.config.unembedding == "none":
        return gradient(trace, None, ones_at_the_end(trace))
    config = trace.model.config
    if not targets and config.outputs and not set(trace.tokens) <= set(config.outputs):
        outputs = ", ".join(map(short, config.outputs[:8])) + ", …" * (len(config.outputs) > 8)
        raise InputError(f"the input is no target, as the model says other tokens ({outputs}): give one of them for each position")
    return gradient(trace, targets or " ".join(trace.tokens))


@dataclass(frozen=True)
class Descent(Shown):
    """One step of gradient descent: new weights, and the loss before and after."""

    model: Model
    before: Any
    after: Any

    def __repr__(self) -> str:
        return f"<step of gradient descent of {self.model!r}>"


def descend(gradient: Gradient, rate: Exact) -> Descent:
    """Weights minus `rate` times their gradients, and what that does to the loss."""
    trace = gradient.trace
    if gradient.loss is None:
        raise InputError("there is no loss to take a step against: the gradient of the last step was given")
    if kind(trace.arithmetic).numbers == "balls":
        raise InputError(f"{trace.arithmetic}: a step of descent would make balls of the weights, which are numbers")
    rate = exact(rate)
    ops = adjoints(trace.arithmetic)
    moved = {
        name: ops.subtract(ops.load(weight), ops.times(gradient.weights[name], ops.constant(rate)))
        for name, weight in trace.model.weights.named()
    }
    try:
        model = Model(trace.model.config, rebuilt_weights(trace.model.weights, moved))
    except ConfigError as error:
        raise ConfigError(error.field, f"{error.problem} after the step") from None
    again = run(model, trace.tokens, trace.arithmetic, trace.title)
    after, _ = ops.cross_entropy(again.logits, model.columns(gradient.targets))
    return Descent(model, gradient.loss, after)
