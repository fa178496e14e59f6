"""A second way to count: every number of a pass is an object that notes what is asked of it, one operation at a time.

Far too slow for real models, and therefore a check of the counts that are taken from shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from exactformer.model.arithmetics.exact import MASKED, hidden
from exactformer.model.arithmetics.roles import Activation, Adjoints, Choice
from exactformer.model.sight import Sight
from exactformer.numbers import Number


class Counted:
    """A number that counts. Subtractions count as additions; roots, logarithms and error functions as others."""

    __slots__ = ("tally",)

    def __init__(self, tally: Counter[str]) -> None:
        self.tally = tally

    def _did(self, kind: str) -> Counted:
        self.tally[kind] += 1
        return self

    def __add__(self, other: Any) -> Counted:
        return self._did("additions")

    __radd__ = __sub__ = __rsub__ = __add__

    def __mul__(self, other: Any) -> Counted:
        return self._did("multiplications")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Counted:
        return self._did("divisions")

    __rtruediv__ = __truediv__

    def __gt__(self, other: Any) -> bool:
        self._did("comparisons")
        return False

    def exp(self) -> Counted:
        return self._did("exponentials")

    def other(self) -> Counted:
        return self._did("others")


class NumberByNumber(Adjoints):
    name = "number by number"

    def __init__(self) -> None:
        self.tally: Counter[str] = Counter()

    def load(self, weights: Any) -> Any:
        return self._ones(weights.shape)

    def _ones(self, shape: tuple[int, ...]) -> Any:
        result = np.empty(shape, dtype=object)
        result.fill(Counted(self.tally))
        return result

    def _unmasked(self, x: Any) -> Any:
        """Masked weights are zeros: a plain product multiplies them like any other."""
        if not isinstance(x, np.ndarray) or MASKED not in x.ravel().tolist():
            return x
        return _each(lambda entry: Counted(self.tally) if entry is MASKED else entry, x)

    def constant(self, number: Number) -> Counted:
        return Counted(self.tally)

    def ratio(self, p: int, q: int) -> Counted:
        return Counted(self.tally)

    def zeros_like(self, x: Any) -> Any:
        return self._ones(x.shape)

    def embed(self, table: Any, rows: list[int]) -> Any:
        return table[rows]

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def linear(self, x: Any, weight: Any, bias: Any | None) -> Any:
        return self.product(x, weight) if bias is None else self.product(x, weight) + bias

    def project(self, x: Any, weight: Any, bias: Any | None) -> Any:
        return self.linear(x[None], weight, None if bias is None else bias[:, None, :])

    def scores(self, q: Any, k: Any) -> Any:
        return self.product(q, np.swapaxes(k, 1, 2))

    def scale(self, scores: Any, factor: Any) -> Any:
        return scores * factor

    def mask(self, scores: Any, sight: Sight) -> Any:
        return hidden(scores, sight, MASKED)

    def erase(self, weights: Any, sight: Sight) -> Any:
        return hidden(weights, sight, MASKED)

    def shift(self, rows: Any) -> Any:
        return self._rows(rows, lambda seen: [score - max(seen) if n == 0 else score - seen[0] for n, score in enumerate(seen)])

    def softmax(self, rows: Any) -> Any:
        return self._rows(rows, _softmax)

    def _rows(self, rows: Any, function: Callable[[list[Counted]], list[Counted]]) -> Any:
        """A function of the entries of each row that are not masked."""
        result = rows.copy()
        for place in np.ndindex(*rows.shape[:-1]):
            seen = [j for j, entry in enumerate(rows[place]) if entry is not MASKED]
            if seen:
                result[place][seen] = function([rows[place][j] for j in seen])
        return result

    def mix(self, pattern: Any, v: Any) -> Any:
        heads, length, _ = pattern.shape
        z = self._ones((heads, length, v.shape[2]))
        for h, i in np.ndindex(heads, length):
            seen = [j for j, weight in enumerate(pattern[h, i]) if weight is not MASKED]
            if seen:
                z[h, i] = pattern[h, i, seen] @ v[h, seen]
        return z

    def merge(self, z: Any, weight: Any, bias: Any | None) -> Any:
        heads, length, width = z.shape
        return self.linear(z.transpose(1, 0, 2).reshape(length, heads * width), weight.reshape(heads * width, -1), bias)

    def mean(self, x: Any) -> Any:
        return self.total(x, -1)[..., None] / x.shape[-1]

    def center(self, x: Any, mean: Any) -> Any:
        return x - mean

    def variance(self, centered: Any) -> Any:
        return self.mean(centered * centered)

    def deviation(self, variance: Any, epsilon: Any) -> Any:
        return _each(lambda v: (v + epsilon).other(), variance)

    def normalise(self, centered: Any, deviation: Any, w: Any, b: Any | None, name: str) -> Any:
        stretched = w * (centered / deviation)
        return stretched if b is None else stretched + b

    def activate(self, x: Any, kind: Activation) -> Any:
        return _each(_ACTIVATIONS[kind], x)

    def tanh(self, x: Any) -> Any:
        return _each(lambda entry: entry.other(), x)

    def slope(self, x: Any, kind: Activation) -> Any:
        return _each(_ACTIVATIONS[kind], x)

    def zero_entries(self, x: Any) -> list[tuple[int, ...]]:
        return []

    def choose(self, logits: Any) -> list[Choice]:
        for row in logits:
            max(row.tolist())
        return [Choice(0, False) for _ in logits]

    def cross_entropy(self, logits: Any, targets: list[int]) -> tuple[Any, Any]:
        pattern = self.softmax(logits)
        for i, target in enumerate(targets):
            pattern[i, target] = pattern[i, target] - 1
        return Counted(self.tally), pattern / len(targets)

    def product(self, x: Any, y: Any) -> Any:
        return np.matmul(self._unmasked(x), self._unmasked(y))

    def times(self, x: Any, y: Any) -> Any:
        return self._unmasked(x) * self._unmasked(y)

    def over(self, x: Any, y: Any) -> Any:
        return x / y

    def subtract(self, x: Any, y: Any) -> Any:
        return x - y

    def total(self, x: Any, axis: int) -> Any:
        return np.asarray(np.add.reduce(x, axis=axis))

    def scatter(self, x: Any, rows: list[int], size: int) -> Any:
        table = self._ones((size, *x.shape[1:]))
        for row in set(rows):
            table[row] = self.total(x[[i for i, r in enumerate(rows) if r == row]], 0)
        return table


def _softmax(scores: list[Counted]) -> list[Counted]:
    powers = [score.exp() for score in scores]
    total = powers[0]
    for power in powers[1:]:
        total = total + power
    return [power / total for power in powers]


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


def _each(function: Callable[[Any], Any], x: Any) -> Any:
    result = np.empty(x.shape, dtype=object)
    result.reshape(-1)[:] = [function(entry) for entry in x.flat]
    return result
