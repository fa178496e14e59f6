"""One case of a theorem: what the model says after a sequence, proved, as plain data that a journal can keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flint import arb

from exactformer.arithmetics import arithmetic, kind
from exactformer.certificates.ends import outward_decimals
from exactformer.model import Choice, Model, Values, forward
from exactformer.model.arithmetics.deferred import Deferred
from exactformer.model.cache import Cache
from exactformer.numbers import Undecided
from exactformer.numbers.digits import agreed_bounds, ball_bounds, decimal_bounds
from exactformer.proofs.answers import MOST_LOGITS, bounds, reason
from exactformer.proofs.domain import Places, places_of

if TYPE_CHECKING:
    from exactformer.certificates.proving import Certified

_DIGITS = 12
_BITS = (64, 128, 256, 512, 1024)  # of balls


@dataclass(frozen=True)
class Case:
    """Computes the greedy continuation of a sequence, or answers at positions of it: for each token, the winner, what it ties
    with, and logits enclosed."""

    model: Model
    arithmetic: str = "exact"
    steps: int = 1
    positions: Places | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What was converted stays where it is."""
        return {name: getattr(self, name) for name in ("model", "arithmetic", "steps", "positions")}

    def __call__(self, tokens: tuple[str, ...] | list[str]) -> list[dict[str, Any]]:
        ids = self.model.ids(tuple(tokens))
        if not kind(self.arithmetic).stepwise:
            return list(self._certified(ids))
        # An exact arithmetic remembers the graph of one pass, so each case has its own.
        for ops in self._balls if kind(self.arithmetic).numbers == "balls" else (self._first.for_logits(),):
            answers = list(self._continued(ids, ops) if self.positions is None else self._placed(ids, ops, self.positions))
            if all(answer["proved"] for answer in answers):
                break
        return answers

    @cached_property
    def _first(self) -> Values:
        return arithmetic(self.arithmetic).for_logits()

    @cached_property
    def _balls(self) -> tuple[Values, ...]:
        """With the weights that they have converted, so kept as long as this case and no longer."""
        from exactformer.model.arithmetics.arb import ArbArithmetic

        return tuple(map(ArbArithmetic, _BITS))

    @cached_property
    def _prepared(self) -> Any:
        from exactformer.certificates import Prepared

        return Prepared(self.model)

    def _certified(self, ids: list[int]) -> Iterator[dict[str, Any]]:
        """The same in certified arrays, which set their precision themselves."""
        from exactformer.certificates import prove_tokens

        found = prove_tokens(self.model, ids, self.steps, prepared=self._prepared, top=MOST_LOGITS)
        return certified_answers(self.model, found)

    def _placed(self, ids: list[int], ops: Values, positions: Places) -> Iterator[dict[str, Any]]:
        """The answers at positions of the input, all of one pass."""
        logits = forward(self.model, ids, ops)[list(places_of(positions, len(ids)))]
        for i, choice in enumerate(ops.choose(logits)):
            yield _answer(choice, logits[i : i + 1], self.model.config.spoken)

    def _continued(self, ids: list[int], ops: Values) -> Iterator[dict[str, Any]]:
        """Token after token, each fed back; keys and values are kept, where later positions cannot change them."""
        cache = Cache() if self.model.config.keeps_past else None
        new = ids
        for step in range(self.steps):
            logits = forward(self.model, new if cache is not None else ids, ops, cache=cache)[-1:]
            (choice,) = ops.choose(logits)
            yield _answer(choice, logits, self.model.config.spoken)
            if choice.index is None:
                return
            if step < self.steps - 1:
                new = [self.model.fed_back(choice.index)]
                ids = [*ids, *new]


def certified_answers(model: Model, proved: Iterable[Certified]) -> Iterator[dict[str, Any]]:
    """Tokens of certified passes as answers: up to the first that is undecided."""
    names = model.config.spoken
    for found in proved:
        if found.token is None:
            yield {"token": None, "proved": False, "why": reason(found.why)}
            return
        ties = [names[i] for i in found.ties]
        if len(names) > MOST_LOGITS:
            lead = None if ties or found.margin is None else bounds(*outward_decimals(*found.margin, _DIGITS))
            yield _won(names[found.token], True, ties, lead=lead and lead[0])
        else:
            logits = {names[entry.token]: bounds(*outward_decimals(entry.low, entry.high, _DIGITS)) for entry in found.top}
            yield _won(names[found.token], True, ties, logits=logits)


def _answer(choice: Choice, logits: Any, outputs: tuple[str, ...]) -> dict[str, Any]:
    """Of a row of logits, [1, outputs]."""
    if choice.index is None:
        return {"token": None, "proved": choice.proved, "why": reason(choice.why)}
    token, ties = outputs[choice.index], [outputs[i] for i in choice.ties]
    if len(outputs) <= MOST_LOGITS:
        return _won(token, choice.proved, ties, logits=dict(zip(outputs, _row_bounds(logits), strict=True)))
    lead = None if ties or choice.margin is None else _bounds(choice.margin)  # its low end is below the lead over any other token
    return _won(token, choice.proved, ties, lead=lead and lead[0])


def _won(token: str, proved: bool, ties: list[str], **how: Any) -> dict[str, Any]:
    return {"token": token, "proved": proved, "ties": ties, **how}


def _row_bounds(logits: Any) -> list[list[str] | None]:
    """Of numbers that are not made yet, by their balls where these tell the decimals."""
    if not isinstance(logits, Deferred):
        return [_bounds(value) for value in logits[0]]
    (row,) = logits.answers(lambda b: (found := agreed_bounds(b, _DIGITS)) and bounds(*found), _bounds)
    return row


def _bounds(value: Any) -> list[str] | None:
    """Two decimals around a number; None where it is a float, which is around nothing."""
    try:
        if isinstance(value, arb):
            return bounds(*ball_bounds(value, _DIGITS))
        return bounds(*decimal_bounds(value, _DIGITS)) if hasattr(value, "status") else None
    except Undecided:
        return None
