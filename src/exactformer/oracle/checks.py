"""What arguments are refused, and how arrays are cut into blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exactformer.messages import quoted
from exactformer.numbers.formats import Format
from exactformer.oracle.formats import OracleError, format_of
from exactformer.oracle.taking import taken
from exactformer.oracle.truth import Block, Operation, Part, Truth

CHUNK = 2**15  # entries of a block: its arrays stay in the cache


def axis_of(axis: Any, x: Any) -> int:
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer) or not -x.ndim <= axis < x.ndim:
        raise OracleError("axis", f"{quoted(axis)} is not an axis of an array of {x.ndim} dimensions")
    return int(axis) % int(x.ndim)


def formats(dtype: Any, *given: tuple[str, Format]) -> Format:
    """The output's format: what was asked for, or that of all inputs."""
    if dtype is not None:
        return format_of(dtype, "dtype")
    for name, form in given[1:]:
        if form is not given[0][1]:
            raise OracleError(name, f"is {form.name}, {given[0][0]} is {given[0][1].name}: say the output's dtype")
    return given[0][1]


def broadcast(x: Any, shape: tuple[int, ...], argument: str) -> Any:
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise OracleError(argument, f"has the shape {x.shape}, which does not fit {shape}") from None


def optional(x: Any, argument: str, shape: tuple[int, ...]) -> tuple[Any, Format | None]:
    """An array that may be missing, flat."""
    if x is None:
        return None, None
    array, form = taken(x, argument)
    return np.ascontiguousarray(broadcast(array, shape, argument)).reshape(-1), form


def cut(rows: int, width: int, parts: tuple[Part, ...], entries: int = CHUNK) -> Iterator[Block]:
    """Blocks of about so many entries."""
    step = max(1, entries // max(1, width))
    for start in range(0, rows, step):
        stop = min(rows, start + step)
        yield Block(
            start,
            stop - start,
            tuple(
                Part(part.values[start:stop], part.rows, part.columns)
                if part.rows and isinstance(part.values, np.ndarray)
                else part
                for part in parts
            ),
        )


def rowwise(operation: Operation, form: Format, shape: tuple[int, ...], axis: int, parts: tuple[Part, ...], given: Any) -> Truth:
    """Of rows along one axis, each by itself. `given`: what IEEE decides, NaN included; where it does."""
    columns = shape[axis] if shape else 1
    size = int(np.prod(shape))
    values, decided = given if given is not None and given[1].any() else (None, None)
    blocks = tuple(cut(size // columns, columns, parts)) if size else ()
    return Truth(operation, form, shape, axis, columns, blocks, values, decided)


def entrywise(operation: Operation, form: Format, shape: tuple[int, ...], parts: tuple[Any, ...], given: Any) -> Truth:
    """Of entries, each by itself: rows of one."""
    flat = tuple(Part(p.reshape(-1, 1)) if isinstance(p, np.ndarray) else Part(p, rows=False) for p in parts)
    size = int(np.prod(shape))
    values, decided = (g.reshape(-1, 1) for g in given)
    if not decided.any():
        values = decided = None
    return Truth(operation, form, shape, len(shape), 1, tuple(cut(size, 1, flat)), values, decided)
