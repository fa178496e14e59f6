"""Queries and keys turned by their positions, and key heads that several query heads share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.model.operations.operation import Operation, Part, Written
from exactformer.model.rotary import Rotary

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Primitives
    from exactformer.model.backward import Tape
    from exactformer.model.step import Step

_BACK = Written("{0}, turned back by position · θ", r"R_{{-\text{{position}}\cdot\theta}}\,{0}")


@dataclass(frozen=True)
class Rotate(Operation):
    """Each pair of dimensions turns by position · θ; the gradient is turned back."""

    rotary: Rotary
    positions: range
    name, title = "rotate", "turn by the position"
    about = (
        "Pairs of numbers turn like hands of clocks, further at later positions: scores then depend on how far apart tokens are."
    )
    formula = Written("turn({0}, position · θ)", r"R_{{\text{{position}}\cdot\theta}}\,{0}")
    letters, entry = ("hij", "hik"), "{turn 0}"

    def apply(self, ops: Primitives, x: Any) -> Any:
        return self._turned(ops, x, 1)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        yield Part(step.reads[0], _BACK, self._turned(tape.ops, gradient, -1), (step.gradient,))

    def _turned(self, ops: Primitives, x: Any, direction: int) -> Any:
        width = self.rotary.width
        own, others = ops.turns(self.rotary, self.positions)
        turning = x[..., :width]
        across = ops.times(turning[..., self.rotary.partners], others)
        turned = (ops.add if direction > 0 else ops.subtract)(ops.times(turning, own), across)
        return turned if width == x.shape[-1] else np.concatenate([turned, x[..., width:]], axis=-1)

    @property
    def known(self) -> dict[str, str]:
        return {
            "pairs": self.rotary.pairs,
            "width": str(self.rotary.width),
            "start": str(self.positions.start),
            "frequencies": "; ".join(map(str, self.rotary.frequencies)),
        }


@dataclass(frozen=True)
class Share(Operation):
    """Each head of keys or values serves several heads of queries, one after the other."""

    times: int
    mixed: bool = False  # a mistake: head h reads head h mod n
    name, title = "share", "one for several heads"
    about = "Several heads of queries use the same keys or values, which saves memory and changes no formula."
    formula = Written("{0}, each for {times} heads", r"{0}\ (\text{{each for }}{times}\text{{ heads}})")
    letters, entry, multilinear = ("hij", "gij"), "{0}", True

    def apply(self, ops: Primitives, x: Any) -> Any:
        return np.tile(x, (self.times, 1, 1)) if self.mixed else np.repeat(x, self.times, axis=0)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        groups = (self.times, -1) if self.mixed else (-1, self.times)
        shared = gradient.reshape(*groups, *gradient.shape[1:])
        yield Part(step.reads[0], _OVER_SHARERS, tape.ops.total(shared, 0 if self.mixed else 1), (step.gradient,))

    @property
    def known(self) -> dict[str, str]:
        return {"times": str(self.times), "sharing": "mixed" if self.mixed else "grouped"}


_OVER_SHARERS = Written("{0}, summed over the heads that share", r"\textstyle\sum_{{\text{{sharers}}}} {0}")
