"""The activations of an MLP, gates, and soft caps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from exactformer.model.operations.operation import Operation, Part, Written
from exactformer.numbers import Number

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Activation, Adjoints, Primitives, Values
    from exactformer.model.backward import Tape
    from exactformer.model.step import Remarks, Step

_GELU_SLOPE = Written("{0} · GELU′({1})", r"{0}\cdot\operatorname{{GELU}}'({1})")


class Activate(Operation):
    """A function of each entry."""

    name: ClassVar[Activation]
    slope: ClassVar[Written]
    kink: ClassVar[str] = ""  # what is said of a slope at 0, where there is none

    def apply(self, ops: Primitives, x: Any) -> Any:
        return ops.activate(x, self.name)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        (pre,) = step.reads
        value = tape.ops.times(gradient, tape.ops.slope(tape[pre], self.name))
        yield Part(pre, self.slope, value, (step.gradient, pre), remarks=self.kinks(tape.ops, tape[pre]))

    def kinks(self, ops: Adjoints, x: Any) -> Remarks:
        """What is said of the slopes that are a convention."""
        return tuple((i, f"{self.kink}, at position {i}, unit {j}") for i, j in (ops.zero_entries(x) if self.kink else []))


class _Homogeneous(Activate):
    """A factor c > 0 comes out as it went in."""

    def power(self, powers: Sequence[int]) -> int | None:
        return powers[0]


class _Relu(_Homogeneous):
    name, title, formula = "relu", "ReLU", Written("max(0, {0})", r"\max(0,{0})")
    about = "What is negative becomes 0, all else stays: this bend is what makes an MLP more than one matrix."
    slope, kink = Written("{0} where {1} > 0, else 0", r"{0}\cdot[{1}>0]"), "ReLU′(0) = 0, by convention"
    entry = "max(0, {0=})"


class _Identity(_Homogeneous):
    name, title, formula = "identity", "identity", Written("{0}", "{0}")
    about = "No bend at all: each number stays as it is, and the MLP is no more than a product of matrices."
    slope = Written("{0}", "{0}")
    entry, equation, multilinear = "{0}", True, True


class _Gelu(Activate):
    name, title = "gelu", "GELU"
    about = "A ReLU with a soft corner: each number times the chance that a normal random number is below it."
    formula = Written("{0}/2 · (1 + erf({0}/√2))", r"\tfrac12 {0}\,(1+\operatorname{{erf}}({0}/\sqrt2))")
    slope = _GELU_SLOPE
    entry = "{0*}/2 · (1 + erf({0=}/√2))"


class _GeluTanh(Activate):
    name, title = "gelu_tanh", "GELU (tanh)"
    about = "A ReLU with a soft corner, by a formula with tanh that is close to GELU and that GPT-2 was trained with."
    formula = Written(
        "{0}/2 · (1 + tanh(√(2/π)·({0} + 0.044715·{0}³)))",
        r"\tfrac12 {0}\,(1+\tanh(\sqrt{{2/\pi}}\,({0}+0.044715\,{0}^3)))",
    )
    slope = _GELU_SLOPE
    entry = "{0*}/2 · (1 + tanh(√(2/π) · ({0=} + 0.044715 · {0*}^3)))"


class _Silu(Activate):
    name, title = "silu", "SiLU"
    about = "A ReLU with a soft corner: each number times its own sigmoid, which goes from 0 to 1."
    formula = Written("{0} / (1 + e^(-{0}))", r"\frac{{{0}}}{{1+e^{{-{0}}}}}")
    slope = Written("{0} · SiLU′({1})", r"{0}\cdot\operatorname{{SiLU}}'({1})")
    entry = "{0*}/(1 + exp(-{0*}))"


ACTIVATIONS: dict[str, Activate] = {op.name: op for op in (_Relu(), _Identity(), _Gelu(), _GeluTanh(), _Silu())}


@dataclass(frozen=True)
class Gate(Operation):
    """activation(gate) · x, entry by entry"""

    activation: Activate
    name, title = "gate", "the gate, times the other branch"
    about = "One branch of the MLP decides how much of the other is let through, unit by unit."
    formula = Written("{gate}({0}) · {1}", r"\operatorname{{{gate}}}({0})\cdot {1}")
    entry = "{gate}({0=}) · {1*}"

    def apply(self, ops: Primitives, gate: Any, x: Any) -> Any:
        return ops.settle(ops.times(self.activation.apply(ops, gate), x))

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        gate, x = step.reads
        ops = tape.ops
        through = ops.times(gradient, tape[x])
        yield Part(
            gate,
            _THROUGH_GATE,
            ops.times(through, ops.slope(tape[gate], self.activation.name)),
            (step.gradient, x, gate),
            self.known,
            self.activation.kinks(ops, tape[gate]),
        )
        yield Part(x, _THROUGH_X, ops.times(gradient, self.activation.apply(ops, tape[gate])), (step.gradient, gate), self.known)

    @property
    def known(self) -> dict[str, str]:
        return {"gate": self.activation.title}


_THROUGH_GATE = Written("{0} · {1} · {gate}′({2})", r"{0}\cdot {1}\cdot\operatorname{{{gate}}}'({2})")
_THROUGH_X = Written("{0} · {gate}({1})", r"{0}\cdot\operatorname{{{gate}}}({1})")


@dataclass(frozen=True)
class Cap(Operation):
    """c · tanh(x/c): nearly x where x is small, and never beyond ±c"""

    limit: Number
    name, title = "cap", "soft cap"
    about = "Small numbers stay nearly as they are, and none goes beyond the cap: no single score or logit can outgrow all others."
    formula = Written("{limit} · tanh({0} / {limit})", r"{limit_latex}\cdot\tanh({0}/{limit_latex})")
    entry = "{limit*} · tanh({0*}/{limit*})"

    def apply(self, ops: Values, x: Any) -> Any:
        return ops.cap(x, self.limit)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        """1 − tanh² = 1 − (y/c)²"""
        ops = tape.ops
        squared = ops.times(step.values, step.values)
        lost = ops.times(gradient, ops.scale(squared, ops.constant(1 / self.limit**2)))
        yield Part(step.reads[0], _OF_CAP, ops.subtract(gradient, lost), (step.gradient, step.name), self.known)

    @property
    def known(self) -> dict[str, str]:
        return {"limit": str(self.limit), "limit_latex": self.limit.latex}


_OF_CAP = Written("{0} · (1 - ({1}/{limit})²)", r"{0}\cdot(1-({1}/{limit_latex})^2)")
