"""Outputs in files of arrays: .npz and .safetensors with `ids` and what belongs to them; .npy with logits alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.certificates.memory import available
from exactformer.certificates.memory import shown as shown_size
from exactformer.checkpoints.safetensors import Tensor, read_tensors
from exactformer.messages import quoted
from exactformer.model.weights import widened
from exactformer.numbers.formats import FORMATS, Format, brain_floats
from exactformer.reading import Saved, saved_array, saved_arrays, times
from exactformer.referee.outputs import Engine, Given, OutputsError

_CONTAINERS = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}
_PADDING = -1


@dataclass(frozen=True)
class Column:
    """One array of a file: its shape and format, and how it is read."""

    where: str
    shape: tuple[int, ...]
    bytes: int
    format: str  # of floats; empty: whole numbers
    read: Callable[[], Any]


def read_arrays(path: Path, ids: Sequence[int] | None, dtype: Format | None, modules: dict[str, str], quantised: bool) -> Engine:
    """The engine of a file, named after it. `ids` are the prompt of a .npy file; `modules` says which step a module's output is."""
    columns = _columns(path, dtype)
    if path.suffix == ".npy":
        if ids is None:
            raise OutputsError(f"{path}: holds no ids: say the prompt with --ids or --prompt, or save a .npz with ids and logits")
        rows = np.atleast_2d(_floats(columns.pop("")))
        found: dict[str, Any] = {"logits": rows[None]}
        table = np.array([list(ids)])
        formats = {_columns(path, dtype)[""].format}
    else:
        _check_memory(path, columns)
        table = _whole(path, columns, "ids")
        formats = {columns[name].format for name in columns if columns[name].format}
        tokens = _whole(path, columns, "tokens") if "tokens" in columns else None
        if whole := [column for column in columns.values() if not column.format]:
            raise OutputsError(f"{whole[0].where}: holds whole numbers; what an engine computes are {', '.join(FORMATS)}")
        found = {modules.get(name, name): _floats(column) for name, column in columns.items() if column.format}
        if tokens is not None:
            found["tokens"] = tokens
    format = dtype or _only(path, formats)
    return Engine(path.stem, format, _prompts(path, table, found), quantised)


def _columns(path: Path, dtype: Format | None) -> dict[str, Column]:
    if path.suffix == ".npy":
        return {"": _saved(saved_array(path, OutputsError), dtype)}
    if path.suffix == ".npz":
        return {name: _saved(saved, dtype) for name, saved in saved_arrays(path, OutputsError).items()}
    return {name: _tensor(tensor) for name, tensor in read_tensors(path).items()}


def _saved(saved: Saved, dtype: Format | None) -> Column:
    kind = saved.dtype.newbyteorder("=")
    if kind.kind in "iu":
        return Column(saved.where, saved.shape, saved.bytes, "", saved.array)
    if kind.name in FORMATS:
        return Column(saved.where, saved.shape, saved.bytes, kind.name, saved.array)
    if kind == np.dtype("V2") and dtype is not None and dtype.name == "bfloat16":
        return Column(saved.where, saved.shape, saved.bytes, "bfloat16", lambda: brain_floats(saved.array().view("<u2")))
    besides = "; bfloat16 is saved without its name: say --dtype bfloat16" if kind == np.dtype("V2") else ""
    raise OutputsError(f"{saved.where}: holds {kind.name[:40]}; numbers are {', '.join(FORMATS)}{besides}")


def _tensor(tensor: Tensor) -> Column:
    format = _CONTAINERS.get(tensor.dtype, "")
    return Column(
        f"{tensor.path}: {quoted(tensor.name)}",
        tensor.shape,
        tensor.bytes,
        format,
        tensor.array if format else tensor.whole_numbers,
    )


def _check_memory(path: Path, columns: dict[str, Column]) -> None:
    wanted, left = sum(column.bytes for column in columns.values()), available()
    if left is not None and wanted > left // 2:
        raise OutputsError(f"{path}: its arrays take {shown_size(wanted)} of memory; {shown_size(left)} are free")


def _floats(column: Column) -> Any:
    return widened(column.read())


def _whole(path: Path, columns: dict[str, Column], name: str) -> Any:
    if name not in columns:
        raise OutputsError(f"{path}: has no {quoted(name)}; there are {', '.join(map(quoted, list(columns)[:8])) or 'no arrays'}")
    column = columns.pop(name)
    if column.format or len(column.shape) not in (1, 2):
        raise OutputsError(f"{column.where}: is not a table of whole numbers, [prompts, tokens]")
    return column.read()


def _only(path: Path, formats: set[str]) -> Format:
    if not formats:
        return FORMATS["float32"]  # tokens alone
    if len(formats) > 1:
        raise OutputsError(f"{path}: holds {' and '.join(sorted(formats))}: say with --dtype what was computed in")
    return FORMATS[formats.pop()]


def _prompts(path: Path, table: Any, found: dict[str, Any]) -> list[Given]:
    table = np.atleast_2d(table)
    if not len(table):
        raise OutputsError(f"{path}: 'ids': holds no prompts")
    for name, values in found.items():
        if values.ndim < 1 or len(values) != len(table):
            raise OutputsError(
                f"{path}: {quoted(name)}: has the shape {times(values.shape)}, where there are {len(table):,} prompts"
            )
    return [_prompt(path, number, _ids(path, number, row), found) for number, row in enumerate(table.tolist())]


def _ids(path: Path, number: int, row: list[int]) -> tuple[int, ...]:
    """Without the −1 after the last id of a shorter prompt."""
    length = next((n for n, token in enumerate(row) if token == _PADDING), len(row))
    if not length or any(token != _PADDING for token in row[length:]):
        raise OutputsError(f"{path}: 'ids': prompt {number}: {'is empty' if not length else '-1 stands before an id'}")
    return tuple(row[:length])


def _prompt(path: Path, number: int, ids: tuple[int, ...], found: dict[str, Any]) -> Given:
    length, last = len(ids), len(ids) - 1

    def rows(name: str) -> tuple[Any, bool]:
        """Of this prompt: [positions, vocabulary], and whether it is the last position alone."""
        values = found[name][number]
        if name == "tokens":
            return (values[None], True) if values.ndim == 0 else (values[:length], False)
        if values.ndim == 1:
            return values[None].astype(np.float64), True
        if values.ndim != 2 or len(values) < length:
            raise OutputsError(
                f"{path}: {quoted(name)}: has {times(values.shape)} for prompt {number}, which has {length:,} tokens"
            )
        return values[:length].astype(np.float64), False

    given: dict[str, Any] = {}
    ends = set()
    for name in ("logits", "logprobs", "tokens"):
        if name in found:
            given[name], end = rows(name)
            ends.add(end)
    if len(ends) > 1:
        raise OutputsError(f"{path}: logits, logprobs and tokens: some are of all positions, some of the last alone")
    if "tokens" in given:
        given["tokens"] = tuple(int(token) for token in given["tokens"])
    steps = {name: values[number] for name, values in found.items() if name not in ("logits", "logprobs", "tokens")}
    return Given(ids, last if ends == {True} else 0, **given, steps=steps)
