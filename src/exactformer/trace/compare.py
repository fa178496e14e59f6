"""Two passes side by side: which steps are the same, proved, and which differ, and by how much.

An entry is equal to its counterpart where both apply the same operation to equal numbers (`numbers.congruence`), or where algebra
proves it: first from the steps before, whose numbers are taken for unknowns, then from the ground up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb

from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.step import Step
from exactformer.numbers import Exact, Named, Undecided, Undefined
from exactformer.numbers.algebra import normal_form
from exactformer.numbers.budget import WORKING_BITS, Budget
from exactformer.numbers.congruence import Congruence
from exactformer.numbers.enclosure import ball
from exactformer.numbers.field import subtract
from exactformer.numbers.order import compare
from exactformer.numbers.ratios import Stuck

# A proof from the steps before is short, but a row of attention has two unknowns for every key.
_FROM_EARLIER_STEPS = Budget(work=4_000_000, generators=100)
_FAILURES = 4  # proofs that may fail, of each kind: others in the same passes would fail as well, after seconds each
CONGRUENT, ALGEBRAIC = "by the same operations on equal values", "by algebra"


@dataclass(frozen=True)
class Difference:
    """One step of two passes. `equal` is True or False, proved, or None where that could not be decided."""

    name: str
    left: Step | None
    right: Step | None
    equal: bool | None
    first: tuple[int, ...] | None = None  # the first entry that differs
    how: str = ""  # it was proved equal, where the numbers are not plain rationals


def differences(
    left: Sequence[Step], right: Sequence[Step], shared: Sequence[Step] = (), classes: Congruence | None = None
) -> list[Difference]:
    """Every step of either pass, in order; steps that only one of them has count as different.

    Both passes may read `shared` steps, and some numbers may be known to be equal.
    """
    mine, theirs = {s.name: s for s in left}, {s.name: s for s in right}
    names = list(mine)
    for n, step in enumerate(right):
        if step.name not in mine:
            before = right[n - 1].name if n else None
            names.insert(names.index(before) + 1 if before in names else 0, step.name)
    known = Equalities(classes or Congruence())
    for step in shared:
        known.take(step)
    return [_difference(name, mine.get(name), theirs.get(name), known) for name in names]


def _difference(name: str, left: Step | None, right: Step | None, known: Equalities) -> Difference:
    if left is None or right is None or left.values.shape != right.values.shape:
        return Difference(name, left, right, False)
    undecided, algebraic, congruent = False, known.algebraic, known.congruent
    known.local_failures = 0  # other steps have other formulas
    for index in np.ndindex(*left.values.shape):
        same = known.same(left.values[index], right.values[index])
        if same is False:
            return Difference(name, left, right, False, index)
        undecided = undecided or same is None
    known.take(left)
    known.take(right)
    if undecided:
        return Difference(name, left, right, None)
    how = ALGEBRAIC if known.algebraic > algebraic else CONGRUENT if known.congruent > congruent else ""
    return Difference(name, left, right, True, how=how)


@dataclass
class Equalities:
    """What was proved equal so far."""

    classes: Congruence
    unknowns: set[int] = field(default_factory=set)  # identities of the numbers of earlier steps
    congruent: int = 0  # entries that are the same operation on equal numbers
    algebraic: int = 0  # entries that took algebra
    local_failures: int = 0  # in this step
    failures: int = 0

    def take(self, step: Step) -> None:
        """The numbers of a step: proofs about later ones may take them for unknowns."""
        if step.values.dtype == object:
            self.unknowns.update(id(value) for value in step.values.flat if type(value) is Named)

    def same(self, a: Any, b: Any) -> bool | None:
        """Are two entries equal, proved? Undefined values are equal where both are proved undefined."""
        if a is MASKED or b is MASKED or a is None or b is None or isinstance(a, str):
            return bool(a is b or a == b) if not (a is MASKED or b is MASKED) else a is b
        if any(isinstance(x, Undefined) and x.undecided for x in (a, b)):
            return None
        if isinstance(a, Undefined) or isinstance(b, Undefined):
            return isinstance(a, Undefined) and isinstance(b, Undefined)
        if isinstance(a, arb) and isinstance(b, arb):
            return None if a.overlaps(b) and not (a.is_exact() and b.is_exact()) else bool(a == b)
        if not hasattr(a, "status"):
            return bool(a == b or (a != a and b != b))
        return self._numbers(a, b)

    def _numbers(self, a: Exact | Named, b: Exact | Named) -> bool | None:
        if type(a) is Exact and type(b) is Exact:
            return bool(a.value == b.value)
        if self.classes.same(a, b):
            self.congruent += 1
            return True
        if not ball(a, WORKING_BITS).overlaps(ball(b, WORKING_BITS)):
            return False
        equal = self._from_earlier_steps(a, b) or self._from_the_ground_up(a, b)
        if equal:
            self.algebraic += 1
            self.classes.join(a, b)
        return equal

    def _from_earlier_steps(self, a: Exact | Named, b: Exact | Named) -> bool:
        """True where algebra proves it whatever the numbers of earlier steps are, as far as they are not known to be equal."""
        if self.local_failures == _FAILURES:
            return False

        def unknown(node: Named) -> int | None:
            return self.classes.name(node) if id(node) in self.unknowns else None

        difference = subtract(a, b)
        assert type(difference) is Named
        try:
            algebra, form = normal_form(difference, _FROM_EARLIER_STEPS, unknown)
            if algebra.vanishes(form.num):
                return True
        except Stuck:
            pass
        self.local_failures += 1
        return False

    def _from_the_ground_up(self, a: Exact | Named, b: Exact | Named) -> bool | None:
        if self.failures == _FAILURES:
            return None
        try:
            return compare(a, b) == 0
        except Undecided:
            self.failures += 1
            return None
