"""The formats that inputs and outputs have, as NumPy knows them: bfloat16 is a package of its own there."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.messages import Refused
from exactformer.numbers import formats
from exactformer.numbers.formats import BFLOAT16, Format


class OracleError(Refused):
    """An argument of an operation that is refused: which one, and why."""


def dtype_of(format: Format) -> Any:
    """NumPy's type of a format."""
    return brain_dtype() if format is BFLOAT16 else np.dtype(format.name)


def packed(format: Format, x: Any) -> Any:
    """float64 numbers that the format has, as an array of it. Through float32, which has them all: that is faster."""
    if format.wide:
        return x
    short, dtype = x.astype(np.float32), dtype_of(format)
    return (short.view(np.uint32) >> 16).astype(np.uint16).view(dtype) if format is BFLOAT16 else short.astype(dtype)


def brain_dtype() -> Any:
    from ml_dtypes import bfloat16

    return np.dtype(bfloat16)


def format_of(dtype: Any, argument: str) -> Format:
    """
    >>> format_of(np.float16, "x").precision, format_of("bfloat16", "dtype").name
    (11, 'bfloat16')
    """
    name = str(dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype))
    return formats.format_of(name.removeprefix("torch."), argument, OracleError)
