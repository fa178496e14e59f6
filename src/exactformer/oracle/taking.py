"""Arrays of others: NumPy's, with ml_dtypes' bfloat16, and whatever speaks DLPack, such as torch. All become float64, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from exactformer.messages import quoted
from exactformer.numbers.formats import BFLOAT16, Format, brain_floats
from exactformer.oracle.formats import OracleError, format_of

MOST = 2**28  # entries of an array: 2 GB of float64


def taken(x: Any, argument: str) -> tuple[Any, Format]:
    """The numbers of an array in float64, and the format that they came in.

    >>> taken(np.float16([1, 2.5]), "x")
    (array([1. , 2.5]), Format(name='float16', precision=11, least=-14, largest=15))
    """
    array = _numpy(x, argument)
    if isinstance(array, tuple):  # the bits of bfloat16
        bits, form = array[0], BFLOAT16
        _check_size(bits, argument)
        return brain_floats(bits).astype(np.float64), form
    form = format_of(array.dtype, argument)
    _check_size(array, argument)
    if form is BFLOAT16:
        return brain_floats(np.ascontiguousarray(array).view(np.uint16)).astype(np.float64), form
    short = array.astype(np.float32) if form.precision < 24 else array  # on the way: that is faster
    return np.ascontiguousarray(short, dtype=np.float64).reshape(array.shape), form


def _check_size(array: Any, argument: str) -> None:
    if array.size > MOST:
        raise OracleError(argument, f"has {array.size:,} entries; at most {MOST:,} are taken")


def _numpy(x: Any, argument: str) -> Any:
    """A NumPy array; or the bits of bfloat16 as a tuple of one array of 16-bit integers."""
    if isinstance(x, np.ma.MaskedArray):
        raise OracleError(argument, "a masked array is not supported")
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x)
    if not hasattr(x, "__dlpack__"):
        raise OracleError(argument, f"{type(x).__name__} is not supported: give a NumPy array or a tensor that speaks DLPack")
    x = x.detach() if hasattr(x, "detach") else x  # a tensor that is differentiated hands nothing over
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as refusal:  # NumPy takes no bfloat16: its bits, then, as integers
        if "bfloat16" not in str(getattr(x, "dtype", "")):
            raise OracleError(argument, f"cannot be read through DLPack: {quoted(str(refusal))}") from None
        return (_bits(x, argument).view(np.uint16),)


def _bits(x: Any, argument: str) -> Any:
    """bfloat16 as 16-bit integers: the array's own view of itself."""
    if type(x).__module__.partition(".")[0] == "torch":
        import sys

        x = x.view(sys.modules["torch"].int16)
    elif hasattr(x, "view"):
        x = x.view("int16")
    try:
        return np.ascontiguousarray(np.from_dlpack(x))
    except (BufferError, RuntimeError, TypeError, ValueError) as refusal:
        raise OracleError(argument, f"cannot be read through DLPack: {quoted(str(refusal))}") from None


def real(value: Any, argument: str) -> Fraction:
    """A number that is given by itself: a float is the rational that it is, a text is the decimal or quotient that it writes.

    >>> real(0.1, "eps") == real("0.1", "eps"), real("1e-5", "eps")
    (False, Fraction(1, 100000))
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction | np.floating):
            raise ValueError
        if isinstance(value, str) and ("_" in value or len(value) > 60 or not _modest(value)):
            raise ValueError
        q = Fraction(value if isinstance(value, int | str | Fraction) else float(value))
    except (ValueError, OverflowError, ZeroDivisionError):
        raise OracleError(argument, f"{quoted(value)} is not a finite number") from None
    if q and not Fraction(1, 2**1100) <= abs(q) <= 2**1100:
        raise OracleError(argument, "is beyond all floats")
    return q


def _modest(text: str) -> bool:
    """An exponent of at most three digits: 1e999999999 would take all memory."""
    return len(text.lower().partition("e")[2].lstrip("+-")) <= 3


def ball(q: Fraction) -> arb:
    """A ball around a rational, in the precision of the moment."""
    return arb(fmpq(q.numerator, q.denominator))


def integers(x: Any, argument: str) -> Any:
    """An array of whole numbers, such as classes or positions."""
    array = np.asarray(x) if isinstance(x, list | tuple | range | int) else _numpy(x, argument)
    if isinstance(array, tuple) or not np.issubdtype(array.dtype, np.integer):
        raise OracleError(argument, "are not whole numbers")
    _check_size(array, argument)
    return array.astype(np.int64)


def boolean(x: Any) -> Any:
    """An array of truth values; None if it has others."""
    if not isinstance(x, np.ndarray):
        if "bool" not in str(getattr(x, "dtype", "")) or not hasattr(x, "__dlpack__"):
            return None
        x = np.from_dlpack(x)
    return x if x.dtype == bool else None
