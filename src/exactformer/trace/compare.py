"""Two passes side by side: which steps are the same, proved, and which differ, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from exactformer.model.exact_arithmetic import MASKED
from exactformer.numbers import Undecided, Undefined
from exactformer.numbers.decide import compare
from exactformer.trace.trace import Step


@dataclass(frozen=True)
class Difference:
    """One step of two passes. `equal` is True or False, proved, or None where that could not be decided."""

    name: str
    left: Step | None
    right: Step | None
    equal: bool | None
    first: tuple[int, ...] | None = None  # the first entry that differs


def differences(left: Sequence[Step], right: Sequence[Step]) -> list[Difference]:
    """Every step of either pass, in order; steps that only one of them has count as different."""
    mine, theirs = {s.name: s for s in left}, {s.name: s for s in right}
    names = list(mine)
    for n, step in enumerate(right):
        if step.name not in mine:
            before = right[n - 1].name if n else None
            names.insert(names.index(before) + 1 if before in names else 0, step.name)
    return [_difference(name, mine.get(name), theirs.get(name)) for name in names]


def _difference(name: str, left: Step | None, right: Step | None) -> Difference:
    if left is None or right is None or left.values.shape != right.values.shape:
        return Difference(name, left, right, False)
    undecided = False
    for index in np.ndindex(*left.values.shape):
        same = _same(left.values[index], right.values[index])
        if same is False:
            return Difference(name, left, right, False, index)
        undecided = undecided or same is None
    return Difference(name, left, right, None if undecided else True)


def _same(a: Any, b: Any) -> bool | None:
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
    try:
        return compare(a, b) == 0
    except Undecided:
        return None
