"""The record of a pass: every step by name, whatever the arithmetic, and the token at every position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.model import Choice, Model, arithmetic, forward
from exactformer.numbers import Named
from exactformer.trace.formulas import describe


@dataclass(frozen=True)
class Step:
    """One named line of a pass: its operation, what it reads, what it yields."""

    name: str
    op: str
    title: str
    formula: str
    latex: str
    reads: tuple[str, ...]
    values: Any  # numpy.ndarray: [T, …] or [heads, T, …]
    remarks: tuple[tuple[int, str], ...] = ()  # position and text
    labels: tuple[tuple[str, ...], ...] = ()  # what the columns stand for, for each head, where they have names

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    @property
    def by_head(self) -> bool:
        return bool(self.values.ndim == 3)

    def at(self, position: int) -> list[Any]:
        """The rows of one position: one, or one for each head."""
        rows = self.values[:, position] if self.by_head else self.values[position : position + 1]
        return list(rows)

    def __repr__(self) -> str:
        return f"{self.name} = {self.formula}\n{np.array2string(self.values, formatter={'all': str})}"


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
class Trace:
    """A whole pass. `trace["blocks.0.attn.pattern"]` is a step, `trace.logits` an array, `trace.token(1)` a token."""

    model: Model
    title: str
    arithmetic: str
    tokens: tuple[str, ...]
    steps: tuple[Step, ...]
    output: tuple[Output, ...]
    stopped: tuple[str | None, ...]  # for every position, the named step that it stops at, if it stops
    pieces: tuple[Any, ...] = ()  # what a tokenizer cut the input into, where one did

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(f"no step {name!r}; the steps are {', '.join(step.name for step in self.steps)}")

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def logits(self) -> Any:
        return self["logits"].values

    @property
    def computed(self) -> tuple[Step, ...]:
        """The steps of the pass itself, up to the logits: without probabilities and tokens, which are read off them."""
        return tuple(step for step in self.steps if step.name not in ("probs", "token"))

    def token(self, position: int) -> str | None:
        """The token that follows `position`; None where it is undefined, undecided or not reached."""
        if not 0 <= position < len(self.output):
            raise IndexError(f"no token at position {position}: the pass has {len(self.output)}")
        return self.output[position].token

    def __repr__(self) -> str:
        return f"<trace of {' '.join(self.tokens)!r}: {len(self.steps)} steps, {self.arithmetic}>"

    def shown(self, position: int) -> Iterator[Step]:
        """The steps of one position, up to the one that it stops at."""
        for step in self.steps:
            yield step
            if step.name == self.stopped[position]:
                return

    @property
    def decided(self) -> bool:
        """Was every token that the pass reached proved (or proved undefined)?"""
        return all(out.proved or self.stopped[out.position] is not None for out in self.output)

    def _repr_html_(self) -> str:
        from exactformer.render.html import fragment

        return fragment(self)

    def __str__(self) -> str:
        from exactformer.render.text import render

        return render(self)


def run(
    model: Model,
    tokens: Sequence[str] | str,
    arithmetic_name: str = "exact",
    title: str = "",
    stop_at_named: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> Trace:
    """Run a pass and keep every step. With `stop_at_named`, a position ends at its first named step.

    `progress` is told the name of each step once it is done.
    """
    words = tuple(tokens.split()) if isinstance(tokens, str) else tuple(tokens)
    ids = model.ids(words)
    ops = arithmetic(arithmetic_name)
    steps: list[Step] = []

    def note(name: str, op: str, value: Any, *reads: str, remarks: tuple[tuple[int, str], ...] = ()) -> Any:
        progress(name)
        steps.append(Step(name, op, *describe(op, reads, model.config), reads, ops.shown(value), remarks))
        return value

    result = forward(model, ids, ops, note)
    has_logits = model.config.unembedding != "none"
    if has_logits and not stop_at_named:  # the book's rule follows the logits to the token; probabilities would stop every position
        note("probs", "softmax", ops.softmax(result), "logits")
    choices = ops.choose(result) if has_logits else []
    stopped: list[str | None] = [None] * len(words)
    if stop_at_named:
        stopped = [_first_named(steps, position) for position in range(len(words))]
    output = tuple(_output(position, choice, model.config.vocabulary, stopped[position]) for position, choice in enumerate(choices))
    if has_logits:
        note("token", "argmax", np.array([[out.token] for out in output], dtype=object), "logits")  # [T, 1]
    return Trace(model, title, arithmetic_name, words, tuple(steps), output, tuple(stopped))


def _first_named(steps: list[Step], position: int) -> str | None:
    for step in steps:
        if any(type(value) is Named for row in step.at(position) for value in row):
            return step.name
    return None


def _output(position: int, choice: Choice, vocabulary: tuple[str, ...], stopped: str | None) -> Output:
    if stopped is not None:
        return Output(position, None, False, why=f"stops at {stopped}, its first named step")
    if choice.index is None:
        return Output(position, None, choice.proved, why=choice.why)
    return Output(
        position,
        vocabulary[choice.index],
        choice.proved,
        tuple(vocabulary[i] for i in choice.ties),
        None if choice.runner_up is None else vocabulary[choice.runner_up],
        choice.margin,
    )
