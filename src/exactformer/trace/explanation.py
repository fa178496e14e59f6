"""Where a logit comes from: a sum of contributions, which is proved to add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from flint import arb

from exactformer.arithmetics import one_by_one
from exactformer.model.arithmetics.roles import Adjoints
from exactformer.numbers import Exact, Named, Number, Undecided
from exactformer.numbers.balls import presented
from exactformer.numbers.enclosure import ball
from exactformer.numbers.order import compare
from exactformer.showing import Shown

Proof = Literal["equal", "enclosed", "undecided", "rounded"]
_KNOWN: tuple[Proof, ...] = ("rounded", "undecided", "enclosed", "equal")  # from least to most
_BITS = 1024  # of enclosures of exact numbers
_UNEQUAL = "the contributions add up to {}, not to {}"


class DoesNotAddUp(ArithmeticError):
    """Contributions whose sum is proved to be another number than what they explain."""


@dataclass(frozen=True)
class Contribution:
    """What one part of a model adds, and of what that is the sum: a head's of its source positions, an MLP's of its units."""

    name: str  # embed, pos_embed, blocks.0.attn.head.3, blocks.0.mlp; of a bias the name of the weight
    value: Any
    parts: tuple[Contribution, ...] = ()


@dataclass(frozen=True)
class Explanation(Shown):
    """A logit, or the lead of one over another, as a sum. Norms are divided by their true scales, which are those of this pass."""

    title: str
    arithmetic: str
    tokens: tuple[str, ...]
    position: int
    token: str
    over: str | None  # the token whose logit is subtracted
    step: str  # what is explained: logits, or uncapped where a soft cap follows
    value: Any
    contributions: tuple[Contribution, ...]
    norms: tuple[str, ...]  # those that the contributions went through
    proof: Proof = "undecided"  # how it is known that the contributions add up, and the parts of each

    def proved(self, ops: Adjoints) -> Proof:
        """Asked again of what stands here: the least that is known of any sum. A sum that is proved wrong is an error."""
        sums = [(self.contributions, self.value), *((each.parts, each.value) for each in self if each.parts)]
        asked = [([part.value for part in parts], whole) for parts, whole in sums]
        for values, whole in asked:  # by enclosures, which is quick
            _refute(summed(values, ops), whole, ops)
        least: Proof = "equal"
        for values, whole in asked:
            least = min(least, proof_of_sum(values, whole, ops), key=_KNOWN.index)
            if least == "undecided":  # a question about one of these numbers takes seconds, and the others are made of the same
                break
        return least

    def together(self, parts: Sequence[Contribution], name: str) -> Contribution:
        """Several parts as one, their sum: an exact number, a ball that holds it, or a rounded float, as the parts are."""
        ops = one_by_one(self.arithmetic)
        total = np.array([summed([part.value for part in parts], ops)], dtype=None if ops.numbers == "floats" else object)
        return Contribution(name, presented(ops.settle(total)[0]))

    def __getitem__(self, name: str) -> Contribution:
        for each in self.contributions:
            if each.name == name:
                return each
        raise KeyError(f"no contribution {name!r}; there are {', '.join(each.name for each in self.contributions)}")

    def __iter__(self) -> Iterator[Contribution]:
        return iter(self.contributions)

    def __repr__(self) -> str:
        what = f"the logit of {self.token!r}" if self.over is None else f"the lead of {self.token!r} over {self.over!r}"
        return f"<explanation of {what} at position {self.position}: {len(self.contributions)} contributions, {self.proof}>"


def proof_of_sum(values: Sequence[Any], whole: Any, ops: Adjoints) -> Proof:
    """How it is known that the values add up to the whole; where they are proved not to, that is an error.

    >>> from exactformer.arithmetics import adjoints
    >>> from exactformer.numbers import exact, exp
    >>> proof_of_sum([exp(1), exact(1)], 1 + exp(1), adjoints("exact"))
    'equal'
    >>> proof_of_sum([exact(1), exact(2)], exact(4), adjoints("exact"))
    Traceback (most recent call last):
    exactformer.trace.explanation.DoesNotAddUp: the contributions add up to 3, not to 4
    """
    total = summed(values, ops)
    if ops.numbers == "floats":
        return "rounded"
    _refute(total, whole, ops)
    if isinstance(total, Number) and isinstance(whole, Number):
        try:
            equal = compare(total, whole) == 0
        except Undecided:
            return "undecided"
        if equal:
            return "equal"
        raise DoesNotAddUp(_UNEQUAL.format(total, whole))
    return "enclosed"


def _refute(total: Any, whole: Any, ops: Adjoints) -> None:
    """Raises where enclosures of both have nothing in common."""
    if ops.numbers != "floats" and not _as_ball(total).overlaps(_as_ball(whole)):
        raise DoesNotAddUp(_UNEQUAL.format(total, whole))


def summed(values: Sequence[Any], ops: Adjoints) -> Any:
    """The sum, in the arithmetic of the values."""
    row = np.empty(len(values), dtype=object if ops.numbers != "floats" else np.asarray(values).dtype)
    row[:] = values
    return ops.total(row, 0)[()] if values else ops.ratio(0, 1)


def _as_ball(value: Any) -> arb:
    return ball(value, _BITS) if isinstance(value, Exact | Named) else value
