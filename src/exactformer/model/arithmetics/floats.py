"""The arithmetics `float64` and `float32`: plain NumPy, with nothing proved. Undefined is NaN."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.model.arithmetics.roles import Activation, Adjoints, Choice
from exactformer.model.sight import Sight
from exactformer.model.weights import place, widened
from exactformer.numbers import Number

if TYPE_CHECKING:
    from exactformer.model.recorder import Note

Floats = Any  # numpy.ndarray of one float type


def _quiet(kind: type[FloatArithmetic]) -> type[FloatArithmetic]:
    """Infinite or not a number is what a value may be here, and shown as; NumPy's warnings would tell of it a second time."""
    for name, method in vars(kind).items():
        if callable(method):
            setattr(kind, name, np.errstate(all="ignore")(method))
    return kind


@_quiet
class FloatArithmetic(Adjoints):
    numbers = "floats"

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = np.dtype(name)
        self.loaded: dict[Any, tuple[Any, Floats]] = {}  # by place: the weights, kept so that the place stays theirs; the floats

    def begin(self) -> None:
        """On any machine: nothing is proved."""

    def watched(self, note: Note) -> Note:
        return note

    def load(self, weights: Any) -> Floats:
        """Weights that nobody can write to, such as those of a model file, are converted once."""
        if self.holds(weights):
            return weights
        if weights.flags.writeable:
            return self._converted(weights)
        if weights.flags.f_contiguous and not weights.flags.c_contiguous:
            return self.load(weights.T).T  # a tied embedding is looked up in and multiplied by: one conversion for both
        if (key := place(weights)) not in self.loaded:
            self.loaded[key] = (weights, self._converted(weights))
            _hand_back(weights)
        return self.loaded[key][1]

    def holds(self, weights: Any) -> bool:
        """Are these floats of its own already?"""
        return bool(weights.dtype == self.dtype)

    def _converted(self, weights: Any) -> Floats:
        if weights.dtype == object:
            return np.array([_rounded(number) for number in weights.flat], dtype=self.dtype).reshape(weights.shape)
        return widened(weights).astype(self.dtype, copy=False)  # in the order of memory, so that heads stay side by side

    def constant(self, number: Number) -> Any:
        return self.dtype.type(_rounded(number))

    def embed(self, table: Floats, rows: list[int]) -> Floats:
        return table[rows]

    def add(self, x: Floats, y: Floats) -> Floats:
        return np.add(x, y)

    def linear(self, x: Floats, weight: Floats, bias: Floats | None) -> Floats:
        product: Floats = x @ weight
        if bias is not None:
            product += bias
        return product

    def project(self, x: Floats, weight: Floats, bias: Floats | None) -> Floats:
        """One product for all heads."""
        heads, dim, width = weight.shape
        side_by_side = weight.transpose(1, 0, 2).reshape(dim, heads * width)
        product = self.linear(x, side_by_side, None if bias is None else bias.reshape(-1))
        return product.reshape(len(x), heads, width).transpose(1, 0, 2)

    def scores(self, q: Floats, k: Floats) -> Floats:
        return np.matmul(q, k.transpose(0, 2, 1))

    def scale(self, scores: Floats, factor: Any) -> Floats:
        return np.multiply(scores, factor)

    def mask(self, scores: Floats, sight: Sight) -> Floats:
        return np.where(sight.seen(*scores.shape[-2:]), scores, self.dtype.type(-np.inf))

    def erase(self, weights: Floats, sight: Sight) -> Floats:
        return np.where(sight.seen(*weights.shape[-2:]), weights, self.dtype.type(0))

    def shift(self, rows: Floats) -> Floats:
        highest = rows.max(axis=-1, keepdims=True)
        return np.subtract(rows, np.where(np.isneginf(highest), 0, highest))

    def softmax(self, rows: Floats) -> Floats:
        weights = self.shift(rows)  # plain exponentials of floats would overflow
        np.exp(weights, out=weights)
        normaliser = weights.sum(axis=-1, keepdims=True)
        weights /= np.where(normaliser == 0, 1, normaliser)
        return weights

    def hardmax(self, rows: Floats) -> Floats:
        largest = (self.shift(rows) == 0) & ~np.isneginf(rows)
        return (largest / np.maximum(largest.sum(axis=-1, keepdims=True), 1)).astype(self.dtype)

    def mix(self, pattern: Floats, v: Floats) -> Floats:
        missing = np.isnan(v)
        if not missing.any():
            return np.matmul(pattern, v)
        looked_at = (pattern != 0).astype(self.dtype) @ missing.astype(self.dtype) > 0
        return np.where(looked_at, self.dtype.type(np.nan), pattern @ np.where(missing, 0, v))

    def merge(self, z: Floats, weight: Floats, bias: Floats | None) -> Floats:
        heads, length, width = z.shape
        side_by_side = z.transpose(1, 0, 2).reshape(length, heads * width)
        return self.linear(side_by_side, weight.reshape(heads * width, -1), bias)

    def mean(self, x: Floats) -> Floats:
        return np.asarray(x.mean(axis=-1, keepdims=True))

    def center(self, x: Floats, mean: Floats) -> Floats:
        return np.subtract(x, mean)

    def variance(self, centered: Floats) -> Floats:
        return np.asarray(np.square(centered).mean(axis=-1, keepdims=True))

    def deviation(self, variance: Floats, epsilon: Any) -> Floats:
        return np.sqrt(variance + epsilon)

    def normalise(self, centered: Floats, deviation: Floats, w: Floats, b: Floats | None, name: str) -> Floats:
        safe = np.where(deviation == 0, self.dtype.type(np.nan), deviation)
        stretched = w * (centered / safe)
        return stretched if b is None else np.add(stretched, b)

    def activate(self, x: Floats, kind: Activation) -> Floats:
        match kind:
            case "relu":
                return np.where(x < 0, self.dtype.type(0), x)
            case "identity":
                return x
            case "gelu":
                return np.asarray(x / 2 * (1 + self._erf(x / math.sqrt(2))), dtype=self.dtype)
            case "gelu_tanh":
                y = self._tanh(x)
                y += 1
                y *= x
                y *= 0.5
                return y
            case "silu":
                return x * self._logistic(x)

    def tanh(self, x: Floats) -> Floats:
        return np.tanh(x)

    def cross_entropy(self, logits: Floats, targets: list[int]) -> tuple[Any, Floats]:
        shifted = self.shift(logits)
        picked = shifted[np.arange(len(targets)), targets]
        gradient = self.softmax(logits)
        gradient[np.arange(len(targets)), targets] -= 1
        return (np.log(np.exp(shifted).sum(axis=-1)) - picked).mean(), gradient / self.dtype.type(len(targets))

    def ratio(self, p: int, q: int) -> Any:
        return self.dtype.type(p / q)

    def zeros_like(self, x: Floats) -> Floats:
        return np.zeros_like(x)

    def product(self, x: Floats, y: Floats) -> Floats:
        return np.matmul(x, y)

    def times(self, x: Any, y: Any) -> Floats:
        return np.multiply(x, y)

    def over(self, x: Any, y: Any) -> Floats:
        return np.divide(x, y)

    def subtract(self, x: Any, y: Any) -> Floats:
        return np.subtract(x, y)

    def total(self, x: Floats, axis: int) -> Floats:
        return np.asarray(x.sum(axis=axis))

    def scatter(self, x: Floats, rows: list[int], size: int) -> Floats:
        table = np.zeros((size, *x.shape[1:]), dtype=self.dtype)
        np.add.at(table, rows, x)
        return table

    def slope(self, x: Floats, kind: Activation) -> Floats:
        match kind:
            case "relu":
                return (x > 0).astype(self.dtype)
            case "identity":
                return np.ones_like(x)
            case "gelu":
                cumulative = (1 + self._erf(x / math.sqrt(2))) / 2
                return np.asarray(cumulative + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi), dtype=self.dtype)
            case "gelu_tanh":
                tanh = self._tanh(x)
                inner = math.sqrt(2 / math.pi) * (1 + 0.134145 * x**2)
                return np.asarray((1 + tanh) / 2 + x / 2 * (1 - tanh**2) * inner, dtype=self.dtype)
            case "silu":
                s = self._logistic(x)
                return s * (1 + x * (1 - s))

    def zero_entries(self, x: Floats) -> list[tuple[int, ...]]:
        return [tuple(place) for place in np.argwhere(x == 0).tolist()]

    def _erf(self, x: Floats) -> Floats:
        return np.fromiter(map(math.erf, x.ravel().tolist()), dtype=self.dtype, count=x.size).reshape(x.shape)

    def _logistic(self, x: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-x)), dtype=self.dtype)

    def _tanh(self, x: Floats) -> Floats:
        """tanh(√(2/π)·(x + 0.044715·x³)), in one array: large ones cost more to make than to compute."""
        y = np.multiply(x, x)
        y *= 0.044715
        y += 1
        y *= x
        y *= math.sqrt(2 / math.pi)
        return np.tanh(y, out=y)

    def choose(self, logits: Floats) -> list[Choice]:
        return [self._choose(row) for row in logits]

    def _choose(self, row: Floats) -> Choice:
        if np.isnan(row).any():
            return Choice(None, proved=False, why="not a number: a LayerNorm was asked to divide by 0, or a weight is not a number")
        first = int(np.argmax(row))
        if len(row) == 1:
            return Choice(first, False)
        second = int(np.argmax(np.delete(row, first)))
        second += second >= first
        ties = tuple(int(i) for i in np.flatnonzero(row == row[first]) if i != first)
        return Choice(first, False, ties, second, row[first] - row[second])


def _rounded(number: Number) -> float:
    """The nearest float, which for a number beyond their range is infinite."""
    try:
        return number.to_float()
    except OverflowError:
        return math.copysign(math.inf, number.sign())


def _hand_back(weights: Any) -> None:
    """What was read of a mapped file need not stay in memory next to its conversion; it can be read again."""
    while isinstance(weights, np.ndarray):
        weights = weights.base
    mapped = weights.obj if isinstance(weights, memoryview) else weights
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
