"""exactformer itself: the pass of the library, with digits that are proved."""

from __future__ import annotations

from typing import Any

from benchmarks.models import Problem, exact_model
from benchmarks.peers.peer import DIGITS, Answer, Peer
from exactformer.arithmetics import arithmetic
from exactformer.model import Choice, Model, Values, forward
from exactformer.numbers import Number, Undecided, Undefined
from exactformer.numbers.digits import agreed_digits


def _prepare(problem: Problem) -> tuple[Model, list[int]]:
    return exact_model(problem), list(problem.tokens)


def _prepare_balls(problem: Problem) -> tuple[Model, list[int], Values]:
    """With balls around the weights, which a proof over many inputs makes once."""
    model, tokens = _prepare(problem)
    ops = arithmetic("exact").for_logits()
    for _, weights in model.weights.named():
        ops.load(weights)
    return model, tokens, ops


def _solve(prepared: tuple[Model, list[int], Values]) -> Answer:
    """Closed forms are built where a question needs them."""
    model, tokens, first = prepared
    ops = first.for_logits()
    logits: Any = forward(model, tokens, ops)  # [T, vocabulary]
    return _answer(ops.choose(logits), logits.answers(lambda b: agreed_digits(b, DIGITS), _digits))


def _solve_in_full(prepared: tuple[Model, list[int]]) -> Answer:
    """A closed form for every number of the pass, as in a trace."""
    ops = arithmetic("exact")
    logits = forward(*prepared, ops)
    return _answer(ops.choose(logits), [[_digits(x) for x in row] for row in logits])


def _answer(choices: list[Choice], decimals: list[list[str | None]]) -> Answer:
    winners = tuple(choice.index for choice in choices)
    return Answer(tuple(map(tuple, decimals)), winners, winners.count(None) + sum(row.count(None) for row in decimals))


def _digits(x: Number) -> str | None:
    if isinstance(x, Undefined):
        return None
    try:
        return x.digits(DIGITS)
    except Undecided:
        return None


EXACTFORMER = Peer("exactformer", _prepare_balls, _solve)
IN_FULL = Peer("exactformer, every closed form", _prepare, _solve_in_full)
