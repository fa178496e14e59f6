"""How large a circuit is: its largest entries, proved to be, and its norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat

from exactformer.circuits.matrices import CircuitTable
from exactformer.numbers import Exact, Named, Number, maximum, sqrt
from exactformer.numbers.arrays import Array
from exactformer.numbers.enclosure import ball, precision
from exactformer.numbers.field import dot, total
from exactformer.numbers.order import compare, ranking

_MOST_SPECTRAL = 250_000  # entries of a matrix whose spectral norm is enclosed
_BITS = 128


@dataclass(frozen=True)
class Entry:
    row: str
    column: str
    value: Number


@dataclass(frozen=True)
class Sizes:
    """The largest entries in order, the smallest in order, and norms."""

    largest: tuple[Entry, ...]
    smallest: tuple[Entry, ...]
    frobenius: Number  # the root of the sum of squares
    rows: Number  # the largest sum of absolute values of a row
    spectral: arb | None  # the largest factor by which it lengthens a vector, enclosed; None where the matrix is too large


def sizes(table: CircuitTable, count: int = 5) -> Sizes:
    """
    >>> from exactformer.circuits import circuits
    >>> from exactformer.worksheets import load
    >>> found = sizes(next(circuits(load("capstone").model, 0, 0)), 2)
    >>> [(entry.row, entry.column, str(entry.value)) for entry in found.largest], str(found.frobenius)
    ([('c', 'c', '2'), ('a', 'a', '1')], '√10')
    """
    values = table.values
    largest = tuple(_entry(table, n) for n in top(values, count))
    smallest = tuple(_entry(table, n) for n in top(-values, count))
    flat = values.ravel().tolist()
    sums = [total([abs(value) for value in row]) for row in values.tolist()]
    return Sizes(largest, smallest, sqrt(dot(flat, flat)), maximum(sums), spectral(values))


def top(values: Array, count: int) -> list[int]:
    """The places of the largest entries, in order: chosen by floats, and proved against all others."""
    flat = values.ravel().tolist()
    order = sorted(range(len(flat)), key=lambda n: (-_near(flat[n]), n))
    chosen, rest = order[:count], order[count:]
    ranked = [chosen[n] for n in ranking([flat[n] for n in chosen])] if chosen else []
    if ranked and any(compare(flat[n], flat[ranked[-1]]) > 0 for n in rest):  # floats had chosen wrongly
        return ranking(flat, count)
    return ranked


def spectral(values: Array) -> arb | None:
    """The largest singular value, enclosed (docs/explain.md, Norms): by vectors that floats find, whatever their errors are."""
    if not 0 < values.size <= _MOST_SPECTRAL:
        return None
    u, s, v = np.linalg.svd(np.array([[_near(x) for x in row] for row in values.tolist()]), full_matrices=False)
    kept = max(1, int((s > s[0] * 1e-14).sum()))
    with precision(_BITS):
        matrix = arb_mat([[ball(x, _BITS) for x in row] for row in values.tolist()])
        first = arb_mat([[arb(x)] for x in v[0].tolist()])
        low = _frobenius(matrix * first) / _frobenius(first)  # ‖A x‖ / ‖x‖
        left, right = (arb_mat([[arb(x) for x in row] for row in part.tolist()]) for part in (u[:, :kept], v[:kept]))
        middle = arb_mat([[arb(x) if i == j else arb(0) for j in range(kept)] for i, x in enumerate(s[:kept].tolist())])
        rest = _frobenius(matrix - left * middle * right)
        high = _stretch(left) * arb(float(s[0])) * _stretch(right.transpose()) + rest
        return low.lower().union(high.upper())


def _stretch(columns: arb_mat) -> arb:
    """At least the norm of a matrix of nearly orthonormal columns: ‖Q‖² = ‖QᵀQ‖ ≤ 1 + ‖QᵀQ − 1‖."""
    size = columns.ncols()
    one = arb_mat([[int(i == j) for j in range(size)] for i in range(size)])
    return (1 + _frobenius(columns.transpose() * columns - one)).sqrt()


def _frobenius(matrix: arb_mat) -> arb:
    return sum((x * x for x in matrix.entries()), arb(0)).sqrt()


def _near(value: Any) -> float:
    assert isinstance(value, Exact | Named)
    return value.to_float()


def _entry(table: CircuitTable, n: int) -> Entry:
    i, j = divmod(n, table.values.shape[1])
    return Entry(table.rows[i], table.columns[j], table.values[i, j])
