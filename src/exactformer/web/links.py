"""Where a number came from, derived from the operation of its step and from what it reads.

The letters of an operation (model/operations) say what an entry reads: for `linear`, "ij" from "ik", "kj", "j". Read from right to
left, the same letters say what a number feeds; and they say it of gradients too: what step S hands back to what it reads comes from
the gradient of S, from S itself, and from the other things that S reads, with the letters that S has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from exactformer.trace import Step


class Link(NamedTuple):
    """Entry `out` of a step reads entry `at` of `read`; letters that stand in one of them alone run over a whole axis.

    `via` is the step whose gradient is handed back, where this is a gradient.
    """

    read: str
    out: str
    at: str
    via: str = ""


def signature(step: Step) -> tuple[str, ...]:
    """
    >>> from exactformer import load
    >>> signature(load("capstone").trace()["blocks.0.attn.scores"])
    ('hij', 'hik', 'hjk')
    """
    return step.operation.signature(step.values.ndim, len(step.reads))


def links(step: Step) -> list[Link]:
    """What a step of a pass reads."""
    out, *reads = signature(step)
    return [Link(read, out, at) for read, at in zip(step.reads, reads, strict=False)]


def gradient_links(step: Step, forward: Sequence[Step]) -> list[Link]:
    """What a gradient reads: something from every step that reads what it is the gradient of."""
    return list(dict.fromkeys(_gradient_links(step, forward)))


def _gradient_links(step: Step, forward: Sequence[Step]) -> Iterator[Link]:
    target = step.name.removeprefix("grad.")
    if target == "logits":
        yield from (Link(read, "ij", "ij") for read in step.reads)
        return
    for reader in forward:
        out, *reads = signature(reader)
        letters = dict(zip(reader.reads, reads, strict=False))
        if target not in letters:
            continue
        for name, at in ((f"grad.{reader.name}", out), (reader.name, out), *letters.items()):
            if name in step.reads:
                yield Link(name, letters[target], at, reader.name)
