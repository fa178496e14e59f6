"""Steps that no operation of a pass computes: weights, and gradients with the parts that they are the sum of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exactformer.model.operations.operation import Operation, Part, Written, filled

GIVEN = Written("given", r"\text{{given}}")
OF_CROSS_ENTROPY = Written("({0} - 1 at the target) / T", r"({0}-[\text{{target}}])/T")


class _Weight(Operation):
    name, title, formula = "weight", "a weight", Written("", "")
    about = "A number that the model has learnt, or that was chosen by hand; it does not depend on the input."


@dataclass(frozen=True)
class Summed(Operation):
    """A gradient: the sum of what its readers hand back."""

    ways: tuple[Written, ...]
    name, title = "gradient", "gradient"
    about = "How much the loss would change if this number changed a little: the sum of what all steps that read it hand back."

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Summed:
        return cls(tuple(filled(part.way, part.reads, part.known) for part in parts))

    def written(self, reads: Sequence[str]) -> Written:
        return Written(" + ".join(way.text for way in self.ways) or "0", "+".join(way.latex for way in self.ways) or "0")


WEIGHT = _Weight()
