"""The logit lens: what the model would say if the pass ended here, by its own final norm and unembedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from exactformer.model.errors import InputError
from exactformer.model.layers.embedding import unembedding
from exactformer.model.layers.norm import normed
from exactformer.model.recorder import Handle, Recorder, unnoted
from exactformer.showing import Shown
from exactformer.trace.trace import Output, Trace, output_of


@dataclass(frozen=True)
class Look:
    """The stream at one place, and what it says there."""

    step: str
    output: Output


@dataclass(frozen=True)
class Lens(Shown):
    """What is seen at one position: before the first block, after each, and so at the end."""

    title: str
    arithmetic: str
    tokens: tuple[str, ...]
    position: int
    looks: tuple[Look, ...]

    def __iter__(self) -> Iterator[Look]:
        return iter(self.looks)

    def __len__(self) -> int:
        return len(self.looks)

    def __getitem__(self, place: int) -> Look:
        return self.looks[place]

    @property
    def proved(self) -> bool:
        """Is each of the tokens proved?"""
        return all(look.output.proved for look in self.looks)

    def __repr__(self) -> str:
        return f"<lens at position {self.position}: {' → '.join(str(look.output.token) for look in self.looks)}>"


def lens(trace: Trace, position: int = -1) -> Lens:
    """Before the first block, after each, and so at the end, where it is what the model says.

    >>> from exactformer.worksheets import load
    >>> found = lens(load("induction").trace("a b a"))
    >>> found
    <lens at position 2: ! → ! → b>
    >>> for look in found:
    ...     print(look.step, look.output.token, "tied" if look.output.ties else "alone")
    blocks.0.resid_pre ! tied
    blocks.1.resid_pre ! tied
    blocks.1.resid_post b alone
    """
    model = trace.model
    if model.config.unembedding == "none":
        raise InputError("the model has no logits: a lens would show nothing")
    position = trace.place(position)
    ops = trace.going_on()
    p = Recorder(model.config, ops, unnoted, range(1))
    looks = []
    for name in _streams(trace):
        x = Handle(name, trace[name].values[position : position + 1])  # [1, dim]
        x = x if model.weights.ln_final is None else normed(p, x, model.weights.ln_final, "ln_final")
        (choice,) = ops.choose(unembedding(p, model.weights, x).value)
        looks.append(Look(name, output_of(position, choice, model.config.spoken)))
    return Lens(trace.title, trace.arithmetic, trace.tokens, position, tuple(looks))


def _streams(trace: Trace) -> list[str]:
    """What each block reads, and what follows the last."""
    ends = ("ln_final.", "uncapped", "logits")
    last: Any = next(step for step in trace.steps if step.name.startswith(ends))
    return [*(f"blocks.{n}.resid_pre" for n in range(trace.model.config.blocks)), last.reads[0]]
