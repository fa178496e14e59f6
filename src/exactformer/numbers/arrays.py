"""NumPy object arrays of numbers, and products of them built with one node per entry."""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from exactformer.numbers import enclosure, field
from exactformer.numbers.field import ZERO, linear_node
from exactformer.numbers.nodes import Exact, Named, Number
from exactformer.numbers.parse import exact, required

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


def total(terms: Iterable[Any]) -> Number:
    """x1 + … + xn as one number, not simplified.

    >>> total([1, "2"])
    Traceback (most recent call last):
    TypeError: '2' is not a number: write exact("2")
    """
    return field.total([required(x) for x in terms])


def dot(xs: Iterable[Any], ys: Iterable[Any]) -> Number:
    """x1·y1 + … + xn·yn as one number, not simplified."""
    return field.dot([required(x) for x in xs], [required(y) for y in ys])


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
    rational_rows = all(type(x) is Exact for row in rows for x in row)
    rational_columns = all(type(x) is Exact for column in columns for x in column)
    if rational_rows and rational_columns:
        return _rational_product(a, b)
    result = np.empty((len(rows), len(columns)), dtype=object)
    if rational_columns:
        result[:] = _combinations(rows, columns)
    elif rational_rows:
        result.T[:] = _combinations(columns, rows)
    else:
        result[:] = [[field.dot(row, column) for column in columns] for row in rows]
    enclosure.remember_product(rows, columns, result.tolist())
    return result


def _combinations(rows: list[list[Number]], columns: list[list[Exact]]) -> list[list[Number]]:
    """Every row with every column, the columns being rational: what `dot` gives, with the columns prepared once."""
    prepared = [_prepare(column) for column in columns]
    result = []
    for row in rows:
        named = [k for k, x in enumerate(row) if type(x) is Named]
        if len(named) < len(row) and any(type(x) is not Exact or x.value != 0 for x in row if type(x) is not Named):
            result.append([field.dot(row, column) for column in columns])
        else:
            result.append([_combination(row, named, *column) for column in prepared])
    return result


def _prepare(column: list[Exact]) -> tuple[list[int], int]:
    """Integers and a common denominator for the entries of a column."""
    denominator = lcm(*(int(x.value.q) for x in column))
    return [int(x.value * denominator) for x in column], denominator


def _combination(row: list[Any], named: list[int], integers: list[int], denominator: int) -> Number:
    """The named entries of a row, whose other entries are zero, with one column."""
    places = [k for k in named if integers[k]]
    if not places:
        return ZERO
    if len(places) == 1 and integers[places[0]] == denominator:
        return row[places[0]]  # type: ignore[no-any-return]
    return linear_node(tuple([integers[k] for k in places]), tuple([row[k] for k in places]), 0, denominator)


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
