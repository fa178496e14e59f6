"""The arithmetic `counting`: the additions, multiplications, … of a pass are counted as it runs.

Its arrays hold no numbers. Each is an array of truth values, false where the mask hides an entry, and an operation on it counts
what the operation on that many numbers takes. They have a stride of 0 where nothing is hidden, so an array of any shape takes no
memory, and a matrix product no time. So the counts come from the pass itself, from the wiring that every other arithmetic runs on,
at the sizes of real models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from exactformer.model.arithmetics.exact import hidden
from exactformer.model.arithmetics.roles import Activation, Adjoints, Choice
from exactformer.model.sight import Sight
from exactformer.numbers import Number

KINDS = ("multiplications", "additions", "exponentials", "divisions", "comparisons", "others")
_HIDDEN = False


class Counted:
    """`many` numbers that go through the same formula side by side, and count. Subtractions count as additions.

    Roots, logarithms and error functions count as others.

    >>> tally = Counter()
    >>> row, number = Counted(tally, 3), Counted(tally)
    >>> _ = (number * row + 1).exp()
    >>> dict(tally)
    {'multiplications': 3, 'additions': 3, 'exponentials': 3}
    """

    __slots__ = ("many", "tally")

    def __init__(self, tally: Counter[str], many: int = 1) -> None:
        self.tally, self.many = tally, many

    def _did(self, kind: str, other: Any = None) -> Counted:
        wider = other if isinstance(other, Counted) and other.many > self.many else self
        self.tally[kind] += wider.many
        return wider

    def __add__(self, other: Any) -> Counted:
        return self._did("additions", other)

    __radd__ = __sub__ = __rsub__ = __add__

    def __mul__(self, other: Any) -> Counted:
        return self._did("multiplications", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Counted:
        return self._did("divisions", other)

    __rtruediv__ = __truediv__

    def __gt__(self, other: Any) -> bool:
        self._did("comparisons", other)
        return False

    def exp(self) -> Counted:
        return self._did("exponentials")

    def other(self) -> Counted:
        return self._did("others")


_ONE = np.ones(())
_ONE.setflags(write=False)


def blank(shape: tuple[int, ...]) -> Any:
    """An array of which only the shape is looked at: a single number, which nobody can write to."""
    return np.broadcast_to(_ONE, shape)


class CountingArithmetic(Adjoints):
    name = "counting"

    def __init__(self) -> None:
        self.tally: Counter[str] = Counter()

    def _did(self, kind: str, shape: tuple[int, ...]) -> Any:
        """One operation for each entry of the result."""
        self.tally[kind] += prod(shape)
        return blank(shape)

    def _pairwise(self, kind: str, x: Any, y: Any) -> Any:
        return self._did(kind, np.broadcast_shapes(np.shape(x), np.shape(y)))

    def load(self, weights: Any) -> Any:
        return blank(weights.shape)

    def constant(self, number: Number) -> Any:
        return blank(())

    def ratio(self, p: int, q: int) -> Any:
        return blank(())

    def zeros_like(self, x: Any) -> Any:
        return blank(x.shape)

    def embed(self, table: Any, rows: list[int]) -> Any:
        return blank((len(rows), *table.shape[1:]))

    def add(self, x: Any, y: Any) -> Any:
        return self._pairwise("additions", x, y)

    def linear(self, x: Any, weight: Any, bias: Any | None) -> Any:
        return self.product(x, weight) if bias is None else self.add(self.product(x, weight), bias)

    def project(self, x: Any, weight: Any, bias: Any | None) -> Any:
        return self.linear(x[None], weight, None if bias is None else bias[:, None, :])

    def scores(self, q: Any, k: Any) -> Any:
        return self.product(q, np.swapaxes(k, 1, 2))

    def scale(self, scores: Any, factor: Any) -> Any:
        return self.times(scores, factor)

    def mask(self, scores: Any, sight: Sight) -> Any:
        return hidden(scores, sight, _HIDDEN)

    def erase(self, weights: Any, sight: Sight) -> Any:
        return hidden(weights, sight, _HIDDEN)

    def shift(self, rows: Any) -> Any:
        self.tally["comparisons"] += _all_but_one(rows)
        self.tally["additions"] += int(rows.sum())
        return rows

    def softmax(self, rows: Any) -> Any:
        """Of the entries of each row that are not hidden."""
        self.tally["exponentials"] += int(rows.sum())
        self.tally["additions"] += _all_but_one(rows)
        self.tally["divisions"] += int(rows.sum())
        return rows

    def mix(self, pattern: Any, v: Any) -> Any:
        """What is hidden is not looked at."""
        heads, length, _ = pattern.shape
        self.tally["multiplications"] += int(pattern.sum()) * v.shape[2]
        self.tally["additions"] += _all_but_one(pattern) * v.shape[2]
        return blank((heads, length, v.shape[2]))

    def merge(self, z: Any, weight: Any, bias: Any | None) -> Any:
        heads, length, width = z.shape
        return self.linear(blank((length, heads * width)), blank((heads * width, weight.shape[-1])), bias)

    def mean(self, x: Any) -> Any:
        return self._did("divisions", self.total(x, -1)[..., None].shape)

    def center(self, x: Any, mean: Any) -> Any:
        return self.subtract(x, mean)

    def variance(self, centered: Any) -> Any:
        return self.mean(self.times(centered, centered))

    def deviation(self, variance: Any, epsilon: Any) -> Any:
        return self._did("others", self.add(variance, epsilon).shape)

    def normalise(self, centered: Any, deviation: Any, w: Any, b: Any | None, name: str) -> Any:
        stretched = self.times(w, self.over(centered, deviation))
        return stretched if b is None else self.add(stretched, b)

    def activate(self, x: Any, kind: Activation) -> Any:
        _ACTIVATIONS[kind](Counted(self.tally, x.size))
        return blank(x.shape)

    def tanh(self, x: Any) -> Any:
        return self._did("others", x.shape)

    def slope(self, x: Any, kind: Activation) -> Any:
        return self.activate(x, kind)

    def zero_entries(self, x: Any) -> list[tuple[int, ...]]:
        return []

    def choose(self, logits: Any) -> list[Choice]:
        self.tally["comparisons"] += _all_but_one(logits)
        return [Choice(0, False) for _ in logits]

    def cross_entropy(self, logits: Any, targets: list[int]) -> tuple[Any, Any]:
        pattern = self.softmax(logits)
        self._did("additions", (len(targets),))  # 1 is taken off at each target
        return blank(()), self._did("divisions", pattern.shape)

    def product(self, x: Any, y: Any) -> Any:
        """What is hidden is a zero here: a plain product multiplies it like any other."""
        *heads, rows, inner = np.broadcast_shapes(x.shape[:-2], y.shape[:-2]) + x.shape[-2:]
        shape = (*heads, rows, y.shape[-1])
        self.tally["multiplications"] += prod(shape) * inner
        self.tally["additions"] += prod(shape) * (inner - 1)
        return blank(shape)

    def times(self, x: Any, y: Any) -> Any:
        return self._pairwise("multiplications", x, y)

    def over(self, x: Any, y: Any) -> Any:
        return self._pairwise("divisions", x, y)

    def subtract(self, x: Any, y: Any) -> Any:
        return self._pairwise("additions", x, y)

    def total(self, x: Any, axis: int) -> Any:
        sums = np.delete(x.shape, axis)
        self.tally["additions"] += prod(sums.tolist()) * (x.shape[axis] - 1)
        return blank(tuple(sums.tolist()))

    def scatter(self, x: Any, rows: list[int], size: int) -> Any:
        for row in set(rows):
            self.total(x[[i for i, r in enumerate(rows) if r == row]], 0)
        return blank((size, *x.shape[1:]))


def _all_but_one(rows: Any) -> int:
    """Over all rows: of the entries that are not hidden, one less than there are. So many additions, or comparisons, join them."""
    return int(np.maximum(rows.sum(axis=-1) - 1, 0).sum())


def _relu(x: Counted) -> Counted:
    x > 0  # noqa: B015  (the comparison is what counts)
    return x


_ACTIVATIONS: dict[Activation, Callable[[Counted], Counted]] = {
    "relu": _relu,
    "identity": lambda x: x,
    "gelu": lambda x: x * (x * x).other() * x,  # x/√2, erf, and two products
    "gelu_tanh": lambda x: x * (x + x * x * x * x).other() * x,
    "silu": lambda x: x / (1 + x.exp()),
}
