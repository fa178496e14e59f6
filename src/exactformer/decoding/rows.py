"""Rows of exact-or-named numbers, of balls and of floats."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from flint import arb, fmpq

from exactformer.decoding.row import Row, Sides
from exactformer.numbers import Exact, Number, Undecided, Undefined, UndefinedValue, exp, recover
from exactformer.numbers.budget import DEFAULT, WORKING_BITS
from exactformer.numbers.decide import sign
from exactformer.numbers.enclosure import ball, precision
from exactformer.numbers.field import ONE, divide, multiply, subtract, total
from exactformer.numbers.order import compare
from exactformer.numbers.parse import required

_DOUBLE = 64  # bits of a uniform number: more than a float64 holds


class ExactRow(Row):
    proved = True
    bits = DEFAULT.bits

    def __init__(self, logits: Sequence[Any], temperature: Exact = ONE) -> None:
        self.logits = [required(logit) for logit in logits]
        self.temperature = temperature
        self.size = len(self.logits)

    @cached_property
    def weights(self) -> list[Number]:
        return [exp(logit if self.temperature.value == 1 else divide(logit, self.temperature)) for logit in self.logits]

    def compare(self, i: int, j: int) -> int:
        return compare(self.logits[i], self.logits[j])

    def hinted(self, among: Sequence[int]) -> list[int]:
        return sorted(among, key=lambda i: ball(self.logits[i], WORKING_BITS).mid(), reverse=True)  # type: ignore[arg-type]

    def margin(self, i: int, j: int) -> Number:
        return recover(subtract(self.logits[i], self.logits[j]))

    def total(self, indices: Sequence[int]) -> Number:
        return total([self.weights[i] for i in indices])

    def without(self, total: Any, i: int) -> Number:
        return subtract(total, self.weights[i])

    def share(self, total: Any, part: Fraction) -> Number:
        return multiply(Exact(fmpq(part.numerator, part.denominator)), total)

    def at_least(self, a: Any, b: Any) -> bool:
        return sign(subtract(a, b)) >= 0

    def probability(self, i: int, kept: Sequence[int]) -> Number:
        return ONE if len(kept) == 1 else recover(divide(self.weights[i], self.total(kept)))


class BallRow(Row):
    proved = True

    def __init__(self, logits: Sequence[arb], temperature: Exact = ONE, bits: int = 128) -> None:
        self.logits = list(logits)
        self.temperature = temperature
        self.bits = bits
        self.size = len(self.logits)

    @cached_property
    def weights(self) -> list[arb]:
        """Of logits from which the largest midpoint is taken off: that changes no quotient of weights, and keeps them small."""
        highest = max(logit.mid() for logit in self.logits)  # midpoints have radius 0: they always compare
        above, below = self.temperature.value.q, self.temperature.value.p
        with precision(self.bits):
            return [((logit - highest) * above / below).exp() for logit in self.logits]

    def compare(self, i: int, j: int) -> int:
        x, y = self.logits[i], self.logits[j]
        if x > y:
            return 1
        if x < y:
            return -1
        if x.is_exact() and y.is_exact():  # points, and neither is the larger one
            return 0
        raise Undecided(f"which of the tokens {i} and {j} has the larger logit", self.bits)

    def hinted(self, among: Sequence[int]) -> list[int]:
        return sorted(among, key=lambda i: self.logits[i].mid(), reverse=True)

    def margin(self, i: int, j: int) -> arb:
        with precision(self.bits):
            return self.logits[i] - self.logits[j]

    def lead(self, i: int, others: Sequence[int]) -> arb:
        with precision(self.bits):
            return self.logits[i] - reduce(lambda x, y: x.max(y), (self.logits[j] for j in others))

    def total(self, indices: Sequence[int]) -> arb:
        weights = self.weights
        with precision(self.bits):
            return sum((weights[i] for i in indices), arb(0))

    def without(self, total: Any, i: int) -> arb:
        with precision(self.bits):
            return total - self.weights[i]

    def share(self, total: Any, part: Fraction) -> arb:
        with precision(self.bits):
            return total * part.numerator / part.denominator

    def at_least(self, a: Any, b: Any) -> bool:
        if a >= b:
            return True
        if a < b:
            return False
        raise Undecided("which of two sums of probabilities is larger", self.bits)

    def probability(self, i: int, kept: Sequence[int]) -> arb:
        if len(kept) == 1:
            return arb(1)
        with precision(self.bits):
            return self.weights[i] / self.total(kept)


class FloatRow(Row):
    """Floats of any width; sums and quotients are of float64."""

    proved = False
    bits = _DOUBLE

    def __init__(self, logits: Any, temperature: Exact = ONE) -> None:
        self.logits = np.asarray(logits)
        self.temperature = temperature
        self.size = len(self.logits)

    @cached_property
    def weights(self) -> Any:
        below = self.logits.astype(np.float64)
        below -= below.max()
        with np.errstate(all="ignore"):  # the float nearest to a temperature may be 0 or ∞
            return np.exp(np.where(below == 0, 0.0, below / _nearest(self.temperature)))

    def compare(self, i: int, j: int) -> int:
        return int(self.logits[i] > self.logits[j]) - int(self.logits[i] < self.logits[j])

    def hinted(self, among: Sequence[int]) -> list[int]:
        indices = np.asarray(among)
        order: list[int] = indices[np.argsort(-self.logits[indices], kind="stable")].tolist()
        return order

    def sides(self, pivot: int, among: Sequence[int]) -> Sides:
        indices = np.asarray(among)
        lead = self.logits[indices] - self.logits[pivot]
        return Sides(indices[lead > 0].tolist(), indices[lead == 0].tolist(), indices[lead < 0].tolist(), [])

    def margin(self, i: int, j: int) -> Any:
        return self.logits[i] - self.logits[j]

    def total(self, indices: Sequence[int]) -> float:
        return float(self.weights[np.asarray(indices)].sum())

    def without(self, total: Any, i: int) -> float:
        return float(total - self.weights[i])

    def share(self, total: Any, part: Fraction) -> float:
        return float(total) * float(part)

    def at_least(self, a: Any, b: Any) -> bool:
        return bool(a >= b)

    def probability(self, i: int, kept: Sequence[int]) -> float:
        return float(self.weights[i]) / self.total(kept)


def _nearest(temperature: Exact) -> float:
    try:
        return temperature.to_float()
    except OverflowError:
        return float("inf")


def row_of(logits: Any, temperature: Exact = ONE, bits: int = 128) -> Row:
    """The row of these logits: numbers, or balls computed with `bits` bits, or a NumPy array of floats."""
    if isinstance(logits, np.ndarray) and logits.dtype.kind == "f":
        if not np.isfinite(logits).all():
            raise UndefinedValue("undefined: a logit is infinite or not a number")
        return FloatRow(logits, temperature)
    values = list(logits)
    for value in values:
        if isinstance(value, Undefined):
            if value.undecided:
                raise Undecided(value.why.removeprefix("undecided: "), 0)
            raise UndefinedValue(f"undefined: {value.why}")
    if values and all(isinstance(value, arb) for value in values):
        return BallRow(values, temperature, bits)
    return ExactRow(values, temperature)
