"""Steps whose scale the rest of the pass does not see.

A LayerNorm with ε = 0 gives the same for x and for 2x. Where all that is made of a step ends in such a LayerNorm, row by row and
by operations that only pass a factor on, the pass does not see the factor: if f(c·x) = f(x) for every c > 0, then Σ x ∂f/∂x = 0
(Euler). So some gradients are 0 by a lemma, which would take long to find in their closed forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from exactformer.model.config import Config

_LINEAR = ("same", "add", "linear", "relu", "identity", "mean", "center")  # a factor c > 0 comes out as c


class Operation(Protocol):
    """What is asked of a step: its operation and what it reads."""

    @property
    def name(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def reads(self) -> tuple[str, ...]: ...


def scale_free(source: str, steps: Sequence[Operation], config: Config) -> bool:
    """Does the last step stay as it is when a row of the step `source` is multiplied by any c > 0?"""
    if config.epsilon is None or config.epsilon != 0:
        return False
    power: dict[str, int] = {source: 1}  # c comes out as c^power; what is not here stays as it is
    for step in steps:
        powers = [power.get(read, 0) for read in step.reads]
        if step.name == source or not any(powers):
            continue
        biased = step.op == "linear" and len(step.reads) > 2
        if step.op in _LINEAR and not biased and _all_read(step, powers):
            power[step.name] = 1
        elif step.op == "variance":
            power[step.name] = 2
        elif step.op == "deviation" and powers[0] == 2:
            power[step.name] = 1
        elif step.op != "normalise" or powers[:2] != [1, 1]:
            return False
    return steps[-1].name not in power


def _all_read(step: Operation, powers: list[int]) -> bool:
    """Are all operands multiplied by c? Weights are not, and need not be."""
    operands = powers[:1] if step.op == "linear" else powers
    return all(p == 1 for p in operands)
