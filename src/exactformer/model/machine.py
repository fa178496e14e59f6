"""Are floats what proofs take them for: rounded to nearest, ties to even, and kept where they are small?

Both are settings of each thread, which any library may change: the rounding mode (`fesetround`), and whether floats below
2^−1022 are taken for 0 (FTZ, DAZ). So they are looked at before every pass that proves something, in the thread that computes it
and, with `blas`, in all threads that BLAS splits a product over. The expected results are bit patterns, not computed here.
"""

from __future__ import annotations

import functools
import math
import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from exactformer.model.fields import ConfigError

_SMALLEST_SPLIT = 1_250_000  # products of a matrix product that BLAS spreads over its threads, whatever its kernels
_ROWS = 32  # that a thread is given at least, however many threads there are


class MachineError(ConfigError):
    """Floats that are not rounded to nearest, or not kept: nothing that is computed with them is proved."""

    def __init__(self, problem: str) -> None:
        super().__init__("the machine", f"{problem}; nothing can be proved here")

    def __reduce__(self) -> tuple[type[MachineError], tuple[str]]:
        return MachineError, (self.problem.removesuffix("; nothing can be proved here"),)


def _floats(*patterns: int) -> Any:
    return np.array(patterns, dtype=np.uint64).view(np.float64)


_MINUS = 1 << 63
_ONE, _NEXT, _SECOND = 0x3FF << 52, (0x3FF << 52) + 1, (0x3FF << 52) + 2  # 1, 1 + 2^−52, 1 + 2^−51
_HALF_UNIT = 0x3CA << 52  # 2^−53
_LEAST = 1  # 2^−1074
_NORMAL = 1 << 52  # 2^−1022

# x, y and x + y: halfway between two floats, both ways and with both signs; a little beyond half, which must not be rounded twice
_SUMS = (
    _floats(_ONE, _ONE | _MINUS, _NEXT, _NEXT | _MINUS, _ONE, _ONE | _MINUS),
    _floats(_HALF_UNIT, _HALF_UNIT | _MINUS, _HALF_UNIT, _HALF_UNIT | _MINUS, _HALF_UNIT + 1, (_HALF_UNIT + 1) | _MINUS),
    _floats(_ONE, _ONE | _MINUS, _SECOND, _SECOND | _MINUS, _NEXT, _NEXT | _MINUS),
)
_SMALL_SUMS = (
    _floats(_LEAST, _NORMAL, _LEAST | _MINUS, _NORMAL),
    _floats(_LEAST, _LEAST | _MINUS, 0, _NORMAL - 1),
    _floats(_LEAST + 1, _NORMAL - 1, _LEAST | _MINUS, 2 * _NORMAL - 1),
)
_SMALL_PRODUCTS = (
    _floats(_NORMAL, _LEAST, (1023 - 537) << 52, _NORMAL | _MINUS),
    _floats((1023 - 1) << 52, (1023 + 1000) << 52, (1023 - 537) << 52, (1023 - 52) << 52),
    _floats(_NORMAL >> 1, (1023 - 74) << 52, _LEAST, _LEAST | _MINUS),
)
_TENTHS = (_floats(_ONE, _ONE | _MINUS, _ONE, _ONE | _MINUS), np.array([10.0, 10.0, 3.0, 3.0]))
_QUOTIENTS = _floats(0x3FB999999999999A, 0x3FB999999999999A | _MINUS, 0x3FD5555555555555, 0x3FD5555555555555 | _MINUS)
_ROOTS = np.array([2.0, 3.0]), _floats(0x3FF6A09E667F3BCD, 0x3FFBB67AE8584CAA)
_HALVES = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5]), np.array([0.0, 2.0, 2.0, -0.0, -2.0, -2.0])
_SHORT = np.array([1, 1 << 31 | 1], dtype=np.uint32).view(np.float32), _floats((1023 - 149) << 52, (1023 - 149) << 52 | _MINUS)

_GLANCE = tuple(_floats(_ONE, _HALF_UNIT, _NEXT, _SECOND, _NORMAL, (1023 - 2) << 52).tolist())


def check(blas: bool = False) -> None:
    """Refuse a thread, or threads of BLAS, whose floats are not what proofs take them for.

    >>> check(blas=True)
    """
    if not _nearest():
        raise MachineError("floats are not rounded to nearest in this thread (a library has changed its rounding mode)")
    if not _kept():
        raise MachineError("floats below 2^-1022 are taken for 0 in this thread (a library has set FTZ or DAZ)")
    if blas:
        a, b, expected = _product(os.cpu_count() or 1)
        if (a @ b).tobytes() != expected:
            raise MachineError("a thread of BLAS rounds otherwise than to nearest, or takes floats below 2^-1022 for 0")


def glance() -> None:
    """`check` in a microsecond, of this thread alone: for the middle of a pass, after code of others was called."""
    one, half, following, second, normal, quarter = _GLANCE
    if one + half != one or following + half != second or not normal * quarter:
        check()


def _nearest() -> bool:
    return (
        _both(operator.add, *_SUMS)
        and _same(np.divide(*_TENTHS), _QUOTIENTS)
        and _same(np.sqrt(_ROOTS[0]), _ROOTS[1])
        and _same(np.rint(_HALVES[0]), _HALVES[1])
    )


def _kept() -> bool:
    return (
        _both(operator.add, *_SMALL_SUMS)
        and _both(operator.mul, *_SMALL_PRODUCTS)
        and _same(_SHORT[0].astype(np.float64), _SHORT[1])
    )


def _both(operation: Callable[[Any, Any], Any], x: Any, y: Any, expected: Any) -> bool:
    """In NumPy, and in Python."""
    return _same(operation(x, y), expected) and _same(np.array(list(map(operation, x.tolist(), y.tolist()))), expected)


def _same(x: Any, y: Any) -> bool:
    """Byte by byte: with DAZ, 2^−1074 == 0."""
    return bool(x.tobytes() == y.tobytes())


@functools.cache
def _product(threads: int) -> tuple[Any, Any, bytes]:
    """Two matrices and the bytes of their product, in which whatever part a thread computes shows how it does.

    Four rows by turns: 1 + 2^−53, which is 1; 1 + 2^−52 + 2^−53, which is 1 + 2^−51; a product of 2^−1074; and two with factors
    of 2^−1074, whose sum is 2^−73. Each has two terms at most, so that the order of summation does not matter, nor FMA.
    """
    rows, columns = max(2, threads) * _ROWS, 4 * _ROWS
    inner = max(5, math.ceil(_SMALLEST_SPLIT / (rows * columns)))
    a, b = np.zeros((rows, inner)), np.zeros((inner, columns))
    half = (1023 - 27) << 52
    a[0::4, :2], a[1::4, :2] = _floats(_ONE, half), _floats(_NEXT, half)
    a[2::4, 2] = _floats((1023 - 537) << 52)
    a[3::4, 3:5] = _floats(_LEAST, (1023 + 1000) << 52)
    b[:5] = _floats(_ONE, (1023 - 26) << 52, (1023 - 537) << 52, (1023 + 1000) << 52, _LEAST)[:, None]
    product = np.empty((rows, columns))
    product[:] = np.tile(_floats(_ONE, _SECOND, _LEAST, (1023 - 73) << 52), rows // 4)[:, None]
    return a, b, product.tobytes()
