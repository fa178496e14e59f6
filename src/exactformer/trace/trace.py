"""The record of a pass: every step by name, whatever the arithmetic, and the token at every position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.arithmetics import arithmetic, kind, one_by_one
from exactformer.messages import quoted
from exactformer.model import Choice, InputError, Model, Step, Values, forward
from exactformer.model.arithmetics.roles import Adjoints
from exactformer.model.axes import HEAD, POSITION, Axis
from exactformer.model.operations.attention import ARGMAX, SOFTMAX
from exactformer.model.operations.others import WEIGHT
from exactformer.model.recorder import Note, unnoted
from exactformer.model.step import Words
from exactformer.model.weights import declared
from exactformer.numbers import Named
from exactformer.numbers.balls import enclosed, presented
from exactformer.showing import Plotted
from exactformer.trace.steps import Steps

if TYPE_CHECKING:
    from exactformer.trace.ablation import Ablation
    from exactformer.trace.explanation import Explanation
    from exactformer.trace.lens import Lens

_UNSEEN = (HEAD, POSITION, POSITION)  # of lines that an arithmetic does without, which are inside attention


@dataclass(frozen=True)
class Output:
    """The token at one position: proved, or None with the reason why there is none."""

    position: int
    token: str | None
    proved: bool
    ties: tuple[str, ...] = ()
    runner_up: str | None = None
    margin: Any = None
    why: str = ""


@dataclass(frozen=True)
class Trace(Plotted, Steps):
    """A whole pass. `trace["pattern"]` is a step, `trace.logits` an array, `trace.token(1)` a token."""

    model: Model
    title: str
    arithmetic: str
    tokens: tuple[str, ...]
    steps: tuple[Step, ...]
    output: tuple[Output, ...]
    stopped: tuple[str | None, ...]  # for every position, the named step that it stops at, if it stops
    pieces: tuple[Any, ...] = ()  # what a tokenizer cut the input into, where one did
    reader: Callable[[str], Trace] | None = field(default=None, compare=False, repr=False)  # the same pass over another text

    @property
    def logits(self) -> Any:
        return self["logits"].values

    @cached_property
    def weights(self) -> tuple[Step, ...]:
        """The weights, as steps that read nothing."""
        known, words = declared(self.model.config), Words((), self.model.config)
        return tuple(
            Step(name, WEIGHT, (), values, axes=known[name].axes, words=words) for name, values in self.model.weights.named()
        )

    def axes(self, name: str) -> tuple[Axis, ...]:
        """What the axes of a step, of a weight or of their gradients count."""
        bare = name.removeprefix("grad.")
        return next((step.axes for step in (*self.steps, *self.weights) if step.name == bare), ())

    @property
    def computed(self) -> tuple[Step, ...]:
        """The steps of the pass itself, up to the logits: without probabilities and tokens, which are read off them."""
        return tuple(step for step in self.steps if step.name not in ("probs", "token"))

    def token(self, position: int) -> str | None:
        """The token that follows `position`; None where it is undefined, undecided or not reached."""
        if not 0 <= position < len(self.output):
            raise IndexError(f"no token at position {position}: the pass has {len(self.output)}")
        return self.output[position].token

    def place(self, position: int) -> int:
        """A position, from the end where it is negative; or one clear line."""
        length = len(self.tokens)
        if not -length <= position < length:
            raise InputError(f"position {position}: the input has the positions 0 to {length - 1}")
        return position % length

    def going_on(self) -> Adjoints:
        """The arithmetic for what is computed with its numbers one by one: its own; the balls of whole layers are balls."""
        return one_by_one(self.arithmetic)

    def explain(self, token: str | None = None, over: str | None = None, position: int = -1) -> Explanation:
        """Where a logit comes from, or the lead of one over another: docs/explain.md."""
        from exactformer.trace.explaining import explain

        return explain(self, token, over, position)

    def ablate(
        self, *parts: str, token: str | None = None, over: str | None = None, position: int = -1, means: Iterable[Trace | str] = ()
    ) -> Ablation:
        """What a lead is without parts: `t.ablate("blocks.0.attn.head.3=zero")`, `=mean` over `means`, `=from` another text."""
        from exactformer.trace.ablation import ablate

        return ablate(self, parts, token, over, position, means)

    def again(self, text: str) -> Trace:
        """The same pass over another text, which the tokenizer of the worksheet cuts up; without one, over names of tokens."""
        if self.reader is not None:
            return self.reader(text)
        return run(self.model, text, self.arithmetic, self.title)

    def lens(self, position: int = -1) -> Lens:
        """What the model would say after each block."""
        from exactformer.trace.lens import lens

        return lens(self, position)

    def __repr__(self) -> str:
        return f"<trace of {quoted(' '.join(self.tokens))}: {len(self.steps)} steps, {self.arithmetic}>"

    def shown(self, position: int) -> Iterator[Step]:
        """The steps of one position, up to the one that it stops at."""
        for step in self.steps:
            yield step
            if step.name == self.stopped[position]:
                return

    @property
    def exact(self) -> bool:
        """Are its numbers exact or named? Else they are balls or floats."""
        return kind(self.arithmetic).numbers == "exact"

    @property
    def decided(self) -> bool:
        """Was every token that the pass reached proved (or proved undefined)?"""
        return all(out.proved or self.stopped[out.position] is not None for out in self.output)


def run(
    model: Model,
    tokens: Sequence[str] | str,
    arithmetic_name: str = "exact",
    title: str = "",
    stop_at_named: bool = False,
    progress: Callable[[str], None] = lambda step: None,
    ops: Values | None = None,
    patched: Note = unnoted,
) -> Trace:
    """Run a pass and keep every step. With `stop_at_named`, a position ends at its first named step.

    `progress` gets the name of each step once it is done. `ops` is an arithmetic with settings of its own, instead of one by name.
    `patched` hands back the values that a step is to have, for arithmetics that go step by step.
    """
    words = tuple(tokens.split()) if isinstance(tokens, str) else tuple(tokens)
    ids = model.ids(words)
    ops = arithmetic(arithmetic_name) if ops is None else ops
    steps: list[Step] = []
    called = Words(words, model.config)
    axes = {"tokens": (POSITION,)} | {name: weight.axes for name, weight in declared(model.config).items()}

    def note(step: Step) -> Any:
        progress(step.name)
        step = replace(step, values=patched(step))
        values = enclosed(ops.shown(step.values))
        axes[step.name] = step.operation.axes(values.ndim, [axes.get(read, _UNSEEN) for read in step.reads])
        steps.append(replace(step, values=values, axes=axes[step.name], words=called))
        return step.values

    result = forward(model, ids, ops, note)
    has_logits = model.config.unembedding != "none"
    if has_logits and not stop_at_named:  # the book's rule follows the logits to the token; probabilities would stop every position
        note(Step("probs", SOFTMAX, ("logits",), ops.softmax(result), stage="softmax"))
    choices = ops.choose(result) if has_logits else []
    stopped: list[str | None] = [None] * len(words)
    if stop_at_named:
        stopped = [_first_named(steps, position) for position in range(len(words))]
    output = tuple(output_of(position, choice, model.config.spoken, stopped[position]) for position, choice in enumerate(choices))
    if has_logits:
        note(Step("token", ARGMAX, ("logits",), np.array([[out.token] for out in output], dtype=object), stage="argmax"))  # [T, 1]
    return Trace(model, title, ops.name, words, tuple(steps), output, tuple(stopped))


def _first_named(steps: list[Step], position: int) -> str | None:
    for step in steps:
        if any(type(value) is Named for row in step.at(position) for value in row):
            return step.name
    return None


def output_of(position: int, choice: Choice, spoken: tuple[str, ...], stopped: str | None = None) -> Output:
    """The token that a choice is."""
    if stopped is not None:
        return Output(position, None, False, why=f"stops at {stopped}, the first step with a formula")
    if choice.index is None:
        return Output(position, None, choice.proved, why=choice.why)
    return Output(
        position,
        spoken[choice.index],
        choice.proved,
        tuple(spoken[i] for i in choice.ties),
        None if choice.runner_up is None else spoken[choice.runner_up],
        presented(choice.margin),
    )
