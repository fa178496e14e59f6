"""How many limbs each half of a block gets. A guess, which proves nothing: too short a schedule ends in an undecided pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.arithmetic import CertifiedArithmetic, LimbSchedule
from exactformer.certified.ball import FLOAT, Ball
from exactformer.certified.limbs import FEWEST
from exactformer.certified.store import Store
from exactformer.model import Config, Model, Step
from exactformer.model.forward import through
from exactformer.model.recorder import Handle

_SMALL = 2.0**-24  # the radius that the scout starts every half with: beyond the rounding of floats, too small to bend
_LEAST = 2.0**-29  # that of any token: the rounding of floats must stay below
_LIMB_NOISE = 11.0  # bits: what rounding in limbs amounts to, as a radius of the stream: in ulps times the size of the stream
_FLOAT_NOISE = -35.5  # the same of floats
_SPARE = 3.0  # bits by which the radius should stay below the lead: one for two radii, the rest for several halves at once
_WIDEST = -2.0  # bits of a lead that is made use of: radii any larger no longer grow in proportion
SCOUTED = 32  # tokens that the scout reads
_HEADS = 16  # positions whose logits it looks at, at least
_GOLDEN = 0.6180339887  # multiples of it are spread evenly, however many
_LEAD = 1 / 4  # of the median lead: with `_SPARE`, a schedule is too short for one prompt in twenty or so


def schedule_length(config: Config) -> int:
    """Entries of a schedule: two for every block, one for what follows."""
    return 2 * config.blocks + 1


@dataclass(frozen=True)
class Growth:
    """For up to `length` tokens, in bits: what each half block, then the head, multiplies a radius by; the stream's size there."""

    length: int
    halves: tuple[float, ...]
    sizes: tuple[float, ...]


@dataclass(frozen=True)
class Outlook:
    """What is to be expected of a model: growth by the number of tokens, and the lead of the largest logit, in bits."""

    growths: tuple[Growth, ...]
    lead: float

    def fits(self, length: int) -> bool:
        """Is it of a model whose schedules are so long?"""
        return bool(self.growths) and all(
            type(each.length) is int and len(each.halves) == len(each.sizes) == length for each in self.growths
        )

    def _growth(self, length: int) -> Growth:
        """For prompts that are longer than what the scout read, it goes on as it did from the length before its last."""
        found = next((each for each in self.growths if each.length >= length), None)
        if found is not None or len(self.growths) < 2:
            return found or self.growths[-1]
        before, last = self.growths[-2:]
        farther = math.log2(length / last.length) / math.log2(last.length / before.length)
        halves = (b + farther * (b - a) for a, b in zip(before.halves, last.halves, strict=True))
        return Growth(length, tuple(halves), last.sizes)

    def schedule(self, length: int, lead: float) -> LimbSchedule:
        """The fewest limbs that should do for a prompt and a lead of so many bits: for all halves of blocks, then for the head."""
        growth = self._growth(length)
        target = lead - _SPARE
        result: list[int] = []
        ahead, floats = 0.0, True
        for half, size in zip(reversed(growth.halves), reversed(growth.sizes), strict=True):
            ahead += half
            floats = floats and ahead + size + _FLOAT_NOISE <= target
            limbs = math.ceil((ahead + size + _LIMB_NOISE - target) / 21) + 1
            result.append(FLOAT if floats else max(FEWEST, limbs, *result))
        return tuple(reversed(result))


def scout(model: Model, store: Store, progress: Callable[[str], None] = lambda step: None) -> Outlook:
    """The outlook of a model, from one pass of a scout."""
    there, logits = Scout.of(model.config).through(model, store, range(model.config.blocks), None, progress)
    return there.outlook(logits)


