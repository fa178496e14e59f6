"""Floats as another careful program has them: sums in another order, functions that differ in the last place. Nothing is proved.

One pass in floats says how large its own errors are, which is a matter of luck: in a model that amplifies them another pass, as
careful, may be off by several times as much. Some passes that differ where careful programs do say how large such errors are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.model.arithmetics.floats import FloatArithmetic, Floats
from exactformer.model.arithmetics.narrow import NarrowArithmetic
from exactformer.model.arithmetics.roles import Activation
from exactformer.model.rotary import Rotary


class _Shaken(FloatArithmetic):
    """Mixed into an arithmetic of floats."""

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name)
        self.seed = seed
        self.begin()

    def begin(self) -> None:
        """Every pass is shaken in the same way, whatever was computed before it."""
        self.rng = np.random.default_rng(self.seed)

    def _order(self, n: int) -> Any:
        return self.rng.permutation(n)

    def _off(self, x: Floats) -> Floats:
        """Off by up to a unit of the last place."""
        return np.asarray(x * (1 + np.finfo(self.dtype).eps * self.rng.uniform(-1, 1, np.shape(x))), dtype=self.dtype)

    def linear(self, x: Floats, weight: Floats, bias: Floats | None) -> Floats:
        order = self._order(len(weight))
        return super().linear(x[..., order], weight[order], bias)

    def scores(self, q: Floats, k: Floats) -> Floats:
        order = self._order(q.shape[-1])
        return super().scores(q[..., order], k[..., order])

    def mix(self, pattern: Floats, v: Floats) -> Floats:
        order = self._order(v.shape[-2])
        return super().mix(pattern[..., order], v[..., order, :])

    def turns(self, rotary: Rotary, positions: range) -> tuple[Floats, Floats]:
        """As libraries compute them: the angle is a product of floats, rounded before its cosine is taken."""
        pairs = [rotary.pair(j) for j in range(rotary.width)]
        signs = np.array([-1 if rotary.is_first(j) else 1 for j in range(rotary.width)], dtype=self.dtype)
        steps = np.array([number.to_float() for number in rotary.frequencies], dtype=self.dtype)[pairs]
        angles = np.array(positions, dtype=self.dtype)[:, None] * steps
        return np.cos(angles), np.sin(angles) * signs

    def deviation(self, variance: Floats, epsilon: Any) -> Floats:
        return self._off(super().deviation(variance, epsilon))

    def shift(self, rows: Floats) -> Floats:
        return self._off(super().shift(rows))

    def activate(self, x: Floats, kind: Activation) -> Floats:
        return self._off(super().activate(x, kind))


class ShakenFloats(_Shaken):
    """float32 or float64."""


class ShakenNarrow(_Shaken, NarrowArithmetic):
    """float16 or bfloat16, whose results are rounded again."""

    def turns(self, rotary: Rotary, positions: range) -> tuple[Floats, Floats]:
        own, others = super().turns(rotary, positions)
        return self.narrowed(own), self.narrowed(others)

    def _off(self, x: Floats) -> Floats:
        return self.narrowed(x * (1 + self.format.epsilon / 2 * self.rng.uniform(-1, 1, np.shape(x))))


def shaken(name: str, seed: int) -> FloatArithmetic:
    """An arithmetic of this format that differs from the usual one by the seed alone."""
    return (ShakenNarrow if name in ("float16", "bfloat16") else ShakenFloats)(name, seed)
