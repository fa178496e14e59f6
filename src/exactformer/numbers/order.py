"""Which of two numbers is larger, and which of many is the largest: proved, or `Undecided`."""

from __future__ import annotations

from collections.abc import Sequence

from exactformer.numbers import decide
from exactformer.numbers.budget import DEFAULT, Budget
from exactformer.numbers.field import subtract
from exactformer.numbers.nodes import Exact, Number, refuse_undefined
from exactformer.numbers.parse import required


def compare(a: Number, b: Number, budget: Budget = DEFAULT) -> int:
    """The sign of a − b, proved."""
    a, b = required(a), required(b)
    if type(a) is Exact and type(b) is Exact:
        return int(a.value > b.value) - int(a.value < b.value)
    return 0 if a is b else decide.sign(subtract(a, b), budget)


def maximum(values: Sequence[Number], budget: Budget = DEFAULT) -> Number:
    """The largest of `values`, proved."""
    return required(values[argmax(values, budget)])


def argmax(values: Sequence[Number], budget: Budget = DEFAULT) -> int:
    """The index of the largest value, proved; of values proved equal, the lowest.

    >>> from exactformer.numbers import exact, exp
    >>> argmax([exact(2), exp(1), exact("2.7")])
    1
    """
    return ranking(values, 1, budget)[0]


def ranking(values: Sequence[Number], k: int | None = None, budget: Budget = DEFAULT) -> list[int]:
    """The indices of the `k` largest values in order, proved; values proved equal stand in the order of their indices.

    >>> from exactformer.numbers import exact
    >>> ranking([exact(3), exact(1), exact(2)], 2)
    [0, 2]
    """
    values = [required(value) for value in values]
    if not values:
        raise ValueError("the largest of no values")
    for value in values:
        refuse_undefined(value)
    rest = list(range(len(values)))
    ranked: list[int] = []
    for _ in range(len(values) if k is None else min(k, len(values))):
        best = rest[0]
        for i in rest[1:]:
            if compare(values[i], values[best], budget) > 0:
                best = i
        ranked.append(best)
        rest.remove(best)
    return ranked
