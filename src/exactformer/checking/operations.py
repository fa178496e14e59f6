"""The operations that a claim can name, on vectors and matrices of exact-or-named numbers.

One operand is called `of`, two are called `left` and `right`. A vector is a row; what has one entry a row loses that axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.arithmetics import adjoints
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.sight import Mask, Sight
from exactformer.numbers import Exact, Number, exact, exp, sqrt
from exactformer.numbers.arrays import Array, zeros

OPS = adjoints("exact")


@dataclass(frozen=True)
class Operation:
    function: Callable[..., Array]  # of matrices, and of parameters by name
    operands: tuple[str, ...] = ("of",)
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    reduces: bool = False  # to one entry a row
    masked: bool = False  # are entries -inf allowed?


def _layer_norm(x: Array, epsilon: Exact, gamma: Array | None = None, beta: Array | None = None) -> Array:
    width = x.shape[-1]
    centered = OPS.center(x, OPS.mean(x))
    w = np.full(width, exact(1), dtype=object) if gamma is None else gamma
    b = zeros(width) if beta is None else beta
    result: Array = OPS.normalise(centered, OPS.deviation(OPS.variance(centered), epsilon), w, b, "layer_norm")
    return result


def _variance(x: Array) -> Array:
    result: Array = OPS.variance(OPS.center(x, OPS.mean(x)))
    return result


def _std(x: Array, epsilon: Exact | None = None) -> Array:
    result: Array = OPS.deviation(_variance(x), exact(0) if epsilon is None else epsilon)
    return result


def _mask(x: Array, mask: Mask) -> Array:
    result: Array = OPS.mask(x[None], Sight(mask))[0]
    return result


def _exp(x: Array) -> Array:
    result = np.empty(x.shape, dtype=object)
    for place, value in np.ndenumerate(x):
        result[place] = exact(0) if value is MASKED else exp(value)
    return result


def _activation(kind: Any) -> Operation:
    return Operation(lambda x: OPS.activate(x, kind))


OPERATIONS: dict[str, Operation] = {
    "matmul": Operation(lambda left, right: OPS.linear(left, right, None), ("left", "right")),
    "scores": Operation(lambda left, right: OPS.linear(left, right.T, None), ("left", "right")),  # left · rightᵀ
    "add": Operation(lambda left, right: OPS.subtract(left, OPS.times(right, exact(-1))), ("left", "right")),
    "subtract": Operation(lambda left, right: OPS.subtract(left, right), ("left", "right")),
    "multiply": Operation(lambda left, right: OPS.times(left, right), ("left", "right")),  # entry by entry
    "scale": Operation(lambda x, factor: OPS.scale(x, factor), required=("factor",)),
    "mask": Operation(_mask, required=("mask",)),
    "shift": Operation(lambda x: OPS.shift(x), masked=True),  # minus the largest of each row
    "exp": Operation(_exp, masked=True),
    "sum": Operation(lambda x: OPS.total(x, -1)[:, None], reduces=True),
    "softmax": Operation(lambda x: OPS.softmax(x), masked=True),
    "mean": Operation(lambda x: OPS.mean(x), reduces=True),
    "variance": Operation(_variance, reduces=True),
    "std": Operation(_std, optional=("epsilon",), reduces=True),
    "layer_norm": Operation(_layer_norm, required=("epsilon",), optional=("gamma", "beta")),
    "relu": _activation("relu"),
    "gelu": _activation("gelu"),
    "gelu_tanh": _activation("gelu_tanh"),
}
ENTRYWISE = ("add", "subtract", "multiply")  # either side may be a single number


class OperandError(ValueError):
    """Operands that an operation cannot take. `operand` names one."""

    def __init__(self, operand: str, problem: str) -> None:
        super().__init__(problem)
        self.operand = operand


def apply(name: str, operands: list[Array], parameters: dict[str, Any]) -> Array:
    """The result of an operation; vectors in give a vector out, or a single number (an array without axes).

    >>> from exactformer.numbers import array
    >>> apply("scores", [array([1, 2]), array([[3, 4], [5, 6]])], {})
    array([exact('11'), exact('17')], dtype=object)
    >>> apply("mean", [array([1, 2])], {}).item()
    exact('3/2')
    """
    operation = OPERATIONS[name]
    _refuse(name, operation, operands, parameters)
    if name in ENTRYWISE:
        return operation.function(*operands).reshape(max((x.shape for x in operands), key=len))
    first, last = operands[0], operands[-1]
    matrices = [x if x.ndim == 2 else x[None] for x in operands]
    if name == "matmul" and last.ndim == 1:
        matrices[1] = last[:, None]
    result = operation.function(*matrices, **parameters)
    dropped = (0,) if first.ndim == 1 else ()
    if operation.reduces or (name in ("matmul", "scores") and last.ndim == 1):
        dropped = (*dropped, 1)
    return np.squeeze(result, axis=dropped)


def _refuse(name: str, operation: Operation, operands: list[Array], parameters: dict[str, Any]) -> None:
    for where, x in zip(operation.operands, operands, strict=True):
        if not x.shape and name not in ENTRYWISE:
            raise OperandError(where, f"is a single number, where {name} takes a row or a matrix")
        if not operation.masked and any(value is MASKED for value in x.flat):
            raise OperandError(where, f"holds -inf, which {name} does not take")
        if any(not isinstance(value, Number) and value is not MASKED for value in x.flat):
            raise OperandError(where, "does not hold numbers")
    if len(operands) == 2:
        left, right = operands
        if name == "matmul":
            fits = left.shape[-1] == right.shape[0]
        elif name == "scores":
            fits = left.shape[-1] == right.shape[-1]
        else:
            fits = left.shape == right.shape or not left.shape or not right.shape
        if not fits:
            raise OperandError("right", f"is {times(right)}, which does not fit left ({times(left)}) in {name}")
    for where in ("gamma", "beta"):
        if where in parameters and parameters[where].shape != operands[0].shape[-1:]:
            raise OperandError(where, f"is {times(parameters[where])}, not {operands[0].shape[-1]} numbers")


def times(x: Array) -> str:
    return " × ".join(map(str, x.shape)) or "a single number"


def factor(text: str) -> Number:
    """A factor: a number, "sqrt(3)" or "1/sqrt(3)".

    >>> factor("1/4"), factor("1/sqrt(3)")
    (exact('1/4'), <1/√3>)
    """
    body = text.replace(" ", "")
    below = body.startswith("1/sqrt(")
    if (below or body.startswith("sqrt(")) and body.endswith(")"):
        radicand = exact(body[body.index("(") + 1 : -1])
        if radicand.value <= 0:
            raise ValueError(f"{text!r}: the root is taken of a positive number")
        return 1 / sqrt(radicand) if below else sqrt(radicand)
    return exact(text)
