"""The arithmetic `arb`: object arrays of balls, each a midpoint with a proved radius, of as many bits as asked for.

What a ball cannot tell travels as an undefined value that is marked undecided; a ball that is not finite never travels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat

from exactformer.model.arithmetics import ball_functions as balls
from exactformer.model.arithmetics.ball_functions import ONE, ZERO
from exactformer.model.arithmetics.exact import MASKED, hidden
from exactformer.model.arithmetics.roles import Activation, Adjoints, Choice
from exactformer.model.forward import InputError, Model, forward
from exactformer.model.sight import Sight
from exactformer.model.weights import place, widened
from exactformer.numbers import Exact, Named, Number, Undecided, Undefined, exact, from_float
from exactformer.numbers.arrays import Array
from exactformer.numbers.enclosure import ball, precision

_FEWEST = 2  # bits that Arb computes with


class _Matrix(NamedTuple):
    balls: arb_mat
    undefined: bool


class ArbArithmetic(Adjoints):
    """Balls of `bits` bits. The precision is the whole process's, so each operation takes the lock, sets it and puts it back."""

    name = "arb"
    numbers = "balls"
    proves = True
    without = {"hard": "arb arithmetic has no hard attention: it goes with exact, float64 and float32"}  # noqa: RUF012

    def __init__(self, bits: int = 128) -> None:
        if type(bits) is not int or bits < _FEWEST:
            raise ValueError(f"balls of {bits!r} bits: give a whole number of at least {_FEWEST}")
        self.bits = bits
        self._loaded: dict[Any, tuple[Any, Array]] = {}  # by place: the weights, kept so that it stays theirs; the balls
        self._matrices: dict[Any, tuple[Array, _Matrix]] = {}

    # -- the few ways in which every operation below goes through an array
    def _each(self, function: Callable[..., Any], *arrays: Any) -> Array:
        """The function, entry by entry, of arrays that broadcast; an undefined entry gives itself."""
        if any(_any_undefined(a.ravel().tolist() if isinstance(a, np.ndarray) else [a]) for a in arrays):
            function = partial(_undefined_or, function)
        with precision(self.bits):
            return self._finite(np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object))

    def _rows(self, function: Callable[[list[arb]], list[arb]], x: Array, masked: Any = MASKED) -> Array:
        """The function of the entries of every row that are not −∞, which come out as `masked`."""
        results = []
        with precision(self.bits):
            for row in x.reshape(-1, x.shape[-1]).tolist():
                seen = [value for value in row if value is not MASKED]
                undefined = _undefined(seen)
                values = iter([undefined] * len(seen) if undefined is not None else function(seen) if seen else [])
                results += [masked if value is MASKED else next(values) for value in row]
        return self._array(results, x.shape)

    def _reduced(self, function: Callable[[list[arb]], arb], x: Array) -> Array:
        """The function of every row: [..., n] to [..., 1]."""
        rows = x.reshape(-1, x.shape[-1]).tolist()
        with precision(self.bits):
            return self._array([_undefined_or(lambda *row: function(list(row)), *row) for row in rows], (*x.shape[:-1], 1))

    def _product(self, x: Array, y: Array) -> Array:
        """x y; an undefined entry makes its row of x, or its column of y, undefined."""
        left, right = self._matrix(x), self._matrix(y)
        with precision(self.bits):
            product = self._array((left.balls * right.balls).entries(), (x.shape[0], y.shape[1]))
        if left.undefined or right.undefined:
            for i, j in np.ndindex(*product.shape):
                source = _undefined([*x[i], *y[:, j]])
                product[i, j] = product[i, j] if source is None else source
        return product

    def _matrix(self, x: Array) -> _Matrix:
        """An array for Arb, with 0 where it is undefined; weights that were loaded once are made one once."""
        if x.flags.writeable:
            return _matrix(x)
        if (key := place(x)) not in self._matrices:
            self._matrices[key] = (x, _matrix(x))
        return self._matrices[key][1]

    def _array(self, values: list[Any], shape: tuple[int, ...]) -> Array:
        return self._finite(_shaped(values, shape))

    def _finite(self, values: Array) -> Array:
        """What was computed, where balls that are not finite are undecided."""
        entries = values.ravel().tolist()
        if set(map(type, entries)) == {arb} and all(map(arb.is_finite, entries)):
            return values
        return _shaped([self._undecided("a value whose ball is infinite") if _is_infinite(v) else v for v in entries], values.shape)

    def _undecided(self, question: str) -> Undefined:
        return Undefined(str(Undecided(question, self.bits)), undecided=True)

    # -- the forward pass
    def load(self, weights: Any) -> Array:
        """Weights as balls; those that nobody can write to are converted once."""
        if weights.flags.writeable:
            return self._converted(weights)
        if (key := place(weights)) not in self._loaded:
            self._loaded[key] = (weights, self._converted(weights))
            self._loaded[key][1].setflags(write=False)
        return self._loaded[key][1]

    def _converted(self, weights: Any) -> Array:
        if weights.dtype == object:
            return self.enclosed(weights)
        weights = widened(weights)
        if weights.dtype.kind == "f" and weights.itemsize <= 8 and np.isfinite(weights).all():
            return _shaped(list(map(arb, weights.ravel().tolist())), weights.shape)  # Arb takes a float as it is
        convert = from_float if weights.dtype.kind == "f" else exact  # which say what is no number
        return self._array([self.constant(convert(value)) for value in weights.flat], weights.shape)

    def enclosed(self, numbers: Array) -> Array:
        """Balls around exact or named numbers; what is none of these stays as it is."""
        with precision(self.bits):
            balls = [arb(x.value) if type(x) is Exact else self.constant(x) for x in numbers.ravel().tolist()]
        return self._array(balls, numbers.shape)

    def constant(self, number: Number) -> Any:
        return ball(number, self.bits) if isinstance(number, Exact | Named) else number

    def embed(self, table: Array, rows: list[int]) -> Array:
        return table[rows]

    def add(self, x: Array, y: Array) -> Array:
        return self._each(operator.add, x, y)

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        product = self._product(x, weight)
        return product if bias is None else self.add(product, bias)

    def project(self, x: Array, weight: Array, bias: Array | None) -> Array:
        return np.stack([self.linear(x, w, None if bias is None else bias[h]) for h, w in enumerate(weight)])

    def scores(self, q: Array, k: Array) -> Array:
        return np.stack([self._product(qh, kh.T) for qh, kh in zip(q, k, strict=True)])

    def scale(self, scores: Array, factor: Any) -> Array:
        return self.times(scores, factor)

    def mask(self, scores: Array, sight: Sight) -> Array:
        return hidden(scores, sight, MASKED)

    def erase(self, weights: Array, sight: Sight) -> Array:
        return hidden(weights, sight, ZERO)

    def shift(self, rows: Array) -> Array:
        return self._rows(balls.shift, rows)

    def softmax(self, rows: Array) -> Array:
        return self._rows(balls.softmax, rows, masked=ZERO)

    def mix(self, pattern: Array, v: Array) -> Array:
        heads, length, _ = pattern.shape
        z = np.empty((heads, length, v.shape[2]), dtype=object)
        for h in range(heads):
            if not _any_undefined(v[h].ravel().tolist()):
                z[h] = self._product(pattern[h], v[h])
                continue
            for i in range(length):
                seen = [j for j, weight in enumerate(pattern[h, i]) if not _is_zero(weight)]  # a weight of 0 means masked
                z[h, i] = self._product(pattern[h, i, seen][None], v[h, seen])[0] if seen else ZERO
        return z

    def merge(self, z: Array, weight: Array, bias: Array | None) -> Array:
        heads, length, width = z.shape
        side_by_side = z.transpose(1, 0, 2).reshape(length, heads * width)
        return self.linear(side_by_side, weight.reshape(heads * width, -1), bias)

    def mean(self, x: Array) -> Array:
        return self._reduced(balls.mean, x)

    def center(self, x: Array, mean: Array) -> Array:
        return self.subtract(x, mean)

    def variance(self, centered: Array) -> Array:
        return self._reduced(balls.mean_square, centered)

    def deviation(self, variance: Array, epsilon: Any) -> Array:
        return self._each(lambda v: (v + epsilon).sqrt(), variance)

    def normalise(self, centered: Array, deviation: Array, w: Array, b: Array | None, name: str) -> Array:
        if not all(isinstance(std, arb) and std > 0 for std in deviation.flat):
            deviation = self._divisors(deviation, name)
        stretched = self._each(lambda c, std, wc: wc * (c / std), centered, deviation, w)
        return stretched if b is None else self.add(stretched, b)

    def _divisors(self, deviation: Array, name: str) -> Array:
        """Deviations that are proved not to be 0; those that are not are undefined, or undecided."""
        divisors = deviation.copy()
        for at, std in np.ndenumerate(deviation):
            where = f"{name} at position {at[-2]}"
            if _is_zero(std):
                divisors[at] = Undefined(f"{where}: the variance is 0 and ε is 0, so it is not divided")
            elif type(std) is not arb or not std > 0:
                divisors[at] = self._undecided(f"{where}: whether the variance is 0")
        return divisors

    def activate(self, x: Array, kind: Activation) -> Array:
        with precision(self.bits):
            return self._each(balls.activation(kind), x)

    def tanh(self, x: Array) -> Array:
        return self._each(arb.tanh, x)

    def choose(self, logits: Array) -> list[Choice]:
        return [self._choose(row.tolist()) for row in logits]

    def _choose(self, logits: list[Any]) -> Choice:
        """The winner leads every other logit, or there is none. Where two are equal, no ball can tell."""
        undefined = _undefined(logits)
        if undefined is not None:
            return Choice(None, proved=not undefined.undecided, why=undefined.why)
        winner = max(range(len(logits)), key=lambda i: logits[i].mid())
        if len(logits) == 1:
            return Choice(winner, True)
        with precision(self.bits):
            leads = {i: logits[winner] - logit for i, logit in enumerate(logits) if i != winner}
            if not all(lead > 0 for lead in leads.values()):
                return Choice(None, proved=False, why=str(Undecided("the largest logit", self.bits)))
            runner_up = min(leads, key=lambda i: leads[i].lower())
            margin = leads[runner_up].union(leads[runner_up].lower())  # so that its lower end is below every lead
        return Choice(winner, True, (), runner_up, margin)

    # -- the backward pass
    def cross_entropy(self, logits: Array, targets: list[int]) -> tuple[Any, Array]:
        share = self.ratio(1, len(targets))
        gradient = self.softmax(logits)
        for i, target in enumerate(targets):
            gradient[i, target] = self.subtract(gradient[i, target], ONE)[()]
        picked = logits[np.arange(len(targets)), targets][:, None]
        losses = self.subtract(self._reduced(balls.log_sum_exp, logits), picked)  # [T, 1]
        return self.times(self.total(losses[:, 0], 0), share)[()], self.times(gradient, share)

    def ratio(self, p: int, q: int) -> Any:
        with precision(self.bits):
            return arb(p) / q

    def zeros_like(self, x: Array) -> Array:
        return np.full(x.shape, ZERO, dtype=object)

    def product(self, x: Array, y: Array) -> Array:
        if x.ndim == 2 and y.ndim == 2:
            return self._product(x, y)
        heads = max(len(x), len(y))
        return np.stack([self._product(x[h % len(x)], y[h % len(y)]) for h in range(heads)])

    def times(self, x: Any, y: Any) -> Array:
        return self._each(operator.mul, x, y)

    def over(self, x: Any, y: Any) -> Array:
        return self._each(self._quotient, x, y)

    def _quotient(self, x: arb, y: arb) -> Any:
        return Undefined("a LayerNorm of variance 0 has no gradient") if y.is_zero() else x / y

    def subtract(self, x: Any, y: Any) -> Array:
        return self._each(operator.sub, x, y)

    def total(self, x: Array, axis: int) -> Array:
        return self._reduced(lambda row: sum(row, ZERO), np.moveaxis(x, axis, -1))[..., 0]

    def scatter(self, x: Array, rows: list[int], size: int) -> Array:
        table = np.full((size, *x.shape[1:]), ZERO, dtype=object)
        for row in set(rows):
            table[row] = self.total(x[[i for i, r in enumerate(rows) if r == row]], 0)
        return table

    def slope(self, x: Array, kind: Activation) -> Array:
        with precision(self.bits):
            return self._each(balls.slope(kind, self._undecided("the slope of ReLU: whether its argument is positive")), x)

    def zero_entries(self, x: Array) -> list[tuple[int, ...]]:
        return [place for place, value in np.ndenumerate(x) if _is_zero(value)]


