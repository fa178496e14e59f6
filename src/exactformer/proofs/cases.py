"""One case of a theorem: what the model says after a sequence, proved, as plain data that a journal can keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb

from exactformer.model import Arithmetic, Choice, Model, arithmetic, forward
from exactformer.numbers import Undecided
from exactformer.numbers.enclosure import ball_bounds, decimal_bounds

_MOST_LOGITS = 64  # beyond this, a case keeps the winner and the runner-up alone
_DIGITS = 12


@dataclass(frozen=True)
class Case:
    """Computes the greedy continuation of a sequence: for each token, the winner, what it ties with, and logits enclosed."""

    model: Model
    arithmetic: str = "exact"
    steps: int = 1

    def __call__(self, tokens: tuple[str, ...] | list[str]) -> list[dict[str, Any]]:
        ids, vocabulary = self.model.ids(tuple(tokens)), self.model.config.vocabulary
        answers: list[dict[str, Any]] = []
        for _ in range(self.steps):
            choice, logits = self._next(ids)
            answers.append(_answer(choice, logits, vocabulary))
            if choice.index is None:
                break
            ids = [*ids, choice.index]
        return answers

    def _next(self, ids: list[int]) -> tuple[Choice, Any]:
        for ops in ladder(self.arithmetic):
            logits = forward(self.model, ids, ops, lambda name, op, value, *reads, remarks=(): value)[-1:]
            (choice,) = ops.choose(logits)
            if choice.proved:
                break
        return choice, logits[0]


def ladder(name: str) -> list[Arithmetic]:
    """The arithmetic, at the precisions that are tried in turn where it has one."""
    if name != "arb":
        return [arithmetic(name)]
    from exactformer.model.arb_arithmetic import ArbArithmetic

    return [ArbArithmetic(bits) for bits in (64, 128, 256, 512, 1024)]


def _answer(choice: Choice, logits: Any, vocabulary: tuple[str, ...]) -> dict[str, Any]:
    if choice.index is None:
        return {"token": None, "proved": choice.proved, "why": choice.why}
    shown = range(len(vocabulary)) if len(vocabulary) <= _MOST_LOGITS else [choice.index, choice.runner_up]
    return {
        "token": vocabulary[choice.index],
        "proved": choice.proved,
        "ties": [vocabulary[i] for i in choice.ties],
        "logits": {vocabulary[i]: _bounds(logits[i]) for i in shown if i is not None},
    }


def _bounds(value: Any) -> list[str] | None:
    """Two decimals around a logit; None where it is a float, which is around nothing."""
    try:
        if isinstance(value, arb):
            return list(ball_bounds(value, _DIGITS))
        return list(decimal_bounds(value, _DIGITS)) if hasattr(value, "status") else None
    except Undecided:
        return None
