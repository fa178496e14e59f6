"""The activations of an MLP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from exactformer.model.operations.operation import Operation, Part, Written

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Activation, Primitives
    from exactformer.model.backward import Tape
    from exactformer.model.step import Step

_GELU_SLOPE = Written("{0} · GELU′({1})", r"{0}\cdot\operatorname{{GELU}}'({1})")


class _Activation(Operation):
    name: ClassVar[Activation]
    slope: ClassVar[Written]
    kink: ClassVar[str] = ""  # what is said of a slope at 0, where there is none

    def apply(self, ops: Primitives, x: Any) -> Any:
        return ops.activate(x, self.name)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        (pre,) = step.reads
        x = tape[pre]
        kinks = tape.ops.zero_entries(x) if self.kink else []
        remarks = tuple((i, f"{self.kink}, at position {i}, unit {j}") for i, j in kinks)
        value = tape.ops.times(gradient, tape.ops.slope(x, self.name))
        yield Part(pre, self.slope, value, (step.gradient, pre), remarks=remarks)


class _Homogeneous(_Activation):
    """A factor c > 0 comes out as it went in."""

    def power(self, powers: Sequence[int]) -> int | None:
        return powers[0]


class _Relu(_Homogeneous):
    name, title, formula = "relu", "ReLU", Written("max(0, {0})", r"\max(0,{0})")
    slope, kink = Written("{0} where {1} > 0, else 0", r"{0}\cdot[{1}>0]"), "ReLU′(0) = 0, by convention"
    entry = "max(0, {0=})"


class _Identity(_Homogeneous):
    name, title, formula = "identity", "identity", Written("{0}", "{0}")
    slope = Written("{0}", "{0}")
    entry, equation, multilinear = "{0}", True, True


class _Gelu(_Activation):
    name, title = "gelu", "GELU"
    formula = Written("{0}/2 · (1 + erf({0}/√2))", r"\tfrac12 {0}\,(1+\operatorname{{erf}}({0}/\sqrt2))")
    slope = _GELU_SLOPE
    entry = "{0*}/2 · (1 + erf({0=}/√2))"


class _GeluTanh(_Activation):
    name, title = "gelu_tanh", "GELU (tanh)"
    formula = Written(
        "{0}/2 · (1 + tanh(√(2/π)·({0} + 0.044715·{0}³)))",
        r"\tfrac12 {0}\,(1+\tanh(\sqrt{{2/\pi}}\,({0}+0.044715\,{0}^3)))",
    )
    slope = _GELU_SLOPE
    entry = "{0*}/2 · (1 + tanh(√(2/π) · ({0=} + 0.044715 · {0*}^3)))"


ACTIVATIONS: dict[str, _Activation] = {op.name: op for op in (_Relu(), _Identity(), _Gelu(), _GeluTanh())}
