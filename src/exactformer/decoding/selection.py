"""The largest logits, the nucleus, and the token that is drawn: each proved where the row proves, or `Undecided`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cmp_to_key

from exactformer.decoding.row import Row
from exactformer.decoding.uniform import Uniform
from exactformer.numbers import Undecided

_FIRST_BITS = 64
_MOST_BITS = 2**16  # of a uniform number, which this many bits leave undecided with probability 2^-65536


def in_order(row: Row, among: Sequence[int]) -> list[int]:
    """From the largest logit to the smallest, equal ones by index."""
    if not row.proved:
        return row.hinted(sorted(among))

    def later(i: int, j: int) -> int:
        return row.compare(j, i)

    return sorted(sorted(among), key=cmp_to_key(later))


def largest(row: Row, among: Sequence[int], k: int) -> list[int]:
    """The indices of the k largest logits, of equal ones the lowest indices; by index.

    Only what decides the set is asked: the order inside it stays open.
    """
    taken: list[int] = []
    while k < len(among):
        above, equal, below, unknown, why = row.sides(row.hinted(among)[k - 1], among)
        near = [*above, *equal, *unknown]
        if why is not None:
            if len(near) != k or any(row.compare(i, j) <= 0 for i in unknown for j in below):
                raise why
            return sorted([*taken, *near])
        if len(above) < k <= len(near):
            return sorted([*taken, *above, *sorted(equal)[: k - len(above)]])
        if k <= len(above):  # the guess where the border lies was wrong
            among = above
        else:
            taken, among, k = [*taken, *near], below, k - len(near)
    return sorted([*taken, *among])


def nucleus(row: Row, kept: Sequence[int], p: Fraction) -> list[int]:
    """The smallest set of largest weights whose sum is at least p of the sum of all that are kept; by index."""
    if p == 1:
        return sorted(kept)
    goal, order = row.share(row.total(kept), p), row.hinted(kept)
    low, high = 1, len(order)
    while low < high:
        middle = (low + high) // 2
        if row.at_least(row.total(order[:middle]), goal):
            high = middle
        else:
            low = middle + 1
    found = largest(row, kept, low)
    if row.proved and not _smallest(row, found, goal):
        raise Undecided("where the nucleus ends: logits are too close to each other", row.bits)
    return found


def _smallest(row: Row, found: Sequence[int], goal: object) -> bool:
    """Does the sum reach the goal, and does it not without the smallest weight, whichever that is?"""
    total = row.total(found)
    if not row.at_least(total, goal):
        return False
    return len(found) == 1 or not any(row.at_least(row.without(total, i), goal) for i in found)


def drawn(row: Row, kept: Sequence[int], uniform: Uniform) -> int:
    """The token i with C(i−1) ≤ u < C(i): cumulative sums of probabilities, in the order of indices, and a uniform number."""
    order = sorted(kept)
    if len(order) == 1:
        return order[0]
    whole = row.total(order)
    low, high = 0, len(order) - 1
    while low < high:
        middle = (low + high) // 2
        if _below(row, uniform, row.total(order[: middle + 1]), whole):
            high = middle
        else:
            low = middle + 1
    return order[low]


def _below(row: Row, uniform: Uniform, cumulative: object, whole: object) -> bool:
    """Is u < cumulative/whole? As many bits of u are read as it takes to have all of their interval on one side."""
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        m = uniform.prefix(bits)
        try:
            if row.at_least(cumulative, row.share(whole, Fraction(m + 1, 2**bits))):
                return True
            if row.at_least(row.share(whole, Fraction(m, 2**bits)), cumulative):
                return False
        except Undecided:
            if bits >= row.bits:
                raise Undecided("which token the uniform number draws", row.bits) from None
        bits *= 2
    raise Undecided("which token the uniform number draws", _MOST_BITS)


def rank(row: Row, i: int) -> int:
    """1 for the largest logit; equal ones rank by index."""
    above, equal, _, _, why = row.sides(i, range(row.size))
    if why is not None:
        raise why
    return 1 + len(above) + sum(j < i for j in equal)
