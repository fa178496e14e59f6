"""NumPy object arrays of numbers, and products of them built with one node an entry."""

from __future__ import annotations

from math import lcm
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from exactformer.numbers.field import ZERO, dot, linear_node
from exactformer.numbers.number import Exact, Named, Number
from exactformer.numbers.parse import exact

Array = NDArray[Any]  # of numbers


def array(values: Any) -> Array:
    """An object array of numbers from nested lists of anything that `exact` takes, or of numbers.

    >>> array([["0.5", 1], ["1/3", "1e-2"]])
    array([[exact('1/2'), exact('1')],
           [exact('1/3'), exact('1/100')]], dtype=object)
    """
    raw = np.array(values, dtype=object)
    result = np.empty(raw.shape, dtype=object)
    for index, value in np.ndenumerate(raw):
        result[index] = value if isinstance(value, Number) else exact(value)
    return result


def zeros(*shape: int) -> Array:
    result = np.empty(shape, dtype=object)
    result.fill(ZERO)
    return result


def matmul(a: Array, b: Array) -> Array:
    """a @ b for matrices, each entry one node: the row of `a` with the column of `b`.

    >>> matmul(array([[1, 2]]), array([[3], [4]]))
    array([[exact('11')]], dtype=object)
    """
    rows, columns = a.tolist(), b.T.tolist()
    exact_rows = [all(type(x) is Exact for x in row) for row in rows]
    exact_columns = [all(type(x) is Exact for x in column) for column in columns]
    if all(exact_rows) and all(exact_columns):
        return _rational_product(a, b)
    prepared = [_prepare(column) if is_exact else None for column, is_exact in zip(columns, exact_columns, strict=True)]
    result = np.empty((len(rows), len(columns)), dtype=object)
    for i, row in enumerate(rows):
        all_named = all(type(x) is Named for x in row)
        for j, column in enumerate(columns):
            ready = prepared[j]
            if all_named and ready is not None and len(ready[0]) > 1:
                places, integers, denominator = ready
                result[i, j] = linear_node(integers, tuple([row[k] for k in places]), 0, denominator)
            else:
                result[i, j] = dot(row, column)
    return result


def _prepare(column: list[Exact]) -> tuple[list[int], tuple[int, ...], int]:
    """The places, integers and common denominator of the entries of a column that are not zero."""
    places = [k for k, x in enumerate(column) if x.value != 0]
    denominator = lcm(*(int(column[k].value.q) for k in places))
    return places, tuple(int(column[k].value * denominator) for k in places), denominator


def _rational_product(a: Array, b: Array) -> Array:
    product = fmpq_mat(*a.shape, [x.value for x in a.flat]) * fmpq_mat(*b.shape, [x.value for x in b.flat])
    rows = [any(x.recovered for x in row) for row in a]
    columns = [any(x.recovered for x in column) for column in b.T]
    result = np.empty((a.shape[0], b.shape[1]), dtype=object)
    entries: list[fmpq] = product.entries()
    for n, value in enumerate(entries):
        i, j = divmod(n, b.shape[1])
        result[i, j] = Exact(value, rows[i] or columns[j])
    return result
