"""A batch of a theorem: which inputs a model answers as demanded, proved; as plain data that a journal can keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exactformer.certificates import Prepared, prove_tokens
from exactformer.certificates.many import logits_at
from exactformer.certified.ball import Ball
from exactformer.certified.choosing import leads
from exactformer.certified.losses import cross_entropies
from exactformer.model import Model
from exactformer.numbers import Undecided
from exactformer.proofs.answers import MOST_LOGITS
from exactformer.proofs.batches import Batch
from exactformer.proofs.cases import Case, certified_answers
from exactformer.proofs.domain import Places, places_of

RIGHT, OPEN, WRONG = 1, 0, -1


@dataclass(frozen=True)
class Deciding:
    """Floats first, for all inputs at once; limbs for those that floats leave open, one by one; then the arithmetic `last`, if any.

    Of `positions`, answers are read there; of `steps`, they are the next tokens, each fed back. Whether the tokens that follow are
    the demanded ones is seen with these fed back: up to the first that is not, the model's own are the same.
    """

    model: Model
    steps: int = 1
    positions: Places | None = None
    loss: bool = False
    last: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What was prepared stays where it is."""
        return {name: getattr(self, name) for name in ("model", "steps", "positions", "loss", "last")}

    @cached_property
    def _prepared(self) -> Prepared:
        return Prepared(self.model)

    def __call__(self, batch: Batch) -> dict[str, Any]:
        found = _Found(len(batch), self.loss and batch.right.shape[2] == 1)
        possible = (batch.right[:, :, 0] >= 0).all(axis=1) & (batch.right[:, : self._fed, 1:] < 0).all(axis=(1, 2))
        self._decide(batch, np.flatnonzero(possible), found)
        found.open_ended &= bool(possible.all())
        open_ones = np.flatnonzero(found.verdicts == OPEN).tolist()
        return {
            "first": batch.first,
            "inputs": len(batch),
            "demanded": batch.digest,
            "right": int((found.verdicts == RIGHT).sum()),
            "wrong": [
                [n, int(found.places[n]), int(found.winners[n]), float(found.low[n])]
                for n in np.flatnonzero(found.verdicts == WRONG).tolist()
            ],
            "least": found.least(batch),
            "leads": [found.histogram(RIGHT), found.histogram(WRONG)],
            "loss": found.total_loss(),
            "open": {str(n): list(self._alone(batch.ids[n].tolist())) for n in open_ones},
        }

    @property
    def _fed(self) -> int:
        """Answers that are fed back: all but the last."""
        return 0 if self.positions is not None else self.steps - 1

    def _heard(self, outputs: Any) -> Any:
        """The tokens that are read where outputs are fed back."""
        config = self.model.config
        if not (config.outputs and outputs.size):
            return outputs
        self.model.check_fed_back()
        return np.array(config.heard, dtype=outputs.dtype)[outputs]

    def _decide(self, batch: Batch, chosen: Any, found: _Found) -> None:
        """Those of the inputs that are `chosen`; where a pass goes astray, each half of them by itself, as others may not."""
        if not len(chosen):
            return
        ids, right = batch.ids[chosen], batch.right[chosen]
        length = ids.shape[1]
        asked = tuple(range(length - 1, length - 1 + self.steps)) if self.positions is None else places_of(self.positions, length)
        fed = np.concatenate([ids, self._heard(right[:, : self._fed, 0])], axis=1)
        attempt = _Found(len(chosen), found.losses is not None)
        try:
            for answer, (_, logits, rows) in enumerate(self._logits(fed, asked)):
                attempt.hear(answer, Ball(logits.mid[rows], 0, logits.radius[rows]), right[:, answer])
        except Undecided:
            if len(chosen) == 1:
                found.open_ended = False
                return
            for half in np.array_split(chosen, 2):
                self._decide(batch, half, found)
        else:
            found.take(chosen, attempt)

    def _logits(self, ids: Any, asked: tuple[int, ...]) -> Iterable[tuple[int, Ball, Any]]:
        return logits_at(self._prepared, ids, asked)

    def _alone(self, ids: list[int]) -> Iterator[dict[str, Any]]:
        """The answers to one input, in certified arrays with as many limbs as it takes; then in the arithmetic `last`."""
        answers = list(self._by_limbs(ids))
        if self.last is not None and not all(answer["proved"] for answer in answers):
            answers = Case(self.model, self.last, self.steps, self.positions)([self.model.config.vocabulary[i] for i in ids])
        yield from answers

    def _by_limbs(self, ids: list[int]) -> Iterator[dict[str, Any]]:
        if self.positions is None:
            found = prove_tokens(self.model, ids, self.steps, prepared=self._prepared, top=MOST_LOGITS)
            yield from certified_answers(self.model, found)
            return
        for position in places_of(self.positions, len(ids)):
            if not self.model.config.keeps_past and position < len(ids) - 1:
                yield {"token": None, "proved": False, "why": "floats do not decide it, and later tokens are read"}
            else:
                one = prove_tokens(self.model, ids[: position + 1], 1, prepared=self._prepared, top=MOST_LOGITS)
                yield from certified_answers(self.model, one)


