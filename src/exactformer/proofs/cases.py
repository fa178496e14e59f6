"""One case of a theorem: what the model says after a sequence, proved, as plain data that a journal can keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from flint import arb

from exactformer.model import Arithmetic, Choice, Model, arithmetic, forward
from exactformer.model.cache import Cache
from exactformer.numbers import Undecided
from exactformer.numbers.decimals import outwards
from exactformer.numbers.enclosure import ball_bounds, decimal_bounds

_MOST_LOGITS = 64  # beyond this, a case keeps the winner and the runner-up alone
_DIGITS = 12


@dataclass(frozen=True)
class Case:
    """Computes the greedy continuation of a sequence: for each token, the winner, what it ties with, and logits enclosed."""

    model: Model
    arithmetic: str = "exact"
    steps: int = 1

    def __setstate__(self, state: dict[str, Any]) -> None:
        """In a worker of its own, nobody writes to the weights: they are converted once."""
        self.__dict__.update(state)
        for _, weights in self.model.weights.named():
            weights.setflags(write=False)

    def __call__(self, tokens: tuple[str, ...] | list[str]) -> list[dict[str, Any]]:
        ids = self.model.ids(tuple(tokens))
        if self.arithmetic == "certified":
            return list(self._certified(ids))
        for ops in ladder(self.arithmetic):
            answers = list(self._continued(ids, ops))
            if all(answer["proved"] for answer in answers):
                break
        return answers

    @cached_property
    def _prepared(self) -> Any:
        from exactformer.certified import Prepared

        return Prepared(self.model)

    def _certified(self, ids: list[int]) -> Iterator[dict[str, Any]]:
        """The same in certified arrays, which set their precision themselves."""
        from exactformer.certified import generate

        names = self.model.config.vocabulary
        for found in generate(self.model, ids, self.steps, prepared=self._prepared, top=_MOST_LOGITS):
            if found.token is None:
                yield {"token": None, "proved": False, "why": found.why}
                return
            yield {
                "token": names[found.token],
                "proved": True,
                "ties": [names[i] for i in found.ties],
                "logits": {names[entry.token]: _outer(entry.low, entry.high) for entry in found.top},
            }

    def _continued(self, ids: list[int], ops: Arithmetic) -> Iterator[dict[str, Any]]:
        """Token after token, each fed back; keys and values are kept, where later positions cannot change them."""
        cache = Cache() if self.model.config.keeps_past else None
        new = ids
        for _ in range(self.steps):
            logits = forward(self.model, new if cache is not None else ids, ops, _quiet, cache)[-1:]
            (choice,) = ops.choose(logits)
            yield _answer(choice, logits[0], self.model.config.vocabulary)
            if choice.index is None:
                return
            new = [choice.index]
            ids = [*ids, choice.index]


def _quiet(name: str, op: str, value: Any, *reads: str, remarks: tuple[tuple[int, str], ...] = ()) -> Any:
    return value


@lru_cache
def _of_bits(bits: int) -> Arithmetic:
    """Kept for the life of a process, with the weights that it has converted."""
    from exactformer.model.arb_arithmetic import ArbArithmetic

    return ArbArithmetic(bits)


def ladder(name: str) -> Iterator[Arithmetic]:
    """The arithmetic, at the precisions that are tried in turn where it has one."""
    if name == "arb":
        yield from map(_of_bits, (64, 128, 256, 512, 1024))
    else:
        yield arithmetic(name)


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


def _outer(low: Fraction, high: Fraction) -> list[str]:
    return [outwards(*low.as_integer_ratio(), _DIGITS, down=True), outwards(*high.as_integer_ratio(), _DIGITS, down=False)]


def _bounds(value: Any) -> list[str] | None:
    """Two decimals around a logit; None where it is a float, which is around nothing."""
    try:
        if isinstance(value, arb):
            return list(ball_bounds(value, _DIGITS))
        return list(decimal_bounds(value, _DIGITS)) if hasattr(value, "status") else None
    except Undecided:
        return None
