"""The arithmetic `exact` where the vocabulary is large: exact or named up to the last step, then balls.

A closed form for each of 50,257 logits would be read by nobody. The logits are balls around the named numbers that they are, of
as many bits as it takes to tell the largest from all others; probabilities are balls too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.arithmetics.deferred import DeferredArithmetic
from exactformer.model.arithmetics.exact import ExactArithmetic
from exactformer.model.arithmetics.roles import Choice
from exactformer.model.fields import ConfigError
from exactformer.numbers import Number
from exactformer.numbers.arrays import Array

WIDE = 2048  # columns
_LADDER = (128, 256, 512, 1024, 2048)  # bits


class WideExactArithmetic(ExactArithmetic):
    _logits: Callable[[int], Array]  # of this pass, to so many bits

    def for_logits(self) -> DeferredArithmetic:
        return DeferredArithmetic(self)

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        if weight.shape[1] < WIDE:
            return super().linear(x, weight, bias)
        self._logits = lambda bits: _as_balls(bits, x, weight, bias)
        return self._logits(_LADDER[0])

    def cap(self, x: Any, limit: Number) -> Any:
        if not _are_balls(x):
            return super().cap(x, limit)
        uncapped = self._logits
        self._logits = lambda bits: ArbArithmetic(bits).cap(uncapped(bits), limit)
        return ArbArithmetic(_LADDER[0]).cap(x, limit)

    def softmax(self, rows: Array) -> Array:
        return ArbArithmetic(_LADDER[0]).softmax(rows) if _are_balls(rows) else super().softmax(rows)

    def cross_entropy(self, logits: Array, targets: list[int]) -> tuple[Any, Array]:
        if _are_balls(logits):
            raise ConfigError(
                "exact", f"over {logits.shape[1]:,} tokens logits are enclosures; gradients go with arb, float64, float32"
            )
        return super().cross_entropy(logits, targets)

    def choose(self, logits: Array) -> list[Choice]:
        if not _are_balls(logits):
            return super().choose(logits)
        choices = ArbArithmetic(_LADDER[0]).choose(logits)
        for bits in _LADDER[1:]:
            if all(choice.proved for choice in choices):
                break
            choices = ArbArithmetic(bits).choose(self._logits(bits))
        return choices


def _as_balls(bits: int, x: Array, weight: Array, bias: Array | None) -> Array:
    balls = ArbArithmetic(bits)
    return balls.linear(balls.load(x), balls.load(weight), None if bias is None else balls.load(bias))


def _are_balls(rows: Any) -> bool:
    return isinstance(rows.flat[0], arb)
