"""The arithmetic `exact`: object arrays of exact-or-named numbers, every entry a rational or a closed form."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from flint import fmpq

from exactformer.model.arithmetics.roles import Activation, Adjoints, Choice
from exactformer.model.sight import Sight
from exactformer.model.weights import widened
from exactformer.numbers import (
    Budget,
    Exact,
    Named,
    Number,
    Undecided,
    Undefined,
    erfc,
    exact,
    exp,
    from_float,
    log,
    maximum,
    pi,
    recover,
    sign,
    sqrt,
    tanh,
)
from exactformer.numbers.arrays import Array, matmul, zeros
from exactformer.numbers.decide import recover_all
from exactformer.numbers.field import ONE, ZERO, add, combination, divide, dot, multiply, negate, subtract, total
from exactformer.numbers.order import compare, ranking
from exactformer.numbers.structure import Structure


class _Masked:
    """−∞, where a position may not look."""

    def __repr__(self) -> str:
        return "-inf"

    def __format__(self, spec: str) -> str:
        return format(float("-inf"), spec)


MASKED = _Masked()
_TWO = Exact(fmpq(2))
_CUBIC = exact("0.044715")  # of the tanh form of GELU
# For exactness recovered in passing; decisions have the full budget. Gradients hold many zeros that lie too deep for a proof.
_PASSING, _HANDING_BACK = Budget(work=100_000, nodes=600), Budget(work=10_000, nodes=200, cuts=3, failures=1)


class ExactArithmetic(Adjoints):
    name = "exact"
    numbers = "exact"
    proves = True

    def __init__(self, passing: Budget = _PASSING) -> None:
        self.passing = passing  # what a proof of exactness may cost that nobody asked for
        self.structure = Structure()  # proofs of one pass are about one graph

    def for_gradients(self) -> ExactArithmetic:
        return type(self)(_HANDING_BACK)

    def settle(self, values: Array) -> Array:
        """The same array with what is proved rational made so."""
        result = np.empty(values.size, dtype=object)
        result[:] = recover_all(values.ravel().tolist(), self.passing, self.structure)
        return result.reshape(values.shape)

    def mark(self, values: Array) -> Array:
        for value in values.flat:
            if type(value) is Named:
                value.landmark = True
        return values

    def load(self, weights: Any) -> Array:
        if weights.dtype == object:
            return weights  # type: ignore[no-any-return]
        weights = widened(weights)
        return _each(from_float if weights.dtype.kind == "f" else exact, weights)

    def constant(self, number: Number) -> Number:
        return number

    def embed(self, table: Array, rows: list[int]) -> Array:
        return table[rows]

    def add(self, x: Array, y: Array) -> Array:
        return self.settle(_each(add, x, y))

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        product = matmul(x, weight)
        if bias is not None:
            product = _each(add, product, np.broadcast_to(bias, product.shape))
        return self.settle(product)

    def project(self, x: Array, weight: Array, bias: Array | None) -> Array:
        return np.stack([self.linear(x, w, None if bias is None else bias[h]) for h, w in enumerate(weight)])

    def scores(self, q: Array, k: Array) -> Array:
        return np.stack([self.linear(qh, kh.T, None) for qh, kh in zip(q, k, strict=True)])

    def scale(self, scores: Array, factor: Number) -> Array:
        return self.settle(_each(lambda s: multiply(factor, s), scores))

    def mask(self, scores: Array, sight: Sight) -> Array:
        return hidden(scores, sight, MASKED)

    def erase(self, weights: Array, sight: Sight) -> Array:
        return hidden(weights, sight, ZERO)

    def shift(self, rows: Array) -> Array:
        shifted = rows.copy()
        for place in np.ndindex(*rows.shape[:-1]):
            seen = [j for j, score in enumerate(rows[place]) if score is not MASKED]
            if seen:
                scores = [rows[place][j] for j in seen]
                highest = _highest(scores)
                shifted[place][seen] = recover_all([subtract(score, highest) for score in scores])
        return shifted

    def softmax(self, rows: Array) -> Array:
        weights = zeros(*rows.shape)
        for place in np.ndindex(*rows.shape[:-1]):
            seen = [j for j, score in enumerate(rows[place]) if score is not MASKED]
            for j, weight in zip(seen, _softmax([rows[place][j] for j in seen]), strict=True):
                weights[*place, j] = weight
        return weights

    def hardmax(self, rows: Array) -> Array:
        weights = zeros(*rows.shape)
        for place in np.ndindex(*rows.shape[:-1]):
            seen = [j for j, score in enumerate(rows[place]) if score is not MASKED]
            for j, weight in zip(seen, _hardmax([rows[place][j] for j in seen]), strict=True):
                weights[*place, j] = weight
        return weights

    def mix(self, pattern: Array, v: Array) -> Array:
        heads, length, _ = pattern.shape
        z = np.empty((heads, length, v.shape[2]), dtype=object)
        for h in range(heads):
            for i in range(length):
                # a weight of 0 means masked: exponentials are positive
                seen = [j for j, weight in enumerate(pattern[h, i]) if type(weight) is not Exact or weight.value != 0]
                z[h, i] = matmul(pattern[h, i, seen][None], v[h, seen]) if seen else ZERO
        return self.settle(z)

    def merge(self, z: Array, weight: Array, bias: Array | None) -> Array:
        heads, length, width = z.shape
        side_by_side = z.transpose(1, 0, 2).reshape(length, heads * width)
        return self.linear(side_by_side, weight.reshape(heads * width, -1), bias)

    def mean(self, x: Array) -> Array:
        share = fmpq(1, x.shape[-1])
        return _reduced(lambda row: combination([share] * len(row), row), x)

    def center(self, x: Array, mean: Array) -> Array:
        # x − mean as it was computed: where the mean was recovered, its closed form shows a proof more than its value does
        computed = _each(lambda m: m.origin if type(m) is Exact and m.origin is not None else m, mean)
        return self.settle(_each(subtract, x, np.broadcast_to(computed, x.shape)))

    def variance(self, centered: Array) -> Array:
        count = exact(centered.shape[-1])
        return _reduced(lambda row: divide(dot(row, row), count), centered)

    def deviation(self, variance: Array, epsilon: Number) -> Array:
        return _each(lambda v: _decided(lambda: sqrt(add(v, epsilon)), v), variance)

    def normalise(self, centered: Array, deviation: Array, w: Array, b: Array | None, name: str) -> Array:
        out = np.empty(centered.shape, dtype=object)
        for place in np.ndindex(*centered.shape[:-1]):
            std = deviation[place][0]
            if type(std) is Exact and std.value == 0:
                out[place] = Undefined(f"{name} at position {place[-1]}: the variance is 0 and ε is 0, so it is not divided")
            else:
                stretched = [multiply(wc, divide(c, std)) for c, wc in zip(centered[place], w, strict=True)]
                out[place] = stretched if b is None else [add(y, bc) for y, bc in zip(stretched, b, strict=True)]
        return self.settle(out)

    def activate(self, x: Array, kind: Activation) -> Array:
        return _each(lambda value: _decided(lambda: _ACTIVATIONS[kind](value), value), x)

    def tanh(self, x: Array) -> Array:
        return _each(lambda value: _decided(lambda: recover(tanh(value)), value), x)

    def choose(self, logits: Array) -> list[Choice]:
        return [_choose(row.tolist()) for row in logits]

    def agree(self, x: Array, y: Array) -> bool:
        def same(a: Number, b: Number) -> bool:
            try:
                return type(a) is not Undefined and type(b) is not Undefined and compare(a, b) == 0
            except Undecided:
                return False

        return all(same(a, b) for a, b in zip(x.flat, y.flat, strict=True))

    def cross_entropy(self, logits: Array, targets: list[int]) -> tuple[Number, Array]:
        share = fmpq(1, len(targets))
        losses = []
        for row, target in zip(logits.tolist(), targets, strict=True):
            undefined = next((x for x in row if type(x) is Undefined), None)
            losses.append(undefined if undefined is not None else subtract(log(total([exp(x) for x in row])), row[target]))
        gradient = self.softmax(logits)
        for i, target in enumerate(targets):
            gradient[i, target] = subtract(gradient[i, target], ONE)
        return recover(combination([share] * len(losses), losses)), self.times(gradient, Exact(share))

    def ratio(self, p: int, q: int) -> Exact:
        return Exact(fmpq(p, q))

    def zeros_like(self, x: Array) -> Array:
        return zeros(*x.shape)

    def product(self, x: Array, y: Array) -> Array:
        if x.ndim == 2 and y.ndim == 2:
            return matmul(x, y)
        heads = max(len(x) if x.ndim == 3 else 1, len(y) if y.ndim == 3 else 1)
        return np.stack([matmul(x[h % len(x)], y[h % len(y)]) for h in range(heads)])

    def times(self, x: Any, y: Any) -> Array:
        return _pairwise(multiply, x, y)

    def over(self, x: Any, y: Any) -> Array:
        return _pairwise(_quotient, x, y)

    def subtract(self, x: Any, y: Any) -> Array:
        return _pairwise(subtract, x, y)

    def total(self, x: Array, axis: int) -> Array:
        rows = np.moveaxis(x, axis, -1)
        sums = np.empty(rows.shape[:-1], dtype=object)
        for place in np.ndindex(*sums.shape):
            sums[place] = total(rows[place].tolist())
        return sums

    def scatter(self, x: Array, rows: list[int], size: int) -> Array:
        table = zeros(size, *x.shape[1:])
        for row in set(rows):
            table[row] = self.total(x[[i for i, r in enumerate(rows) if r == row]], 0)
        return table

    def slope(self, x: Array, kind: Activation) -> Array:
        return self.settle(_each(lambda value: _decided(lambda: _SLOPES[kind](value), value), x))

    def zero_entries(self, x: Array) -> list[tuple[int, ...]]:
        return [place for place, value in np.ndenumerate(x) if type(value) is Exact and value.value == 0]


def _each(function: Callable[..., Any], *arrays: Array) -> Array:
    """The function, entry by entry."""
    result = np.empty(arrays[0].shape, dtype=object)
    flat = result.reshape(-1)
    for n, entries in enumerate(zip(*(a.flat for a in arrays), strict=True)):
        flat[n] = function(*entries)
    return result


def _quotient(x: Number, y: Number) -> Number:
    if type(y) is Exact and y.value == 0:
        return x if type(x) is Undefined else Undefined("a LayerNorm of variance 0 has no gradient")
    return divide(x, y)


def hidden(values: Array, sight: Sight, instead: Any) -> Array:
    """[heads, T, T] with something else where a position may not look."""
    result = values.copy()
    result[:, ~sight.seen(*values.shape[1:])] = instead
    return result


def _pairwise(function: Callable[..., Any], x: Any, y: Any) -> Array:
    """The function, entry by entry, of arrays that broadcast."""
    return _each(function, *np.broadcast_arrays(np.asarray(x, dtype=object), np.asarray(y, dtype=object)))


def _reduced(function: Callable[[list[Number]], Number], x: Array) -> Array:
    """The function of every row: [..., n] to [..., 1]."""
    rows = x.reshape(-1, x.shape[-1]).tolist()
    result = np.empty(len(rows), dtype=object)
    result[:] = recover_all([function(row) for row in rows], _PASSING)
    return result.reshape(*x.shape[:-1], 1)


def _decided(function: Callable[[], Number], value: Number) -> Number:
    """The result, or an undefined value that says which question could not be decided."""
    if type(value) is Undefined:
        return value
    try:
        return function()
    except Undecided as undecided:
        return Undefined(str(undecided), undecided=True)


def _highest(scores: list[Number]) -> Number:
    undefined = next((score for score in scores if type(score) is Undefined), None)
    return undefined if undefined is not None else _decided(lambda: maximum(scores), scores[0])


def _hardmax(scores: list[Number]) -> list[Number]:
    """Equal weights for the scores that are proved largest."""
    if not scores:
        return []
    highest = _highest(scores)
    if type(highest) is Undefined:
        return [highest] * len(scores)
    try:
        largest = [compare(score, highest) == 0 for score in scores]
    except Undecided as undecided:
        return [Undefined(str(undecided), undecided=True)] * len(scores)
    share = Exact(fmpq(1, sum(largest)))
    return [share if chosen else ZERO for chosen in largest]


def _softmax(scores: list[Number]) -> list[Number]:
    """e^s_j / Σ e^s; of one score, exactly 1."""
    for score in scores:
        if type(score) is Undefined:
            return [score] * len(scores)
    if len(scores) == 1:
        return [ONE]
    powers = [exp(score) for score in scores]
    normaliser = total(powers)
    return recover_all([divide(power, normaliser) for power in powers], _PASSING)


def _relu(x: Number) -> Number:
    return x if sign(x) > 0 else Exact(fmpq(0), recovered=type(x) is Named or x.recovered)


def _gelu(x: Number) -> Number:
    """x/2 · (1 + erf(x/√2)), as x/2 · erfc(−x/√2): no cancellation where x is very negative."""
    return recover(multiply(divide(x, _TWO), erfc(divide(negate(x), sqrt(2)))))


@cache
def _tanh_scale() -> Number:
    return sqrt(2 / pi())


def _gelu_tanh(x: Number) -> Number:
    """x/2 · (1 + tanh(y)), y = √(2/π)·(x + 0.044715·x³), as x / (1 + e^(−2y)): no cancellation where x is very negative."""
    y = multiply(_tanh_scale(), x + _CUBIC * x**3)
    return recover(divide(x, add(ONE, exp(-2 * y))))


def _logistic(x: Number) -> Number:
    return divide(ONE, add(ONE, exp(negate(x))))


def _silu(x: Number) -> Number:
    return recover(divide(x, add(ONE, exp(negate(x)))))


_ACTIVATIONS: dict[Activation, Callable[[Number], Number]] = {
    "relu": _relu,
    "identity": lambda x: x,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": _silu,
}


def _gelu_slope(x: Number) -> Number:
    """Φ(x) + x·φ(x): the normal distribution and its density."""
    density = exp(-(x**2) / 2) / sqrt(2 * pi())
    return add(divide(erfc(divide(negate(x), sqrt(2))), _TWO), multiply(x, density))


def _gelu_tanh_slope(x: Number) -> Number:
    """s + x·s·(1 − s)·2y′ with s = 1/(1 + e^(−2y)) and y as in `_gelu_tanh`."""
    y = multiply(_tanh_scale(), x + _CUBIC * x**3)
    rest = divide(ONE, add(ONE, exp(2 * y)))  # 1 − s
    s = divide(ONE, add(ONE, exp(-2 * y)))
    slope = multiply(_tanh_scale(), 1 + 3 * _CUBIC * x**2)
    return add(s, multiply(multiply(x, multiply(s, rest)), multiply(_TWO, slope)))


_SLOPES: dict[Activation, Callable[[Number], Number]] = {
    "relu": lambda x: ONE if sign(x) > 0 else ZERO,
    "identity": lambda x: ONE,
    "gelu": _gelu_slope,
    "gelu_tanh": _gelu_tanh_slope,
    "silu": lambda x: add(_logistic(x), multiply(x, multiply(_logistic(x), _logistic(negate(x))))),  # s + x·s·(1 − s)
}


def _choose(logits: list[Number]) -> Choice:
    for logit in logits:
        if type(logit) is Undefined:
            return Choice(None, proved=not logit.undecided, why=logit.why)
    try:
        first, *rest = ranking(logits, 2)
        if not rest:
            return Choice(first, True)
        margin = recover(subtract(logits[first], logits[rest[0]]))
        ties: tuple[int, ...] = ()
        if sign(margin) == 0:
            ties = tuple(i for i in range(len(logits)) if i != first and compare(logits[i], logits[first]) == 0)
    except Undecided as undecided:
        return Choice(None, proved=False, why=str(undecided))
    return Choice(first, True, ties, rest[0], margin)
