"""Numbers that stand in a claim as nested lists: a vector, a matrix, or several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exactformer.checking.record import Index
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact
from exactformer.numbers.arrays import Array
from exactformer.reading import described
from exactformer.worksheets.reader import Table


def read_array(table: Table, value: Any, field: str) -> Array:
    """A vector or a matrix that is written out; -inf is a masked entry."""
    shape = shape_of(table, value, field)
    if not 1 <= len(shape) <= 2 or 0 in shape:
        raise table.error(field, f"is {described(value)}: write a list of numbers, a list of such lists, or the name of a step")
    result = np.empty(shape, dtype=object)
    for index, entry in leaves(value):
        masked = isinstance(entry, str) and entry.strip() == "-inf"
        result[index] = MASKED if masked else table.exact(entry, field + brackets(index))
    return result


def shape_of(table: Table, value: Any, field: str) -> tuple[int, ...]:
    """The shape of nested lists, which must be all alike."""
    if not isinstance(value, list):
        return ()
    shapes = [shape_of(table, item, f"{field}[{n}]") for n, item in enumerate(value)]
    for n, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise table.error(f"{field}[{n}]", "is not as long as the rows before it")
    return (len(value), *shapes[0]) if value else (0,)


def depth_of(value: Any) -> int:
    """How many lists stand around the first entry."""
    depth = 0
    while isinstance(value, list) and value:
        depth, value = depth + 1, value[0]
    return depth


def leaves(value: Any, index: Index = ()) -> Iterator[tuple[Index, Any]]:
    """Every entry of nested lists, with its place."""
    if isinstance(value, list):
        for n, item in enumerate(value):
            yield from leaves(item, (*index, n))
    else:
        yield index, value


def is_hidden(x: Any) -> bool:
    """-inf, or the weight 0 that comes of it."""
    return x is MASKED or (isinstance(x, Exact) and x.value == 0)


def brackets(index: Index) -> str:
    """The place of an entry in a message: values[1][0]."""
    return "".join(f"[{i}]" for i in index)
