"""What floats really do: the same wiring in floats beside a certified pass, and the proved error of every entry of every step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from exactformer.arithmetics import arithmetic
from exactformer.certificates.preparation import Prepared
from exactformer.certified import bounds
from exactformer.certified.arithmetic import CertifiedArithmetic
from exactformer.certified.ball import Ball
from exactformer.certified.limbs import HALF, MOST, carry, resized, split, to_float, ulp
from exactformer.model import Model, Step, forward
from exactformer.numbers.formats import FORMATS

_STRETCH = 1.01  # an error is known well where the upper bound is at most this times the lower one
_NOTHING = 2.0**-20  # or where it is proved to be below this part of a unit of the last place
_SPARE = 4  # limbs beyond what proves a token
_DOWN = 1 - 2.0**-36


@dataclass(frozen=True)
class StepErrors:
    """One step: low ≤ |float − true value| ≤ high for every entry, proved; and a unit of the last place there.

    What is smaller than the rounding of the largest entry of the step is given the units of numbers of that size: next to 0, and at
    0 itself, floats have units that say nothing.
    """

    name: str
    low: Any  # floats, of the shape of the step
    high: Any
    unit: Any
    size: float  # of the largest entry
    epsilon: float  # of the floats: the unit of the last place of 1

    @cached_property
    def at(self) -> tuple[int, ...]:
        """Where the largest error is."""
        return tuple(map(int, np.unravel_index(int(np.argmax(self.high)), self.high.shape)))

    @cached_property
    def largest(self) -> tuple[float, float]:
        """Two bounds of the largest error."""
        return float(self.low.max()), float(self.high.max())

    @cached_property
    def ulps(self) -> float:
        """The largest error in units of the last place, at most."""
        return float((self.high / self.unit).max()) * bounds.UP

    @cached_property
    def ulps_at(self) -> tuple[int, ...]:
        """Where that is: seldom where the error itself is largest."""
        return tuple(map(int, np.unravel_index(int(np.argmax(self.high / self.unit)), self.high.shape)))

    @cached_property
    def relative(self) -> float:
        """The largest error as a share of the largest entry."""
        return self.largest[1] / self.size if self.size else 0.0

    @cached_property
    def stretch(self) -> float:
        """The most by which an upper bound exceeds the error, of all errors that are not proved to be next to nothing."""
        some = self.high > _NOTHING * self.unit
        with np.errstate(divide="ignore", invalid="ignore"):
            return float((self.high[some] / self.low[some]).max(initial=1.0))


@dataclass(frozen=True)
class FloatErrors:
    """A pass in floats: its steps, and its token beside the proved one for the positions that were asked about."""

    name: str
    limbs: int  # of the certified pass beside it
    steps: tuple[StepErrors, ...]
    tokens: tuple[tuple[int, int | None, int | None], ...]  # position, token in floats, token that is proved

    def __getitem__(self, name: str) -> StepErrors:
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(f"no step {name!r}; the steps are {', '.join(step.name for step in self.steps)}")

    @property
    def worst(self) -> StepErrors:
        """The step with the largest error in units of the last place."""
        return max(self.steps, key=lambda step: step.ulps)

    @property
    def growth(self) -> tuple[str, str, float] | None:
        """Between which two places of the residual stream, or of what follows it, the relative error grows most; None: nowhere."""
        stream = [s for s in self.steps if ".resid_" in s.name or s.name in ("ln_final.out", "logits")]
        pairs = [
            (before.name, after.name, after.relative / before.relative)
            for before, after in pairwise(stream)
            if before.relative > _NOTHING * before.epsilon and math.isfinite(after.relative)
        ]
        return max((pair for pair in pairs if pair[2] > 1), key=lambda pair: pair[2], default=None)

    @property
    def right(self) -> bool | None:
        """Are all tokens in floats the proved ones? None where one of these is undecided."""
        if any(found != true for _, found, true in self.tokens if true is not None):
            return False
        return None if any(true is None for _, _, true in self.tokens) else True


def compare(
    model: Model,
    ids: Sequence[int],
    kinds: Sequence[str] = ("float32", "float64"),
    *,
    proved: dict[int, int | None] | None = None,
    prepared: Prepared | None = None,
    limbs: int = 6,
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[FloatErrors, ...]:
    """The errors of passes in floats. `proved` holds the proved token that follows each position; `limbs` are those that it took.

    The certified pass is run with more limbs until each error of a logit is known within 1 %, or to be nothing next to rounding.

    >>> from exactformer.worksheets import load
    >>> errors, = compare(load("context").model, [0, 1, 0], ["float32"])
    >>> low, high = errors["logits"].largest
    >>> 0 < low <= high < 1.01 * low < 1e-5
    True
    """
    prepared = Prepared.of(model, prepared)
    passes = {kind: _in_floats(model, ids, kind, progress) for kind in kinds}
    count = min(MOST, limbs + _SPARE)
    while True:
        true = _certified(model, ids, count, prepared, progress)
        found = tuple(
            FloatErrors(kind, count, _errors(values, true, kind), _tokens(choices, proved or {}))
            for kind, (values, choices) in passes.items()
        )
        if count == MOST or all(errors.steps[-1].stretch <= _STRETCH for errors in found):
            return found
        count = min(MOST, count + 2)


def _pass(model: Model, ids: Sequence[int], ops: Any, progress: Callable[[str], None]) -> dict[str, Any]:
    values: dict[str, Any] = {}

    def note(step: Step) -> Any:
        values[step.name] = step.values
        progress(step.name)
        return step.values

    with np.errstate(all="ignore"):
        forward(model, list(ids), ops, note)
    return values


def _in_floats(model: Model, ids: Sequence[int], kind: str, progress: Callable[[str], None]) -> tuple[dict[str, Any], list[Any]]:
    """The steps and the tokens. The weights that were converted for it are not kept."""
    ops = arithmetic(kind)
    values = _pass(model, ids, ops, progress)
    return values, ops.choose(values["logits"]) if "logits" in values else []


def _certified(model: Model, ids: Sequence[int], limbs: int, prepared: Prepared, progress: Callable[[str], None]) -> dict[str, Any]:
    ops = CertifiedArithmetic(prepared.store, (limbs,))
    ops.store.trim(ops.limbs_at)
    return _pass(model, ids, ops, progress)


def _tokens(choices: list[Any], proved: dict[int, int | None]) -> tuple[tuple[int, int | None, int | None], ...]:
    return tuple((position, choices[position].index, true) for position, true in proved.items())


def _errors(values: dict[str, Any], true: dict[str, Any], kind: str) -> tuple[StepErrors, ...]:
    return tuple(
        step_errors(name, value, true[name], kind)
        for name, value in values.items()
        if isinstance(true.get(name), Ball) and true[name].shape == value.shape
    )


def step_errors(name: str, value: Any, ball: Ball, kind: str) -> StepErrors:
    """The error of each float against a ball. The difference is taken in limbs, where it is exact."""
    floats = np.asarray(value, dtype=np.float64)
    near = ball.midpoint()
    usable = np.abs(floats) < HALF / 2  # false for what is no number
    if ball.n:
        n = max(ball.n, 10)
        digits, exact = split(np.where(usable, floats, 0.0), n)
        apart = np.abs(to_float(carry(digits - resized(ball.mid, n)[0], n)))
        rest = ball.spread() + (0.0 if exact else bounds.SPLIT * ulp(n))
        slack = bounds.TO_FLOAT
    else:
        apart, rest, slack = np.abs(np.where(usable, floats, 0.0) - near), ball.spread(), bounds.UNIT
    high = (apart * (1 + 2 * slack) + rest) * bounds.UP
    low = np.maximum(apart * (1 - 2 * slack) * _DOWN - rest * bounds.UP, 0.0) * _DOWN
    if not usable.all():
        with np.errstate(invalid="ignore"):
            far, rest = np.abs(floats - near), (rest + bounds.TO_FLOAT * np.abs(near)) * bounds.UP
        beyond = np.isfinite(far)
        low = np.where(usable, low, np.where(beyond, np.maximum(far * _DOWN - rest, 0.0) * _DOWN, 0.0))
        high = np.where(usable, high, np.where(beyond, (far + rest) * bounds.UP, np.inf))
    format = FORMATS[kind]
    size = float(np.abs(near).max(initial=0.0))
    at = np.maximum(np.abs(np.where(np.isfinite(floats), floats, 0.0)), np.abs(near))
    at = np.clip(at, (size or 1.0) * format.epsilon, format.greatest / 2)
    return StepErrors(name, low, high, format.ulp(at), size, format.epsilon)
