"""What operations do to arrays of exact-or-named numbers: entry by entry, and row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactformer.arithmetics import adjoints
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.operations.rotation import Rotate
from exactformer.model.rotary import Pairs, Rotary, frequencies
from exactformer.model.sight import Mask, Sight
from exactformer.numbers import Exact, Number, Undefined, exact, exp, maximum, sqrt
from exactformer.numbers.arrays import Array, zeros
from exactformer.numbers.field import add, divide, multiply, negate

OPS = adjoints("exact")


# -- entry by entry
def each(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    def of(x: Array) -> Array:
        result = np.empty(x.shape, dtype=object)
        for place, value in np.ndenumerate(x):
            result[place] = value if isinstance(value, Undefined) else _existing(function, value)
        return result

    return of


def _existing(function: Callable[..., Any], *values: Any) -> Any:
    """The number, or why there is none: the root of a negative one, or a quotient by 0."""
    try:
        return function(*values)
    except (ValueError, ArithmeticError) as error:
        return Undefined(str(error))


def pairwise(function: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    def of(left: Array, right: Array) -> Array:
        result = np.empty(left.shape, dtype=object)
        for place in np.ndindex(left.shape):
            result[place] = _existing(function, left[place], right[place])
        settled: Array = OPS.settle(result)
        return settled

    return of


def quotient(x: Number, y: Number) -> Number:
    if isinstance(y, Exact) and y.value == 0:
        raise ValueError("a division by 0")
    return divide(x, y)


def sigmoid(x: Number) -> Number:
    return divide(exact(1), add(exact(1), exp(negate(x))))


# -- row by row
def softmax_of(x: Array, temperature: Number | None = None) -> Array:
    result: Array = OPS.softmax(x if temperature is None else _cooled(x, temperature))
    return result


def _cooled(x: Array, temperature: Number) -> Array:
    return each(lambda value: value if value is MASKED else divide(value, temperature))(x)


def shares(x: Array, temperature: Number | None = None) -> Array:
    """Each number divided by the sum of its row: a softmax without e."""
    return pairwise(quotient)(x, np.broadcast_to(OPS.total(x, -1)[:, None], x.shape))


def largest(x: Array) -> Array:
    result = np.empty((len(x), 1), dtype=object)
    result[:, 0] = [maximum([value for value in row if value is not MASKED]) for row in x]
    return result


def variance(x: Array, ddof: int = 0) -> Array:
    n = x.shape[-1]
    found: Array = OPS.variance(OPS.center(x, OPS.mean(x)))
    return each(lambda value: multiply(value, Exact(exact(n).value / (n - ddof))))(found) if ddof else found


def _root(variance: Array, epsilon: Exact, outside: bool) -> Array:
    """√(variance + ε), or √variance + ε."""
    inside: Array = OPS.deviation(variance, exact(0) if outside else epsilon)
    return each(lambda value: add(value, epsilon))(inside) if outside else inside


def std(x: Array, epsilon: Exact | None = None, ddof: int = 0, epsilon_at: str = "inside") -> Array:
    return _root(variance(x, ddof), epsilon or exact(0), epsilon_at == "outside")


def layer_norm(
    x: Array, epsilon: Exact, gamma: Array | None = None, beta: Array | None = None, ddof: int = 0, epsilon_at: str = "inside"
) -> Array:
    root = _root(variance(x, ddof), epsilon, epsilon_at == "outside")
    return _stretched(OPS.center(x, OPS.mean(x)), root, gamma, beta, "layer_norm")


def rms_norm(x: Array, epsilon: Exact, gamma: Array | None = None, epsilon_at: str = "inside") -> Array:
    return _stretched(x, _root(OPS.variance(x), epsilon, epsilon_at == "outside"), gamma, None, "rms_norm")


def _stretched(x: Array, root: Array, gamma: Array | None, beta: Array | None, name: str) -> Array:
    w = np.full(x.shape[-1], exact(1), dtype=object) if gamma is None else gamma
    result: Array = OPS.normalise(x, root, w, zeros(x.shape[-1]) if beta is None else beta, name)
    return result


def length(x: Array) -> Array:
    return each(sqrt)(OPS.total(OPS.times(x, x), -1)[:, None])


def cross_entropy(x: Array, correct: tuple[int, ...]) -> Array:
    result = np.empty((len(x), 1), dtype=object)
    result[:, 0] = [OPS.cross_entropy(row[None], [place])[0] for row, place in zip(x, correct, strict=True)]
    return result


def masked(x: Array, mask: Mask) -> Array:
    result: Array = OPS.mask(x[None], Sight(mask))[0]
    return result


def rotary(x: Array, base: Exact | None = None, pairs: Pairs = "halves", position: int = 0) -> Array:
    turn = Rotary(frequencies(base or exact(10_000), x.shape[-1]), pairs)
    result: Array = Rotate(turn, range(position, position + len(x))).apply(OPS, x[None])[0]
    return result


def with_other(function: Callable[..., Array], **fixed: Any) -> Callable[..., Array]:
    """The same with other parameters, whatever is said."""
    return lambda x, **said: function(x, **said | fixed)


def scaled(x: Array, factor: Number) -> Array:
    result: Array = OPS.scale(x, factor)
    return result
