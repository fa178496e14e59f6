"""The lines of a LayerNorm, and of an RMSNorm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.model.invariance import scale_free
from exactformer.model.operations.operation import Operation, Part, Written
from exactformer.model.operations.products import SUMMED
from exactformer.model.operations.stream import PASSED_ON
from exactformer.numbers import Exact, exact

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Adjoints, Primitives
    from exactformer.model.backward import Tape
    from exactformer.model.step import Step

_IGNORED = Written("0: a LayerNorm with ε = 0 follows, which ignores the scale", "0")
_SHARED = Written("{0} / n", "{0}/n")
_TAKEN = Written("-sum({0})", r"-\textstyle\sum {0}")
_OF_SQUARES = Written("{0} · 2 {1} / n", r"{0}\cdot 2\,{1}/n")
_OF_ROOT = Written("{0} / (2 {1})", r"{0}/(2\,{1})")
_TO_X = Written("{0} · {1} / {2}", r"{0}\cdot {1}/{2}")
_TO_DEVIATION = Written("-sum({0} · {1} · {2}) / {3}²", r"-\textstyle\sum({0}\cdot {1}\cdot {2})/{3}^2")
_PLUS_ONE = Written("{0} · (1 + {1}) / {2}", r"{0}\cdot (1+{1})/{2}")
_TO_DEVIATION_PLUS_ONE = Written("-sum({0} · (1 + {1}) · {2}) / {3}²", r"-\textstyle\sum({0}\cdot (1+{1})\cdot {2})/{3}^2")
_TO_GAIN = Written("sum over positions of {0} · {1} / {2}", r"\textstyle\sum_t {0}\cdot {1}/{2}")


class _Mean(Operation):
    name, title, formula = "mean", "mean", Written("mean({0})", r"\operatorname{{mean}}({0})")
    about = "The average of each row: the first line of a LayerNorm, which brings every position to the same size."
    letters, entry, reduces = ("…ij", "…ik"), "({+0})/{n}", True

    def apply(self, ops: Primitives, x: Any) -> Any:
        return ops.mean(x)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        (x,) = step.reads
        shape = tape[x].shape
        spread = tape.ops.times(gradient, tape.ops.ratio(1, shape[-1]))
        yield Part(x, _SHARED, np.broadcast_to(spread, shape), (step.gradient,))

    def power(self, powers: Sequence[int]) -> int | None:
        return powers[0]


class _Center(Operation):
    name, title, formula = "center", "subtract the mean", Written("{0} - {1}", "{0}-{1}")
    about = "Each row less its average, so that it is centred on 0: only the differences within a row go on."
    letters, sign, entry, equation = ("ij", "ij", "i0"), "−", "{0} - {1*}", True

    def apply(self, ops: Primitives, x: Any, mean: Any) -> Any:
        return ops.center(x, mean)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        x, mean = step.reads
        yield Part(x, PASSED_ON, gradient, (step.gradient,))
        back = tape.ops.times(tape.ops.total(gradient, -1)[..., None], tape.ops.ratio(-1, 1))
        yield Part(mean, _TAKEN, back, (step.gradient,))

    def power(self, powers: Sequence[int]) -> int | None:
        return powers[0] if powers[0] == powers[1] else None


class _Variance(Operation):
    name, title, formula = "variance", "variance", Written("mean({0}²)", r"\operatorname{{mean}}({0}^2)")
    about = "The average of the squares of a centred row: how far its numbers are spread."
    letters, entry, reduces = ("…ij", "…ik"), "({+0²})/{n}", True

    def apply(self, ops: Primitives, centered: Any) -> Any:
        return ops.variance(centered)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        (x,) = step.reads
        slope = tape.ops.times(tape[x], tape.ops.ratio(2, tape[x].shape[-1]))
        yield Part(x, _OF_SQUARES, tape.ops.times(slope, gradient), (step.gradient, x))

    def power(self, powers: Sequence[int]) -> int | None:
        return 2 * powers[0]


class _MeanSquare(_Variance):
    name, title = "mean_square", "mean of squares"
    about = "The average of the squares of a row: how large its numbers are. An RMSNorm does not subtract the mean first."


@dataclass(frozen=True)
class Deviation(Operation):
    """√(variance + ε)"""

    epsilon: Exact
    name, title, formula = "deviation", "standard deviation", Written("√({0} + ε)", r"\sqrt{{{0}+\varepsilon}}")
    about = "The square root of the variance, the number that the row will be divided by; ε keeps it away from 0."

    @property
    def entry(self) -> str:  # type: ignore[override]
        return "√({0=})" if self.epsilon == 0 else "√({0=} + {epsilon})"

    @property
    def known(self) -> dict[str, str]:
        return {"epsilon": str(self.epsilon)}

    def apply(self, ops: Primitives, variance: Any) -> Any:
        return ops.deviation(variance, ops.constant(self.epsilon))

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        half = tape.ops.times(gradient, tape.ops.ratio(1, 2))
        yield Part(step.reads[0], _OF_ROOT, tape.ops.over(half, step.values), (step.gradient, step.name))

    def power(self, powers: Sequence[int]) -> int | None:
        return powers[0] // 2 if self.epsilon == 0 and powers[0] % 2 == 0 else None


@dataclass(frozen=True)
class RootMeanSquare(Deviation):
    """√(mean of squares + ε)"""

    name, title = "rms", "root mean square"
    about = "The square root of the mean of squares, the number that the row will be divided by; ε keeps it away from 0."


@dataclass(frozen=True)
class Normalise(Operation):
    """w · x / s + b, entry by entry; undefined where s is 0, which is said of the norm by its name

    `unit`: the gain is 1 + w. An RMSNorm has no b.
    """

    where: str
    unit: bool = False
    biased: bool = True
    name, added = "normalise", 3
    about = "Each row is divided by its spread, so that all positions have the same size, and then stretched by learnt weights."
    letters = ("…ij", "…ij", "…i0", "j", "j")

    @property
    def title(self) -> str:  # type: ignore[override]
        return "divide, stretch, shift" if self.biased else "divide and stretch"

    @property
    def formula(self) -> Written:  # type: ignore[override]
        gain, shift = "(1 + {2})" if self.unit else "{2}", ("{3}" if self.biased else "")
        text = f"{gain} · {{0}} / {{1}}" + (f" + {shift}" if shift else "")
        return Written(text, rf"{gain}\cdot\frac{{{{{{0}}}}}}{{{{{{1}}}}}}" + (f"+{shift}" if shift else ""))

    @property
    def entry(self) -> str:  # type: ignore[override]
        return ("(1 + {2*})" if self.unit else "{2*}") + " · ({0=})/({1=})" + (" + {3}" if self.biased else "")

    def apply(self, ops: Primitives, x: Any, s: Any, w: Any, b: Any = None) -> Any:
        return ops.normalise(x, s, self._gain(ops, w), b, self.where)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        x, s, w, *bias = step.reads
        ops, grad = tape.ops, step.gradient
        gradient = ops.mark(gradient)
        unit = ops.over(tape[x], tape[s])  # x/s
        scaled = ops.over(ops.times(gradient, self._gain(ops, tape[w])), tape[s])  # g·w/s
        yield Part(x, _PLUS_ONE if self.unit else _TO_X, scaled, (grad, w, s))
        if scale_free(step.name, tape.steps) and all(len(ops.zero_entries(tape[b])) == tape[b].size for b in bias):
            yield Part(s, _IGNORED, ops.times(tape[s], ops.ratio(0, 1)), (grad,))
        else:
            back = ops.times(ops.total(ops.times(scaled, unit), -1)[..., None], ops.ratio(-1, 1))
            yield Part(s, _TO_DEVIATION_PLUS_ONE if self.unit else _TO_DEVIATION, back, (grad, w, x, s))
        yield Part(w, _TO_GAIN, _over_places(ops, ops.times(gradient, unit)), (grad, x, s))
        for b in bias:
            yield Part(b, SUMMED, ops.total(gradient, 0), (grad,))

    def _gain(self, ops: Primitives, w: Any) -> Any:
        return ops.add(w, np.broadcast_to(np.asarray(ops.constant(exact(1))), w.shape)) if self.unit else w

    def power(self, powers: Sequence[int]) -> int | None:
        return 0 if powers[0] == powers[1] and not any(powers[2:]) else None


def _over_places(ops: Adjoints, x: Any) -> Any:
    """[T, n] or [heads, T, n], summed to [n]"""
    while x.ndim > 1:
        x = ops.total(x, 0)
    return x


MEAN, CENTER, VARIANCE, MEAN_SQUARE = _Mean(), _Center(), _Variance(), _MeanSquare()
