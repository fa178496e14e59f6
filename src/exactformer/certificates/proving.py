"""The next token, proved; or undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from exactformer.certificates.passes import LayerReport, Pass, Proving
from exactformer.certificates.preparation import Prepared
from exactformer.certified.arithmetic import LimbSchedule, checked
from exactformer.certified.ball import Ball
from exactformer.certified.choosing import apart, finite, largest, leading
from exactformer.certified.limbs import FEWEST, MOST
from exactformer.certified.scheduling import Outlook, schedule_length
from exactformer.model import InputError, Model
from exactformer.model.cache import Cache
from exactformer.numbers import Undecided

CAP = MOST  # limbs, unless you say otherwise: more are taken only where fewer do not decide
MOST_DIGITS = 80  # no more fit into the limbs there are
_FARTHER = 43  # bits: what a pass is short of by its logits, at most; where their lead is all rounding, it says no more


class Decided(Protocol):
    """What says which token follows, or None."""

    @property
    def token(self) -> int | None: ...


class Passes(Protocol):
    """What computes certified passes of a model: this process (`Prepared`), or several that have some blocks each."""

    @property
    def model(self) -> Model: ...
    @property
    def outlook(self) -> Outlook | None: ...

    def prepare(self, progress: Callable[[str], None]) -> None: ...
    def passed(self, asked: Pass, cache: Cache | None, progress: Callable[[str], None]) -> Pass: ...


Answer = TypeVar("Answer", bound=Decided)


@dataclass(frozen=True)
class Entry:
    """A logit: low ≤ it ≤ high."""

    token: int
    low: Fraction
    high: Fraction

    @property
    def width(self) -> Fraction:
        return self.high - self.low


@dataclass(frozen=True)
class Certified:
    """What is proved of the token after `ids`."""

    ids: tuple[int, ...]
    token: int | None  # of the largest logit, an id among the outputs; None where that is undecided
    ties: tuple[int, ...]  # others whose logit is proved to be the same
    runner_up: int | None
    margin: tuple[Fraction, Fraction] | None  # an enclosure of the lead over the runner-up; its low end is below the lead over any
    top: tuple[Entry, ...]
    schedule: LimbSchedule
    layers: tuple[LayerReport, ...]
    attempts: int
    why: str = ""

    @property
    def proved(self) -> bool:
        return self.token is not None


def prove_token(
    model: Model,
    ids: Sequence[int],
    *,
    prepared: Prepared | None = None,
    top: int = 5,
    cap: int = CAP,
    digits: int = 0,
    schedule: LimbSchedule | None = None,
    cache: Cache | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Certified:
    """The token that follows `ids`, proved to be the argmax of the exact network, or undecided with `cap` limbs.

    With `digits`, limbs are added, up to `cap`, until the `top` logits are known to so many decimals. `progress` hears each step,
    and from the second pass on which pass it belongs to.

    >>> from exactformer.worksheets import load
    >>> model = load("capstone").model
    >>> result = prove_token(model, model.ids(("a", "b")))
    >>> result.token, result.margin[0] > 0
    (0, True)
    >>> float(prove_token(model, model.ids(("a", "b")), digits=30).top[0].width) < 1e-30
    True
    """
    return _proved(Prepared.of(model, prepared), ids, top, cap, digits, schedule, cache, progress)


def _proved(
    passes: Passes, ids: Sequence[int], top: int, cap: int, digits: int, schedule: LimbSchedule | None, cache: Cache | None,
    progress: Callable[[str], None],
) -> Certified:  # fmt: skip
    model = passes.model
    if model.config.unembedding == "none":
        raise InputError("the model has no logits: there is no token to decide")
    given = model.checked(ids)
    _check_whole("cap", cap, FEWEST, MOST)
    _check_whole("digits", digits, 0, MOST_DIGITS)
    _check_whole("top", top, 1, None)
    if schedule is not None:
        schedule = checked(schedule, schedule_length(model.config))
    question = _Question(passes, given, top, cap, digits, progress)
    if cache is None:
        return question.answer(schedule, None)
    if not model.config.keeps_past:
        raise InputError("a cache: in this model later positions change earlier ones, so nothing may be kept of them")
    own = cache.begin(model, Proving())  # until the token is decided: nobody else writes to it
    own.after(given)
    result = question.answer(schedule, own)
    cache.finish(own)
    return result


def prove_tokens(
    model: Model,
    ids: Sequence[int],
    tokens: int,
    *,
    prepared: Prepared | None = None,
    top: int = 5,
    cap: int = CAP,
    digits: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> Iterator[Certified]:
    """Token after token, each proved, with keys and values kept; ends early after one that is undecided."""
    cache = Cache() if model.config.keeps_past else None
    yield from proved_by(Prepared.of(model, prepared), ids, tokens, top, cap, digits, cache, progress)


def proved_by(
    passes: Passes, ids: Sequence[int], tokens: int, top: int = 5, cap: int = CAP, digits: int = 0, cache: Cache | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Iterator[Certified]:  # fmt: skip
    """The same by passes that are computed wherever they are."""
    _check_whole("tokens", tokens, 1, None)
    schedule = None

    def proved(prefix: list[int]) -> Certified:
        nonlocal schedule
        result = _proved(passes, prefix, top, cap, digits, schedule, cache, progress)
        schedule = result.schedule
        return result

    if tokens > 1:
        passes.model.check_fed_back()
    yield from token_by_token(passes.model.checked(ids), tokens, proved, passes.model.fed_back)


def token_by_token(
    ids: Sequence[int], tokens: int, answer: Callable[[list[int]], Answer], fed_back: Callable[[int], int]
) -> Iterator[Answer]:
    """The one loop: the answer to `ids`, then to these and the token of the answer, `fed_back`, and so on; none follows one without
    a token.

    >>> from types import SimpleNamespace
    >>> answer = lambda ids: SimpleNamespace(token=sum(ids) if sum(ids) < 9 else None)
    >>> [found.token for found in token_by_token([2, 3], 4, answer, lambda output: output)]
    [5, None]
    """
    prefix = list(ids)
    for n in range(tokens):
        found = answer(prefix)
        yield found
        if found.token is None or n == tokens - 1:
            return
        prefix = [*prefix, fed_back(found.token)]


def _check_whole(name: str, value: int, least: int, most: int | None) -> None:
    if type(value) is not int or value < least or (most is not None and value > most):
        bounds = f"from {least}" + ("" if most is None else f" to {most}")
        raise InputError(f"{name}: {str(value)[:40]} is not a whole number {bounds}")


class _Question:
    """One prompt, and passes over it with more limbs each time until the largest logit is proved."""

    def __init__(self, passes: Passes, ids: list[int], top: int, cap: int, digits: int, progress: Callable[[str], None]) -> None:
        self.passes, self.model, self.ids, self.top, self.cap = passes, passes.model, ids, top, cap
        self.widest = Fraction(1, 2 * 10**digits) if digits else None  # of a logit, with room for decimal ends
        self.layers: tuple[LayerReport, ...] = ()
        self.progress = progress

    def answer(self, schedule: LimbSchedule | None, cache: Cache | None) -> Certified:
        if schedule is None:
            self.passes.prepare(self.progress)
            schedule = self._scheduled(0.0)
        attempts = 0
        while True:
            if max(schedule) > self.cap:
                schedule = tuple(min(n, self.cap) for n in schedule)
            attempts += 1
            logits, why = self._pass(schedule, cache, attempts)
            result = why if isinstance(why, str) else self._decide(logits, schedule, attempts)
            if isinstance(result, Certified) and (self._sharp(result) or min(schedule) >= self.cap):
                return result
            if isinstance(result, str) and min(schedule) >= self.cap:
                return self._undecided(logits, schedule, attempts, result)
            if cache is not None:
                cache.clear()
            schedule = self._raised(schedule, self._shortage(logits))

    def _scheduled(self, extra: float) -> LimbSchedule:
        if self.passes.outlook is None:
            return (FEWEST + int(extra) // 16,) * schedule_length(self.model.config)
        lead = self.passes.outlook.lead if self.widest is None else min(self.passes.outlook.lead, math.log2(self.widest) + 1)
        return self.passes.outlook.schedule(len(self.ids), lead - extra)

    def _raised(self, before: LimbSchedule, shortage: float) -> LimbSchedule:
        """More limbs, somewhere at least: as many as the bits that the last pass was short of ask for."""
        start = next((e for e in range(0, 400, 4) if self._falls_short(before, float(e))), 400.0)
        for extra in range(int(start + shortage), 400, 4):
            wanted = self._scheduled(float(extra))
            after = tuple(max(a, min(b, self.cap)) for a, b in zip(before, wanted, strict=True))
            if after != before:
                return after
        return (self.cap,) * len(before)

    def _falls_short(self, schedule: LimbSchedule, extra: float) -> bool:
        """Is more wanted with so many bits to spare than the schedule has?"""
        return any(b > a for a, b in zip(schedule, self._scheduled(extra), strict=True))

    def _shortage(self, logits: Ball | None) -> float:
        """The bits by which the radius of the logits is too large for their lead or digits, as far as that can be seen."""
        if logits is None or not finite(logits, len(logits) - 1) or logits.shape[-1] < 2:
            return 0.0
        wide, lead = Fraction(float(logits.spread()[-1].max())), apart(logits, len(logits) - 1)
        if self.widest is not None:
            lead = min(lead, self.widest)
        return min(_FARTHER, max(0.0, _log2(2 * wide / lead) if lead else _FARTHER)) + 2

    def _pass(self, schedule: LimbSchedule, cache: Cache | None, attempt: int) -> tuple[Any, str | None]:
        """The logits of the last position, or why there are none."""
        again = f" of pass {attempt}, up to {max(schedule)} limbs" if attempt > 1 else ""
        done = self.passes.passed(Pass(tuple(self.ids), schedule), cache, lambda name: self.progress(f"{name}{again}"))
        self.layers = done.layers
        return done.logits, done.why or None

    def _decide(self, logits: Ball, schedule: LimbSchedule, attempts: int) -> Certified | str:
        """What is proved, or why nothing is."""
        row = len(logits) - 1
        lead = leading(logits, row, partial(same_logit, self.model))
        if isinstance(lead, str):
            return lead
        return Certified(
            tuple(self.ids), lead.winner, lead.ties, lead.runner_up, lead.margin, self._top(logits, row), schedule,
            self.layers, attempts,
        )  # fmt: skip

    def _sharp(self, result: Certified) -> bool:
        """Are the logits known to the digits asked for?"""
        return self.widest is None or all(entry.width <= self.widest for entry in result.top)

    def _top(self, logits: Ball, row: int) -> tuple[Entry, ...]:
        return tuple(Entry(i, *logits.enclosure((row, i))) for i in largest(logits, row, self.top))

    def _undecided(self, logits: Ball | None, schedule: LimbSchedule, attempts: int, why: str) -> Certified:
        row = -1 if logits is None else len(logits) - 1
        entries = self._top(logits, row) if logits is not None and finite(logits, row) else ()
        return Certified(tuple(self.ids), None, (), None, None, entries, schedule, self.layers, attempts, why)


def same_logit(model: Model, i: int, j: int) -> bool:
    """Are two columns of the unembedding, and their biases, the same numbers? Then so are the logits, whatever is read."""
    weights = model.weights
    rows = weights.W_E if weights.W_U is None else np.transpose(weights.W_U)
    pairs = list(zip(rows[i].tolist(), rows[j].tolist(), strict=True))
    if weights.b_U is not None:
        pairs.append((weights.b_U[i], weights.b_U[j]))
    try:
        return all(a is b or bool(a == b) for a, b in pairs)
    except Undecided:
        return False


def _log2(x: Fraction) -> float:
    """To a bit or so, however small or large."""
    return float(x.numerator.bit_length() - x.denominator.bit_length())