class _Found:
    """What is known of some inputs: verdicts, the least lead (or by how much an answer is wrong), the first wrong answer."""

    def __init__(self, inputs: int, loss: bool) -> None:
        self.verdicts, self.low = np.full(inputs, OPEN), np.full(inputs, np.inf)
        self.places, self.winners = np.zeros(inputs, dtype=int), np.full(inputs, -1)
        self.losses: list[tuple[float, float]] | None = [] if loss else None
        self.open_ended = True  # has every input its loss?

    def hear(self, answer: int, logits: Ball, right: Any) -> None:
        """The logits of one answer of all inputs, [n, N]: the first that is not right decides."""
        low, high = leads(logits, right)
        if answer == 0:
            self.verdicts[:] = RIGHT
        going = self.verdicts == RIGHT
        wrong = going & (high < 0)
        winners, apart = _winners(logits, np.flatnonzero(wrong))
        named = np.flatnonzero(wrong)[apart]
        self.verdicts[going & ~(low > 0)] = OPEN
        self.verdicts[named] = WRONG
        self.places[named], self.winners[named], self.low[named] = answer, winners[apart], -high[named]
        right_ones = self.verdicts == RIGHT
        self.low[right_ones] = np.minimum(self.low, low)[right_ones]
        if self.losses is not None:
            self.losses.append(cross_entropies(logits, right[:, 0]))

    def take(self, chosen: Any, part: _Found) -> None:
        for name in ("verdicts", "low", "places", "winners"):
            getattr(self, name)[chosen] = getattr(part, name)
        if self.losses is not None:
            self.losses += part.losses or []

    def least(self, batch: Batch) -> dict[str, list[Any]]:
        """Of each kind: how many are right, the least lead, and where."""
        result = {}
        for kind, name in enumerate(batch.names):
            own = np.flatnonzero((batch.kinds == kind) & (self.verdicts == RIGHT))
            wrong = int(((batch.kinds == kind) & (self.verdicts == WRONG)).sum())
            place = int(own[self.low[own].argmin()]) if len(own) else -1
            lead = float(self.low[place]) if len(own) and np.isfinite(self.low[place]) else None
            result[name] = [len(own) + wrong, lead, place]
        return result

    def histogram(self, verdict: int) -> dict[str, int]:
        low = self.low[(self.verdicts == verdict) & np.isfinite(self.low)]
        powers, counts = np.unique(np.frexp(low)[1] - 1, return_counts=True)
        return {str(power): int(count) for power, count in zip(powers.tolist(), counts, strict=True)}

    def total_loss(self) -> list[float] | None:
        if self.losses is None or not self.open_ended or not np.isfinite([high for _, high in self.losses]).all():
            return None
        low, high = (float(sum(ends)) for ends in zip(*self.losses, strict=True)) if self.losses else (0.0, 0.0)
        return [low * (1 - 2.0**-40), high * (1 + 2.0**-40)]


def _winners(logits: Ball, rows: Any) -> tuple[Any, Any]:
    """The largest logit of some rows, and of which of them it is proved to lead all others."""
    winners = logits.mid[rows].argmax(axis=1)
    part = Ball(logits.mid[rows], 0, logits.radius[rows])
    return winners, np.flatnonzero(leads(part, winners[:, None])[0] > 0)