class Decision(NamedTuple):
    """The tokens at the positions asked for, and the bits that it took; or the bits at which it was given up."""

    bits: int
    choices: tuple[Choice, ...]


def decide(
    model: Model, ids: list[int], start_bits: int = 64, cap_bits: int = 4096, positions: Sequence[int] | None = None
) -> Decision:
    """Run the pass with twice as many bits each time until the tokens at `positions` (None: at all of them) are proved.

    At `cap_bits` the choices stay as they are: what is not proved by then is undecided. Equal logits are never told apart.

    >>> from exactformer.worksheets import load
    >>> model = load("capstone").model
    >>> bits, choices = decide(model, model.ids(("a", "b")), positions=[-1])
    >>> bits, [(choice.index, choice.proved) for choice in choices]
    (64, [(0, True)])
    """
    if model.config.unembedding == "none":
        raise InputError("the model has no logits: there is no token to decide")
    if not start_bits <= cap_bits:
        raise ValueError(f"from {start_bits} bits to {cap_bits}: the cap is below the start")
    bits = start_bits
    while True:
        ops = ArbArithmetic(bits)
        logits = forward(model, ids, ops)
        choices = ops.choose(logits if positions is None else logits[list(positions)])
        if bits == cap_bits or all(choice.proved for choice in choices):
            return Decision(bits, tuple(choices))
        bits = min(2 * bits, cap_bits)


def _matrix(x: Array) -> _Matrix:
    entries = x.ravel().tolist()
    undefined = _any_undefined(entries)
    if undefined:
        entries = [ZERO if type(value) is Undefined else value for value in entries]
    return _Matrix(arb_mat(*x.shape, entries), undefined)


def _shaped(values: list[Any], shape: tuple[int, ...]) -> Array:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result.reshape(shape)


def _any_undefined(values: list[Any]) -> bool:
    return Undefined in set(map(type, values))


def _undefined(values: Sequence[Any]) -> Undefined | None:
    """The first value that is undefined: what is computed from it is so, for the same reason."""
    return next((value for value in values if type(value) is Undefined), None)


def _undefined_or(function: Callable[..., Any], *values: Any) -> Any:
    undefined = _undefined(values)
    return function(*values) if undefined is None else undefined


def _is_zero(value: Any) -> bool:
    """Is it proved to be 0?"""
    return isinstance(value, arb) and value.is_zero()


def _is_infinite(value: Any) -> bool:
    """Infinite, or NaN."""
    return isinstance(value, arb) and not value.is_finite()
