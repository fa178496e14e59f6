"""What the rest of a pass does not see, derived from the operations of its steps.

A LayerNorm with ε = 0 gives the same for x and for 2x. Where all that is made of a step ends in such a LayerNorm, row by row and
by operations that only pass a factor on, the pass does not see the factor: if f(c·x) = f(x) for every c > 0, then Σ x ∂f/∂x = 0
(Euler). A softmax gives the same when a constant is added to a row: a bias that does no more than that has no gradient. So some
gradients are 0 by a lemma, which would take long to find in their closed forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from exactformer.model.operations.operation import Operation
    from exactformer.model.step import Step

Change = TypeVar("Change", int, str)


def scale_free(source: str, steps: Sequence[Step]) -> bool:
    """Does the last step stay as it is when a row of the step `source` is multiplied by any c > 0?"""
    return _unseen(source, 1, 0, steps, lambda op, powers: op.power(powers))


def shift_free(source: str, steps: Sequence[Step]) -> bool:
    """Does the last step stay as it is when any vector is added to `source`, a bias at all positions?"""
    return _unseen(source, "row", "", steps, lambda op, moves: op.shift(moves))


def _unseen(
    source: str, change: Change, none: Change, steps: Sequence[Step], carried: Callable[[Operation, list[Change]], Change | None]
) -> bool:
    """Follow a change from step to step; an operation that does not say what becomes of it ends the argument."""
    changed = {source: change}
    for step in steps:
        reads = [changed.get(read, none) for read in step.reads]
        if step.name == source or all(read == none for read in reads):
            continue
        result = carried(step.operation, reads)
        if result is None:
            return False
        if result != none:
            changed[step.name] = result
    return steps[-1].name not in changed
