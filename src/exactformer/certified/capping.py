"""Soft caps of scores and logits: c tanh(x/c) (Lemma 30)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import FLOAT, Ball, outwards
from exactformer.certified.constants import constant_limbs, near
from exactformer.certified.elementwise import exp_float, logistic
from exactformer.certified.limbs import Limbs, carry, check_first, multiply, to_float, ulp
from exactformer.numbers import Number


@dataclass(frozen=True)
class Cap:
    """c > 0."""

    number: Number

    @cached_property
    def near(self) -> float:
        return near(self.number, "a soft cap")

    def limbs(self, x: Limbs) -> tuple[Limbs, float]:
        """sign(x) c (2/(1 + e^−y) − 1) with y = 2|x|/c, and the error."""
        n = len(x)
        (c, c_error), (inverse, inverse_error) = (constant_limbs(number, n + 1) for number in (self.number, 2 / self.number))
        places = (slice(None), *([None] * (x.ndim - 1)))
        rough = to_float(check_first(x))
        positive = rough > 0  # the float has the sign of x (Lemma 5)
        share, share_error = logistic(multiply(np.where(positive, x, -x), inverse[places], n))
        curve = 2 * share
        curve[0] -= 1
        curve = carry(curve, n)
        value = multiply(curve, c[places], n)
        size = float(np.abs(rough).max(initial=0.0)) * (1 + bounds.TO_FLOAT)
        error = bounds.soft_cap(self.near, share_error, size, inverse_error, c_error, n)
        return np.where(positive, value, -value), error * ulp(n)

    def floats(self, x: Any) -> tuple[Any, float]:
        """The same of floats, and the error."""
        power = exp_float(-np.abs(x) * (2 / self.near))
        return np.copysign(self.near * ((1 - power) / (1 + power)), x), bounds.FLOAT_CAP * self.near

    @bounds.MAY_BE_INFINITE
    def ball(self, x: Ball) -> Ball:
        """Of numbers with a radius each: slopes are at most 1."""
        value, error = self.floats(x.mid) if x.n == FLOAT else self.limbs(x.mid)
        return Ball(value, x.n, outwards(x.spread() + error))
