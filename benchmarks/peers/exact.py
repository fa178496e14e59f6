"""exactformer itself: the pass of the library, with digits that are proved."""

from __future__ import annotations

from typing import Any

from benchmarks.models import Problem, exact_model
from benchmarks.peers.peer import DIGITS, Answer, Peer
from exactformer.arithmetics import arithmetic
from exactformer.model import Model, forward
from exactformer.numbers import Number, Undecided, Undefined


def _prepare(problem: Problem) -> tuple[Model, list[int]]:
    return exact_model(problem), list(problem.tokens)


def _solve(prepared: tuple[Model, list[int]]) -> Answer:
    model, tokens = prepared
    ops = arithmetic("exact")
    logits = forward(model, tokens, ops, _keep_nothing)  # [T, vocabulary]
    winners = tuple(choice.index for choice in ops.choose(logits))
    decimals = tuple(tuple(_digits(x) for x in row) for row in logits)
    return Answer(decimals, winners, winners.count(None) + sum(row.count(None) for row in decimals))


def _keep_nothing(step: Any) -> Any:
    return step.values


def _digits(x: Number) -> str | None:
    if isinstance(x, Undefined):
        return None
    try:
        return x.digits(DIGITS)
    except Undecided:
        return None


EXACTFORMER = Peer("exactformer", _prepare, _solve)
