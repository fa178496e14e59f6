"""Where a head looks, in many sequences at once; as plain data that a journal can keep."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from exactformer.arithmetics import arithmetic, kind
from exactformer.certificates import Prepared
from exactformer.certificates.ends import outward_decimals
from exactformer.certificates.many import patterns_at
from exactformer.model import Model, Step
from exactformer.model.forward import through
from exactformer.numbers import Number, Undecided
from exactformer.numbers.digits import ball_bounds
from exactformer.numbers.enclosure import ball
from exactformer.numbers.order import compare
from exactformer.proofs.batches import Batch
from exactformer.proofs.patterns import PatternClaim
from exactformer.proofs.report import MOST_KEPT, PROVED, REFUTED, UNDECIDED

_BITS, _DIGITS = 128, 12
_ALIKE = 2.0**-40
_LEAST = "1e-300"


@dataclass(frozen=True)
class Looking:
    """Floats first, for all sequences at once (Lemma 37); those that they leave open one by one: balls, and then exact numbers."""

    model: Model
    claim: PatternClaim
    alone: tuple[str, ...] = ("arb", "exact")

    def __getstate__(self) -> dict[str, Any]:
        """What was prepared stays where it is."""
        return {name: getattr(self, name) for name in ("model", "claim", "alone")}

    @cached_property
    def _prepared(self) -> Prepared:
        return Prepared(self.model)

    @property
    def together(self) -> bool:
        """Can floats take many sequences at once?"""
        return kind("certified").takes(self.model.config)

    def __call__(self, batch: Batch) -> dict[str, Any]:
        """JSON: how many are proved, refuted and undecided; the first that are not proved, each with its weight; the one
        nearest to the bound."""
        found = _Found(self.claim, len(batch))
        if not self._places(batch.ids.shape[1]):
            found.verdicts[:] = PROVED  # nothing is claimed of them
        elif self.together:
            self._look(batch.ids, np.arange(len(batch)), found)
        for n in np.flatnonzero(found.verdicts == UNDECIDED).tolist():
            found.hear(n, *self._alone(batch.ids[n].tolist()))
        return {
            "first": batch.first,
            "sequences": len(batch),
            "asked": batch.digest,
            "counts": {name: int((found.verdicts == name).sum()) for name in (PROVED, REFUTED, UNDECIDED)},
            "failed": [found.failed(n) for n in np.flatnonzero(found.verdicts != PROVED)[:MOST_KEPT].tolist()],
            "nearest": found.nearest(),
        }

    def _places(self, length: int) -> dict[int, int]:
        return dict(self.claim.sources(length, self.model.config))

    def _look(self, ids: Any, chosen: Any, found: _Found) -> None:
        """Where a pass goes astray, each half of the sequences by itself, as others may not."""
        places, attempt = self._places(ids.shape[1]), _Found(self.claim, len(chosen), PROVED)
        try:
            for positions, weights, rows in patterns_at(self._prepared, ids[chosen], self.claim.block):
                for t, i in enumerate(positions):
                    if i in places:
                        place = (rows, self.claim.head, t, places[i])
                        attempt.weigh(i, weights.mid[place], weights.radius[place])
        except Undecided:
            if len(chosen) > 1:
                for half in np.array_split(chosen, 2):
                    self._look(ids, half, found)
        else:
            found.take(chosen, attempt)

    def _alone(self, ids: list[int]) -> tuple[str, int | None, tuple[str, str]]:
        """One sequence: its verdict, and the position and ends of the weight that is nearest to the bound."""
        said: tuple[str, int | None, tuple[str, str]] = (UNDECIDED, None, ("0", "1"))
        for name in self.alone:
            if said[0] == UNDECIDED and kind(name).takes(self.model.config):
                said = self._judged(ids, name)
        return said

    def _judged(self, ids: list[int], name: str) -> tuple[str, int, tuple[str, str]]:
        kept: list[Any] = []

        def note(step: Step) -> Any:
            if step.name == f"blocks.{self.claim.block}.attn.pattern":
                kept.append(step.values[self.claim.head])  # [T, T]
            return step.values

        through(self.model, ids, arithmetic(name), range(self.claim.block + 1), note=note)
        weights = {i: kept[0][i, j] for i, j in self._places(len(ids)).items()}
        verdicts = {i: self._holds(weight) for i, weight in weights.items()}
        answers = set(verdicts.values())
        whole = REFUTED if False in answers else UNDECIDED if None in answers else PROVED
        shown = [i for i in weights if verdicts[i] is False] or list(weights)  # a weight that refutes, where one does
        position = min(shown, key=lambda i: self.claim.side * float(_ball(weights[i]).mid()))
        return whole, position, _decimals(_ball(weights[position]))

    def _holds(self, weight: Any) -> bool | None:
        if isinstance(weight, arb):
            bound = ball(self.claim.bound, _BITS)
            more, less = (weight >= bound, weight < bound) if self.claim.at_least else (weight <= bound, weight > bound)
            return True if more else False if less else None
        try:
            sign = compare(weight, self.claim.bound)
        except Undecided:
            return None
        return sign >= 0 if self.claim.at_least else sign <= 0


def _decimals(weight: arb) -> tuple[str, str]:
    """Two decimals around a weight, which may be of any size: a tiny one is below the least."""
    return ("0", _LEAST) if weight < arb(_LEAST) else ball_bounds(weight, _DIGITS)


def _ball(weight: Any) -> arb:
    return ball(weight, _BITS) if isinstance(weight, Number) else weight  # type: ignore[arg-type]


class _Found:
    """What is known of some sequences: verdicts, and the weight nearest to the bound. A claim `at most` is one of −weights."""

    def __init__(self, claim: PatternClaim, sequences: int, verdict: str = UNDECIDED) -> None:
        self.claim = claim
        self.verdicts = np.full(sequences, verdict, dtype=object)
        self.low, self.high = np.full((2, sequences), np.inf)
        self.positions = np.zeros(sequences, dtype=int)
        self.refuting_low, self.refuting = np.full((2, sequences), np.inf)  # of the weight that refutes most clearly: its ends
        self.refuted_at = np.zeros(sequences, dtype=int)
        self.alone: dict[int, tuple[int, tuple[str, str]]] = {}

    def weigh(self, position: int, weights: Any, radii: Any) -> None:
        """The weights [n] of all sequences at one position."""
        low, high = np.maximum(weights - radii, 0.0), np.minimum(weights + radii, 1.0)
        low, high = (low, high) if self.claim.at_least else (-high, -low)
        below, above = self.claim.ends
        going = self.verdicts != REFUTED
        self.verdicts[going & ~(low >= above)] = UNDECIDED
        self.verdicts[high < below] = REFUTED
        nearer = low < self.low
        self.low[nearer], self.high[nearer], self.positions[nearer] = low[nearer], high[nearer], position
        worse = (high < below) & (high < self.refuting)
        self.refuting_low[worse], self.refuting[worse], self.refuted_at[worse] = low[worse], high[worse], position

    def take(self, chosen: Any, part: _Found) -> None:
        for name in ("verdicts", "low", "high", "positions", "refuting_low", "refuting", "refuted_at"):
            getattr(self, name)[chosen] = getattr(part, name)

    def hear(self, n: int, verdict: str, position: int | None, ends: tuple[str, str]) -> None:
        """What was found out about one sequence by itself."""
        self.verdicts[n] = verdict
        if position is not None:
            self.alone[n], self.low[n] = (position, ends), np.inf

    def nearest(self) -> list[Any] | None:
        """Sequence, position, and ends of the weight. Of weights that floats do not tell apart, it is the first."""
        found: list[list[Any]] = [[n, position, *ends] for n, (position, ends) in self.alone.items()]
        if (least := self.low.min()) < np.inf:
            n = int((self.low <= least + _ALIKE).argmax())
            found.append([n, int(self.positions[n]), *self._ends(float(self.low[n]), float(self.high[n]))])
        return min(found, key=lambda entry: (self.claim.nearness(*entry[2:]), entry[0]), default=None)

    def failed(self, n: int) -> list[Any]:
        """Sequence, verdict, position and ends of the weight that refutes it, or is nearest to the bound, where one is known."""
        if n in self.alone:
            position, ends = self.alone[n]
            return [n, self.verdicts[n], position, *ends]
        if self.refuting[n] < np.inf:
            return [n, self.verdicts[n], int(self.refuted_at[n]), *self._ends(float(self.refuting_low[n]), float(self.refuting[n]))]
        return [n, self.verdicts[n]]

    def _ends(self, low: float, high: float) -> tuple[str, str]:
        """Decimals around a weight, of which these are the ends, or those of its opposite."""
        low, high = sorted((self.claim.side * low, self.claim.side * high))
        return outward_decimals(Fraction(low), Fraction(high), _DIGITS)
