"""The true values beside which outputs are held: certified passes over a prompt, with more limbs until all is answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from flint import arb

from exactformer.certificates.preparation import Prepared
from exactformer.certificates.proving import CAP, same_logit
from exactformer.certified import bounds
from exactformer.certified.arithmetic import CertifiedArithmetic
from exactformer.certified.ball import Ball, outwards, resize
from exactformer.certified.choosing import Lead, finite, leading
from exactformer.certified.limbs import BITS, FEWEST, carry, from_integers
from exactformer.certified.scheduling import schedule_length
from exactformer.model import InputError, Model, Step, forward
from exactformer.numbers import Undecided
from exactformer.numbers.digits import ball_fractions
from exactformer.numbers.enclosure import precision

_FIRST = 10  # limbs at which logarithms begin, where logits are floats
_MORE = 2  # limbs that are added where a question stays open


class Known(Protocol):
    """What a verdict asks for: the true token, and the true logits between two ends."""

    def lead(self, position: int) -> Lead | str: ...

    def logit(self, position: int, token: int) -> tuple[Fraction, Fraction]: ...


@dataclass(frozen=True, eq=False)
class Truth:
    """One certified pass: the logits from position `first` on, and the steps by name."""

    model: Model
    first: int
    logits: Ball
    steps: dict[str, Any]
    last: bool  # are there no more limbs to try?
    _leads: dict[int, Lead | str] = field(default_factory=dict)

    def lead(self, position: int) -> Lead | str:
        """The true token with its margin, or why it is not known."""
        if position not in self._leads:
            self._leads[position] = leading(self.logits, position - self.first, partial(same_logit, self.model))
        return self._leads[position]

    def step(self, name: str, first: int, rows: int) -> Ball:
        """Some rows of a step; the logits may begin with a later position than the others."""
        if name == "logits":
            return self.logits[first - self.first : first - self.first + rows]
        found: Ball = self.steps[name][first : first + rows]
        return found

    def logit(self, position: int, token: int) -> tuple[Fraction, Fraction]:
        return self.logits.enclosure((position - self.first, token))

    @cached_property
    def logprobs(self) -> Ball:
        """Logits less the logarithm of the sum of their exponentials, for every position."""
        wide = resize(self.logits, self.logits.n or _FIRST)
        n, bits = wide.n, BITS * (wide.n - 1)
        mids, radii = [], []
        for row in range(len(wide)):
            low, high = _log_sum(wide, row, bits + 64)
            middle = math.floor((low + high) / 2 * 2**bits)
            mids.append(middle)
            away = max(high - Fraction(middle, 2**bits), Fraction(middle, 2**bits) - low)
            radii.append(float(away) * bounds.UP + 2.0**-bits)
        sums = from_integers(np.array(mids, dtype=object)[:, None], n)
        return Ball(carry(wide.mid - sums, n), n, outwards(wide.spread() + np.array(radii)[:, None]))


def _log_sum(logits: Ball, row: int, bits: int) -> tuple[Fraction, Fraction]:
    """Two ends around log Σ exp."""
    with precision(bits):
        entries = logits[row : row + 1].balls()[0]
        highest = max(entries, key=lambda x: float(x.mid()))
        top = arb(highest.mid())
        total = sum((x - top).exp() for x in entries)
        found = total.log() + top
        if not found.is_finite():
            raise InputError("log-probabilities: the sum of exponentials is not enclosed")
    return ball_fractions(found)


def truths(
    prepared: Prepared,
    ids: tuple[int, ...],
    width: float,
    *,
    all_positions: bool,
    traced: bool = False,
    wanted: Collection[str] = (),
    cap: int = CAP,
    progress: Callable[[str], None] = lambda step: None,
) -> Iterator[Truth | str]:
    """Passes with more limbs each time, or why one gives nothing. The first aims at logits whose width is about 2^`width`.

    With `traced` they have every step, otherwise those that a proof needs; where that lacks a step that is `wanted`, all again.
    """
    model = prepared.model
    prepared.prepare(progress)
    length = schedule_length(model.config)
    outlook = prepared.outlook
    schedule = (FEWEST,) * length if outlook is None else outlook.schedule(len(ids), min(outlook.lead, width))
    schedule = tuple(min(n, cap) for n in schedule)
    kept = traced or bool(wanted)
    while True:
        values: dict[str, Any] = {}

        def note(step: Step, values: dict[str, Any] = values) -> Any:
            progress(step.name)
            if kept:
                values[step.name] = step.values
            return step.values

        ops = CertifiedArithmetic(prepared.store, schedule, last_only=not all_positions, traced=traced)
        prepared.store.trim(ops.limbs_at)
        last = min(schedule) >= cap
        try:
            with np.errstate(all="ignore"):
                logits = forward(model, list(ids), ops, note)
            if not traced and any(not isinstance(values.get(name), Ball) for name in wanted):
                traced = True
                continue
            known = isinstance(logits, Ball) and all(finite(logits, row) for row in range(len(logits)))
            yield Truth(model, len(ids) - len(logits), logits, values, last) if known else "undecided: a logit is not enclosed"
        except Undecided as error:
            yield str(error)
        if last:
            return
        schedule = tuple(min(cap, max(FEWEST, n + _MORE)) for n in schedule)
