"""What is compared: the same logits, to 50 digits, with every decision on the way taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.models import Problem

DIGITS = 50


@dataclass(frozen=True)
class Answer:
    logits: tuple[tuple[str | None, ...], ...]  # [T, vocabulary], decimals; None where there is no value
    winners: tuple[int | None, ...]  # [T]; None where the argmax could not be decided
    undecided: int  # signs before a ReLU, argmaxes and logits that are left open


@dataclass(frozen=True)
class Peer:
    """`prepare` turns the weights into the peer's own numbers and is not timed; `solve` is."""

    name: str
    prepare: Callable[[Problem], Any]
    solve: Callable[[Any], Answer]
