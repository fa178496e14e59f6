"""What decoding asks of a row of logits: comparisons of logits, and of sums of their exponentials.

The questions are the same in every arithmetic. Exact numbers answer with a proof, balls too where they are narrow enough, floats
with what they have; whoever does not know raises `Undecided`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from exactformer.numbers import Undecided


class Sides(NamedTuple):
    """Indices by their logits, compared with that of a pivot. `unknown` could not be compared, `why` is the first reason."""

    above: list[int]
    equal: list[int]
    below: list[int]
    unknown: list[int]
    why: Undecided | None = None


class Row(ABC):
    """The logits of one position. Weights are e^(logit/temperature), sums are values of the arithmetic."""

    proved: bool  # are answers proofs?
    bits: int  # beyond this many bits, more of a uniform number decide nothing that fewer did not
    size: int

    # -- logits
    @abstractmethod
    def compare(self, i: int, j: int) -> int:
        """The sign of logit i − logit j."""

    @abstractmethod
    def hinted(self, among: Sequence[int]) -> list[int]:
        """From the largest logit to the smallest, as far as approximations tell: a guess to be proved."""

    @abstractmethod
    def margin(self, i: int, j: int) -> Any:
        """Logit i − logit j."""

    def lead(self, i: int, others: Sequence[int]) -> Any:
        """Logit i − the largest of the others, where that is known though it is not which of them is the largest; or None."""
        return None

    def sides(self, pivot: int, among: Sequence[int]) -> Sides:
        sides = Sides([], [], [], [])
        why = None
        for i in among:
            try:
                side = 0 if i == pivot else self.compare(i, pivot)
                (sides.below, sides.equal, sides.above)[side + 1].append(i)
            except Undecided as undecided:
                sides.unknown.append(i)
                why = why or undecided
        return sides._replace(why=why)

    # -- sums of weights
    @abstractmethod
    def total(self, indices: Sequence[int]) -> Any:
        """The sum of weights."""

    @abstractmethod
    def without(self, total: Any, i: int) -> Any:
        """A sum without one of its weights."""

    @abstractmethod
    def share(self, total: Any, part: Fraction) -> Any:
        """part · total"""

    @abstractmethod
    def at_least(self, a: Any, b: Any) -> bool:
        """a ≥ b, for sums or shares of sums."""

    @abstractmethod
    def probability(self, i: int, kept: Sequence[int]) -> Any:
        """The weight of i over the sum of all that are kept."""
