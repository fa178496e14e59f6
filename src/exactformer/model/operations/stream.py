"""The residual stream: carried on, or added to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from exactformer.model.operations.operation import Operation, Part, Written

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Values
    from exactformer.model.backward import Tape
    from exactformer.model.step import Step

PASSED_ON = Written("{0}", "{0}")


class _PassesOn(Operation):
    """The gradient goes on as it is to all that is read."""

    multilinear = True

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        for read in step.reads:
            yield Part(read, PASSED_ON, gradient, (step.gradient,))

    def power(self, powers: Sequence[int]) -> int | None:
        return 1 if set(powers) == {1} else None


class _Same(_PassesOn):
    name, title, formula = "same", "unchanged", Written("{0}", "{0}")
    about = "Nothing is computed: the numbers go on under the name that the next steps know them by."
    entry, equation = "{0}", True

    def apply(self, ops: Values, x: Any) -> Any:
        return x


class _Add(_PassesOn):
    name, title, formula = "add", "add", Written("{0} + {1}", "{0}+{1}")
    about = "What was found is added to what was there, entry by entry, so that nothing of the stream is lost on the way."
    letters, sign, entry, equation = ("ij", "ij", "ij"), "+", "{0} + {1}", True

    def apply(self, ops: Values, x: Any, y: Any) -> Any:
        return ops.add(x, y)


SAME, ADD = _Same(), _Add()
