"""What a part of a model does to a lead: the same pass without it, with its mean instead, or with what it gave elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from exactformer.arithmetics import able, kind
from exactformer.messages import Refused, listed, quoted
from exactformer.model.ablating import ModelPart, without
from exactformer.model.arithmetics.exact import ExactArithmetic
from exactformer.model.errors import InputError
from exactformer.model.recorder import Note
from exactformer.model.step import Step
from exactformer.numbers import Number, Undefined
from exactformer.showing import Shown
from exactformer.trace.trace import Output, Trace, run

_WAYS = "write NAME=zero, NAME=mean or NAME=from TEXT, such as blocks.0.attn.head.3=zero"


@dataclass(frozen=True)
class Ablation(Shown):
    """A lead before and after, and their difference."""

    title: str
    arithmetic: str
    tokens: tuple[str, ...]
    position: int
    parts: tuple[str, ...]  # what was left out, as it was asked for
    token: str
    over: str
    before: Any
    after: Any
    change: Any
    said: tuple[Output, Output]  # the token before and after

    @property
    def undefined(self) -> str | None:
        """Where there is no such lead at all, when and why: of a number that does not exist, nothing is left to decide."""
        for when, lead in (("before", self.before), ("after", self.after)):
            if isinstance(lead, Undefined) and not lead.undecided:
                return f"{when}: {lead.why}"
        return None

    def __repr__(self) -> str:
        return f"<ablation of {', '.join(self.parts)}: the lead of {self.token!r} over {self.over!r}>"


def ablation(
    parts: Iterable[str], before: Trace, after: Trace, token: str | None = None, over: str | None = None, position: int = -1
) -> Ablation:
    """What is different after in the lead of a token, by default of the one that was said, over another, by default the next."""
    position = before.place(position)
    if before.model.config.unembedding == "none":
        raise InputError("the model has no logits: there is no lead")
    said, now = before.output[position], after.output[position]
    over = said.runner_up if token is None and over is None else over
    token = said.token if token is None else token
    if token is None or over is None:
        raise InputError(f"position {position}: {said.why or 'there is no other token'}: say of which two tokens")
    ops = before.going_on()
    columns = [before.model.column(name) for name in (token, over)]
    leads = [ops.subtract(*(trace.logits[position, column] for column in columns))[()] for trace in (before, after)]
    if before.exact:
        leads = list(ops.settle(np.array(leads, dtype=object)))
    change = ops.settle(ops.subtract(np.array(leads[1:]), np.array(leads[:1])))[0]
    return Ablation(
        before.title, before.arithmetic, before.tokens, position, tuple(parts), token, over, leads[0], leads[1], change, (said, now)
    )


def ablate(
    trace: Trace, parts: Iterable[str], token: str | None = None, over: str | None = None, position: int = -1,
    means: Iterable[Trace | str] = (), progress: Callable[[str], None] = lambda step: None,
) -> Ablation:  # fmt: skip
    """The pass again without its parts, all of them at once: `blocks.0.attn.head.3=zero`, `=mean`, `=from TEXT`; docs/explain.md.

    >>> from exactformer.worksheets import load
    >>> t = load("induction").trace("a b a")
    >>> found = ablate(t, ["blocks.1.attn.head.0=zero"])
    >>> found, found.change == -found.before
    (<ablation of blocks.1.attn.head.0=zero: the lead of 'b' over 'a'>, True)
    >>> print(ablate(t, ["blocks.1.attn.head.0=from b c b"], "b", "c").change.digits(5))
    -200.00
    """
    parts, model, patches = tuple(parts), trace.model, {}
    if not parts:
        raise InputError(f"no part is given: {_WAYS}")
    others: list[Trace] = []  # the passes of the mean
    for each in parts:
        name, _, how = (word.strip() for word in each.partition("="))
        part = ModelPart.named(name, model.config)
        way, _, text = how.partition(" ")
        if how == "zero":
            model = without(model, part)
        elif how == "mean":
            others = others or [other if isinstance(other, Trace) else trace.again(other) for other in means]
            if not others:
                raise InputError(f"{each[:60]}: give the prompts of the mean (--over FILE; in Python means=[…])")
            model = without(model, part, mean(part, others))
        elif way == "from" and text.strip():
            patches[part] = _other(trace, part.name, text.strip().strip('"'))
        else:
            raise InputError(f"{each[:60]!r} is not an ablation: {_WAYS}")
    after = run(model, trace.tokens, trace.arithmetic, trace.title, progress=progress, patched=patch(patches))
    return ablation(parts, trace, after, token, over, position)


def _other(trace: Trace, part: str, text: str) -> Trace:
    """The pass that a part is taken from."""
    if not kind(trace.arithmetic).stepwise:
        stepwise = listed(able(lambda kind: kind.stepwise))
        raise InputError(f"{trace.arithmetic} computes whole layers, into which nothing is put: =from goes with {stepwise}")
    try:
        other = trace.again(text)
    except Refused as error:
        raise InputError(f"{part}: {error}") from None
    if len(other.tokens) != len(trace.tokens):
        has = f"{len(other.tokens)} token{'s' * (len(other.tokens) != 1)}"
        raise InputError(f"{part}: {quoted(text)} has {has}, the input {len(trace.tokens)}: give as many")
    return other


def sign(value: Any) -> int | None:
    """1, 0 or −1 where that is proved, or clear in floats; None where it is not decided."""
    if isinstance(value, Undefined):
        return None
    if isinstance(value, Number):
        return value.sign()
    if isinstance(value, arb):
        return 1 if value > 0 else -1 if value < 0 else 0 if value.is_zero() else None
    return None if value != value else int(value > 0) - int(value < 0)


def mean(part: ModelPart, traces: Sequence[Trace]) -> Any:
    """What a part wrote on average, over all positions of all passes: exact numbers.

    Of balls and floats it is the nearest floats to that average: a vector of its own, which is then exactly what is put in.
    """
    first = traces[0]
    ops = first.going_on()
    rows = []
    for trace in traces:
        values = trace[part.step].values
        if part.head is not None:
            W_O = ops.load(trace.model.weights.blocks[part.block].attn.W_O[part.head])
            values = ops.product(values[part.head], W_O)
        rows.append(values)
    together = np.concatenate(rows)
    found = ops.settle(ops.times(ops.total(together, 0), ops.ratio(1, len(together))))
    if first.exact:
        return found
    return ExactArithmetic().load(np.array([float(x.mid()) if isinstance(x, arb) else float(x) for x in found]))


def patch(changes: Mapping[ModelPart, Trace]) -> Note:
    """Puts in what parts gave in other passes, position by position."""

    def note(step: Step) -> Any:
        values = step.values
        for part, other in changes.items():
            if part.step == step.name:
                values = _put(values, other[step.name].values, part)
        return values

    return note


def _put(values: Any, others: Any, part: ModelPart) -> Any:
    if part.head is None:
        return others
    values = values.copy()
    values[part.head] = others[part.head]
    return values
