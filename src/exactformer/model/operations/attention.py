"""Scores, masks, weights and averages of attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exactformer.model.operations.operation import Operation, Part, Written
from exactformer.model.operations.products import DOT, PRODUCT, TIMES_TRANSPOSED, TRANSPOSED_TIMES, transposed
from exactformer.model.operations.stream import PASSED_ON
from exactformer.model.sight import Sight
from exactformer.numbers import Number

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Primitives, Values
    from exactformer.model.backward import Tape
    from exactformer.model.step import Step

_OF_SOFTMAX = Written("(diag(a) - a aᵀ) {1}, a = {0}", r"(\operatorname{{diag}}(a)-aa^{{\mathsf T}})\,{1},\ a={0}")


class _Scores(Operation):
    """q kᵀ for every head"""

    name, title, formula = "scores", "dot products of queries and keys", TIMES_TRANSPOSED
    about = (
        "How well the question of each position fits the label of each other: the larger the score, the more it will look there."
    )
    letters, sign, entry, equation, multilinear = ("hij", "hik", "hjk"), "·", DOT, True, True

    def apply(self, ops: Primitives, q: Any, k: Any) -> Any:
        return ops.scores(q, k)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        q, k = step.reads
        yield Part(q, PRODUCT, tape.ops.product(gradient, tape[k]), (step.gradient, k))
        yield Part(k, TRANSPOSED_TIMES, tape.ops.product(transposed(gradient), tape[q]), (step.gradient, q))

    def shift(self, moves: Sequence[str]) -> str | None:
        """A vector b that is added to all keys adds q·b to all of a row."""
        return "constant" if list(moves) == ["", "row"] else None


class _OfRows(Operation):
    """What keeps a constant that is added to all of a row."""

    def shift(self, moves: Sequence[str]) -> str | None:
        return "constant" if list(moves) == ["constant"] else None


@dataclass(frozen=True)
class Scale(_OfRows):
    factor: Number
    name, title = "scale", "scale"
    about = "All numbers times one factor; of scores, so that they do not grow with the dimensions and the softmax stays soft."
    formula = Written("{0} · {factor}", r"{0}\cdot {factor_latex}")
    entry = "{0*} · {factor*}"

    def apply(self, ops: Values, x: Any) -> Any:
        return ops.scale(x, ops.constant(self.factor))

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        yield Part(step.reads[0], self.formula, self.apply(tape.ops, gradient), (step.gradient,), self.known)

    def power(self, powers: Sequence[int]) -> int | None:
        return powers[0]

    @property
    def known(self) -> dict[str, str]:
        return {"factor": str(self.factor), "factor_latex": self.factor.latex}


@dataclass(frozen=True)
class Hide(_OfRows):
    """−∞ where a position may not look; what is hidden has weight 0, so its gradient is 0 already."""

    sight: Sight
    name, title = "mask", "mask future positions"
    about = "Where a position may not look, the score becomes −∞ and its weight exactly 0: nothing is learnt from the future."
    formula = Written("{0}, -inf where {hidden}", r"{0},\ -\infty\text{{ where }}{hidden_latex}")
    entry, multilinear = "{0} | row {row}, column {column}", True

    def apply(self, ops: Primitives, x: Any) -> Any:
        return ops.mask(x, self.sight)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        yield Part(step.reads[0], PASSED_ON, gradient, (step.gradient,))

    @property
    def known(self) -> dict[str, str]:
        return self.sight.known


@dataclass(frozen=True)
class Erase(Operation):
    """0 where a position may not look: the mistake of masking after the softmax"""

    sight: Sight
    name, title = "erase", "erase the weights of future positions"
    about = "A mistake made on purpose: the mask comes after the softmax, and so the weights of a row no longer add up to 1."
    formula = Written("{0}, 0 where {hidden}", r"{0},\ 0\text{{ where }}{hidden_latex}")
    entry, weights = "{0}", True

    def apply(self, ops: Primitives, x: Any) -> Any:
        return ops.erase(x, self.sight)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        yield Part(step.reads[0], PASSED_ON, tape.ops.erase(gradient, self.sight), (step.gradient,))

    @property
    def known(self) -> dict[str, str]:
        return self.sight.known


class _IgnoresShifts(Operation):
    """What is the same when a constant is added to all of a row."""

    letters = ("…ij", "…ik")

    def shift(self, moves: Sequence[str]) -> str | None:
        return "" if list(moves) == ["constant"] else None


class _Shift(_IgnoresShifts):
    """Each row minus its largest entry. A softmax follows, which ignores it: the gradient goes on as it is."""

    name, title, formula = "shift", "subtract each row's largest", Written("{0} - max({0})", r"{0}-\max({0})")
    about = "The largest of each row becomes 0, so that no power of e is too large; the softmax that follows does not notice."
    entry = "x - max({0,})"

    def apply(self, ops: Primitives, rows: Any) -> Any:
        return ops.shift(rows)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        yield Part(step.reads[0], PASSED_ON, gradient, (step.gradient,))


class _Softmax(_IgnoresShifts):
    name, title, formula = "softmax", "softmax of each row", Written("softmax({0})", r"\operatorname{{softmax}}({0})")
    about = "Each row becomes shares that add up to 1: e to the power of each number, divided by their sum."
    entry, weights = "exp({0@})/({+exp 0})", True

    def apply(self, ops: Values, rows: Any) -> Any:
        return ops.softmax(rows)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        """∂L/∂s = (diag(a) − a aᵀ) ∂L/∂a, row by row; what is masked has a = 0."""
        ops = tape.ops
        weighted = ops.times(step.values, gradient)
        mean = ops.total(weighted, -1)[..., None]
        back = ops.subtract(weighted, ops.times(step.values, mean))
        yield Part(step.reads[0], _OF_SOFTMAX, back, (step.name, step.gradient))


class _Hardmax(_IgnoresShifts):
    """The limit of softmax(c · row) for c → ∞: it jumps, and has no gradient."""

    name, title = "hardmax", "equal weights for the largest of each row"
    about = "All weight goes to the largest of each row, shared where several are largest: what a softmax comes to as scores grow."
    formula = Written("hardmax({0})", r"\operatorname{{hardmax}}({0})")
    entry, weights = " | the largest of {0,}", True

    def apply(self, ops: Primitives, rows: Any) -> Any:
        return ops.hardmax(rows)


class _Mix(Operation):
    """pattern v for every head"""

    name, title, formula = "mix", "weighted average of the values", PRODUCT
    about = "Each position takes the values of the positions that it looks at, each as much as its weight says, and adds them up."
    letters, sign, entry, equation, multilinear = ("hij", "hik", "hkj"), "·", DOT, True, True

    def apply(self, ops: Primitives, pattern: Any, v: Any) -> Any:
        return ops.mix(pattern, v)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        pattern, v = step.reads
        yield Part(pattern, TIMES_TRANSPOSED, tape.ops.product(gradient, transposed(tape[v])), (step.gradient, v))
        yield Part(v, TRANSPOSED_TIMES, tape.ops.product(transposed(tape[pattern]), gradient), (pattern, step.gradient))


class _Argmax(Operation):
    name, title = "argmax", "the largest logit"
    about = "At each position the token with the largest logit comes next, and its lead over all others is proved."
    formula = Written("argmax({0})", r"\operatorname{{argmax}}({0})")
    letters, entry, reduces = ("ij", "ik"), " | the largest of {0:}", True


SCORES, SHIFT, SOFTMAX, HARDMAX, MIX, ARGMAX = _Scores(), _Shift(), _Softmax(), _Hardmax(), _Mix(), _Argmax()
