"""Operations applied to numbers, rows and matrices: which operands they take, and how shapes go together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactformer.checking.operations import OPERATIONS, Operation
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Number
from exactformer.numbers.arrays import Array


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
    return applied(operation, operation.function, operands, parameters)


def applied(operation: Operation, function: Callable[..., Array], operands: list[Array], parameters: dict[str, Any]) -> Array:
    """A function in the place of an operation, which has taken these operands already."""
    given = {field: value for field, value in parameters.items() if field != "by"}
    columns = parameters.get("by") == "columns"
    first, last = operands[0], operands[-1]
    match operation.kind:
        case "entries":
            return function(first, **given)
        case "pairs":
            return function(*_together(first, last, parameters.get("by")), **given)
        case "product":
            result = function(first if first.ndim == 2 else first[None], _second(operation, first, last), **given)
            return np.squeeze(result, axis=tuple(n for n, x in enumerate((first, last)) if x.ndim == 1))
        case _:
            matrix = first if first.ndim == 2 else first[None]
            result = function(matrix.T, **given).T if columns else function(matrix, **given)
            dropped = (0,) if first.ndim == 1 and operation.kind == "rows" else ()
            dropped = (*dropped, 0 if columns else 1) if operation.reduces else dropped
            return np.squeeze(result, axis=dropped)


def _refuse(name: str, operation: Operation, operands: list[Array], parameters: dict[str, Any]) -> None:
    for where, x in zip(operation.operands, operands, strict=True):
        if not x.shape and operation.kind not in ("entries", "pairs"):
            raise OperandError(where, f"is a single number, where {name} takes a row or a matrix")
        if not operation.masked and any(value is MASKED for value in x.flat):
            raise OperandError(where, f"holds -inf, which {name} does not take")
        if any(not isinstance(value, Number) and value is not MASKED for value in x.flat):
            raise OperandError(where, "does not hold numbers")
    first = operands[0]
    if parameters.get("by") == "columns" and operation.kind == "rows" and first.ndim != 2:
        raise OperandError("by", "is columns, but there is one row")
    if operation.kind == "product" and not _fits(name, *operands):
        raise OperandError("right", f"is {times(operands[1])}, which does not fit left ({times(first)}) in {name}")
    for where in ("gamma", "beta"):
        if where in parameters and parameters[where].shape != first.shape[-1:]:
            raise OperandError(where, f"is {times(parameters[where])}, not {first.shape[-1]} numbers")
    if "correct" in parameters:
        rows = 1 if first.ndim == 1 else len(first)
        if len(parameters["correct"]) != rows or any(not 0 <= n < first.shape[-1] for n in parameters["correct"]):
            raise OperandError("correct", f"is not {rows} place{'s' * (rows > 1)} in a row of {first.shape[-1]}, counted from 0")
    if parameters.get("ddof", 0) and first.shape[-1] < 2:
        raise OperandError("ddof", "is 1, but there is one number")
    if name == "rotary" and first.shape[-1] % 2:
        raise OperandError("of", f"has rows of {first.shape[-1]} numbers, which are not pairs")


def _fits(name: str, left: Array, right: Array) -> bool:
    return bool(left.shape[-1] == (right.shape[0] if name == "matmul" else right.shape[-1]))


def _second(operation: Operation, first: Array, last: Array) -> Array:
    """The right side of a product as a matrix: a vector is a column to be multiplied with, or a row of keys."""
    if last.ndim == 2:
        return last
    return last[:, None] if operation is OPERATIONS["matmul"] else last[None]


def _together(left: Array, right: Array, by: str | None) -> tuple[Array, Array]:
    """Two arrays of one shape: a number goes with all entries, a row with all rows, or a number of it with each row (`by`)."""
    small, large = (left, right) if left.ndim < right.ndim else (right, left)
    if small.ndim == 1 and large.ndim == 2:
        fits = {"columns": small.shape[0] == large.shape[1], "rows": small.shape[0] == large.shape[0]}
        if by is None and all(fits.values()):
            raise OperandError("by", 'is missing: say whether there is one number for each row (by = "rows") or for each column')
        chosen = by or next((way for way, fit in fits.items() if fit), "")
        if not fits.get(chosen, False):
            raise OperandError("right", f"is {times(right)}, which does not fit left ({times(left)})")
        small = small[:, None] if chosen == "rows" else small
        left, right = (small, large) if left.ndim < right.ndim else (large, small)
    try:
        whole = np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        raise OperandError("right", f"is {times(right)}, which does not fit left ({times(left)})") from None
    return np.broadcast_to(left, whole), np.broadcast_to(right, whole)


def times(x: Array) -> str:
    return " × ".join(map(str, x.shape)) or "a single number"
