"""The arithmetics `float64` and `float32`: plain NumPy, with nothing proved. Undefined is NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from exactformer.model.arithmetic import Arithmetic, Choice
from exactformer.model.config import Activation, Config
from exactformer.numbers import Number

Floats = Any  # numpy.ndarray of one float type


class FloatArithmetic(Arithmetic):
    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = np.dtype(name)

    def load(self, weights: Any) -> Floats:
        if weights.dtype == object:
            return np.array([number.to_float() for number in weights.flat], dtype=self.dtype).reshape(weights.shape)
        return np.asarray(weights, dtype=self.dtype)

    def constant(self, number: Number) -> Any:
        return self.dtype.type(number.to_float())

    def embed(self, table: Floats, rows: list[int]) -> Floats:
        return table[rows]

    def add(self, x: Floats, y: Floats) -> Floats:
        return np.add(x, y)

    def linear(self, x: Floats, weight: Floats, bias: Floats | None) -> Floats:
        product: Floats = x @ weight
        return product if bias is None else np.add(product, bias)

    def project(self, x: Floats, weight: Floats, bias: Floats | None) -> Floats:
        return self.linear(x, weight, None if bias is None else bias[:, None, :])

    def scores(self, q: Floats, k: Floats) -> Floats:
        return np.matmul(q, k.transpose(0, 2, 1))

    def scale(self, scores: Floats, factor: Any) -> Floats:
        return np.multiply(scores, factor)

    def mask(self, scores: Floats, config: Config) -> Floats:
        return np.where(_hidden(scores, config), self.dtype.type(-np.inf), scores)

    def erase(self, weights: Floats, config: Config) -> Floats:
        return np.where(_hidden(weights, config), self.dtype.type(0), weights)

    def shift(self, rows: Floats) -> Floats:
        highest = rows.max(axis=-1, keepdims=True)
        return np.subtract(rows, np.where(np.isneginf(highest), 0, highest))

    def softmax(self, rows: Floats) -> Floats:
        powers = np.exp(self.shift(rows))  # plain exponentials of floats would overflow
        normaliser = powers.sum(axis=-1, keepdims=True)
        return np.divide(powers, np.where(normaliser == 0, 1, normaliser))

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

    def normalise(self, centered: Floats, deviation: Floats, w: Floats, b: Floats, name: str) -> Floats:
        safe = np.where(deviation == 0, self.dtype.type(np.nan), deviation)
        return np.add(w * (centered / safe), b)

    def activate(self, x: Floats, kind: Activation) -> Floats:
        match kind:
            case "relu":
                return np.where(x < 0, self.dtype.type(0), x)
            case "identity":
                return x
            case "gelu":
                return np.asarray(x / 2 * (1 + self._erf(x / math.sqrt(2))), dtype=self.dtype)
            case "gelu_tanh":
                return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), dtype=self.dtype)

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
                tanh = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
                inner = math.sqrt(2 / math.pi) * (1 + 0.134145 * x**2)
                return np.asarray((1 + tanh) / 2 + x / 2 * (1 - tanh**2) * inner, dtype=self.dtype)

    def zero_entries(self, x: Floats) -> list[tuple[int, ...]]:
        return [tuple(place) for place in np.argwhere(x == 0).tolist()]

    def _erf(self, x: Floats) -> Floats:
        return np.array([math.erf(value) for value in x.flat]).reshape(x.shape)

    def choose(self, logits: Floats) -> list[Choice]:
        return [self._choose(row) for row in logits]

    def _choose(self, row: Floats) -> Choice:
        if np.isnan(row).any():
            return Choice(None, proved=False, why="not a number: a LayerNorm was asked to divide by 0")
        first, *rest = (int(i) for i in np.argsort(-row, kind="stable")[:2])
        ties = tuple(int(i) for i in np.flatnonzero(row == row[first]) if i != first)
        return Choice(first, False, ties, rest[0] if rest else None, row[first] - row[rest[0]] if rest else None)


def _hidden(values: Floats, config: Config) -> Any:
    """Where a position may not look: [rows, T], the rows being the last ones."""
    rows, length = values.shape[-2:]
    i, j = np.arange(length - rows, length)[:, None], np.arange(length)
    return {"none": np.zeros((rows, length), bool), "causal": j > i, "strict": j >= i}[config.mask]
