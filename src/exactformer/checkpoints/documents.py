"""Strict JSON: of bounded size, without repeated keys, decimals kept as they are written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from exactformer.checkpoints.errors import CheckpointError, shown

LARGEST = 1 << 20  # bytes: three times what a GPT-2 of 200 blocks needs, and too little to fill memory with


class Decimal(str):
    """A decimal as the file writes it: 1e-05 is 1/100000, and not the float next to it."""

    __slots__ = ()


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read: a pipe or a device, which might never answer, is none."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise CheckpointError(path, "is not a file")
    except OSError as error:
        raise CheckpointError(path, error.strerror or "cannot be read") from None
    return os.fdopen(handle, "rb")


def read_document(path: Path) -> dict[str, Any]:
    """The table that a JSON file holds."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            raise CheckpointError(path, f"is longer than {LARGEST:,} bytes")
        return parse(file.read(size), path)


def parse(data: bytes, path: Path, what: str = "") -> dict[str, Any]:
    """The table that `data` is; `what` names the part of the file that it comes from."""
    where = (path, what) if what else (path,)
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_table, parse_float=Decimal, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise CheckpointError(*where, "is not UTF-8") from None
    except RecursionError:
        raise CheckpointError(*where, "is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise CheckpointError(*where, f"is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except ValueError as error:  # a repeated key, NaN, or an integer of thousands of digits
        raise CheckpointError(*where, str(error)) from None
    if not isinstance(document, dict):
        raise CheckpointError(*where, "is not a table")
    return document


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"has {shown(key)} twice")
        table[key] = value
    return table


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number to compute with")