@dataclass
class Scout:
    """A pass in floats over tokens from all over the vocabulary, whose radius is made small again before every half of a block.

    Growth is a matter of the weights, and hardly of what is read; but it rises with the number of tokens. What was seen so far goes
    with the scout, so that its way may lead over several machines.
    """

    ids: list[int]
    lengths: list[int]
    before: Any  # the radii at the start of a half
    halves: list[list[float]] = field(default_factory=list)  # [half][length]
    sizes: list[list[float]] = field(default_factory=list)

    @classmethod
    def of(cls, config: Config) -> Scout:
        size, length = len(config.vocabulary), min(SCOUTED, config.length or SCOUTED)
        lengths = [2**n for n in range(length.bit_length()) if 2**n < length] + [length]
        return cls([int(n * _GOLDEN * size) % size for n in range(length)], lengths, np.full(length, _SMALL))

    @bounds.MAY_BE_INFINITE
    def through(
        self, model: Model, store: Store, blocks: range, x: Handle | None, progress: Callable[[str], None] = lambda step: None
    ) -> tuple[Scout, Handle]:
        """Through some blocks, from where the last ones ended: the scout as it is there, and the stream."""
        there = replace(self, halves=[*self.halves], sizes=[*self.sizes])

        def note(step: Step) -> Any:
            progress(step.name)
            return there._seen(step.name, step.values, model.config)

        return there, through(model, self.ids, CertifiedArithmetic(store, (FLOAT,)), blocks, x, note)

    @bounds.MAY_BE_INFINITE
    def outlook(self, logits: Handle) -> Outlook:
        length, rows = len(self.ids), _some_rows(self.lengths)
        growth = logits.value.spread().max(axis=-1) / _most(self.before)
        ends = self.lengths if len(growth) == length else [int((rows < n).sum()) for n in self.lengths]
        halves = [*self.halves, _bits_up_to(ends, growth)]
        growths = zip(self.lengths, zip(*halves, strict=True), zip(*self.sizes, strict=True), strict=True)
        return Outlook(tuple(Growth(*growth) for growth in growths), _usual_lead(logits.value.midpoint()))

    def _seen(self, name: str, value: Any, config: Config) -> Any:
        """What goes on after a step."""
        first = "embed" if config.positions == "none" else "blocks.0.resid_pre"
        ends = name.endswith(("resid_mid", "resid_post"))
        if name != first and not ends:
            return value
        if config.parallel and name.endswith("resid_mid"):  # the MLP reads what attention read: both grow at once
            self.halves.append([0.0] * len(self.lengths))
            self.sizes.append(self.sizes[-1])
            return value
        if ends:
            self.halves.append(_bits_up_to(self.lengths, value.radius / _most(self.before)))
            most = float(np.max(value.radius))
            before = value.radius * (_SMALL / most) if 0 < most < math.inf else np.full(len(self.ids), _SMALL)
            self.before = np.maximum(before, _LEAST)
        self.sizes.append(_bits_up_to(self.lengths, np.sqrt(np.square(value.midpoint()).mean(axis=-1))))
        ball = Ball(value.mid, value.n, self.before)
        if name == f"blocks.{config.blocks - 1}.resid_post":  # logits take more memory, and more time, than a block
            rows = _some_rows(self.lengths)
            self.before = self.before[rows]
            return ball[rows]
        return ball


def _some_rows(lengths: list[int]) -> Any:
    """Positions all over the pass, those among them at which prompts of these lengths end."""
    return np.unique([n - 1 for n in lengths] + np.linspace(0, lengths[-1] - 1, min(_HEADS, lengths[-1])).astype(int).tolist())


def _most(radii: Any) -> Any:
    return np.maximum.accumulate(radii)


def _bits_up_to(lengths: list[int], values: Any) -> list[float]:
    """The logarithm of the largest of so many values."""
    return [_bits(float(values[:length].max())) for length in lengths]


def _usual_lead(logits: Any) -> float:
    if logits.shape[-1] < 2:
        return _WIDEST
    highest = np.partition(logits, -2, axis=-1)[:, -2:]
    return min(_WIDEST, _bits(float(np.median(highest[:, 1] - highest[:, 0])) * _LEAD))


def _bits(x: float) -> float:
    return min(200.0, max(-200.0, math.log2(x))) if x > 0 else -200.0 if x == 0 else 200.0
