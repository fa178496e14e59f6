"""The operations once more, by mpmath in many digits and plain loops, and correct rounding by fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
from mpmath import mp, mpf

DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
_SHAPES = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127), "float32": (24, -126, 127), "float64": (53, -1022, 1023)}


def rounded(value: mpf, dtype: Any) -> float:
    """To nearest, ties to even, from a value whose last digits are never needed to tell a tie."""
    precision, least, largest = _SHAPES[np.dtype(dtype).name]
    sign, mantissa, exponent, _ = value._mpf_
    if not mantissa:
        return 0.0
    if exponent < -60_000:
        return 0.0
    q = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    e = int(mantissa).bit_length() + int(exponent) - 1
    unit = Fraction(2) ** (max(e, least) - precision + 1)
    found = round(q / unit) * unit
    result = float("inf") if found >= Fraction(2) ** (largest + 1) else float(found)
    return -result if sign else result


def exp(x: Any) -> Any:
    """0 in place of what is below every format."""
    return mpmath.exp(x) if x > -5000 else mpf(0)


def numbers(x: Any) -> Any:
    return np.array([mpf(float(v)) for v in np.ravel(np.asarray(x, dtype=np.float64))], dtype=object).reshape(np.shape(x))


def expected(values: Any, dtype: Any) -> Any:
    flat = [rounded(v, dtype) for v in np.ravel(values)]
    return np.array(flat, dtype=np.float64).reshape(np.shape(values))


def softmax_row(x: list[Any], seen: list[bool] | None = None) -> list[Any]:
    seen = seen or [True] * len(x)
    top = max(v for v, s in zip(x, seen, strict=True) if s)
    powers = [exp(v - top) if s else mpf(0) for v, s in zip(x, seen, strict=True)]
    total = mpmath.fsum(powers)
    return [p / total for p in powers]


def by_rows(row: Callable[[list[Any]], list[Any]]) -> Callable[[Any], Any]:
    return lambda x: np.array([row(list(r)) for r in numbers(x)], dtype=object)


def log_softmax_row(x: list[Any]) -> list[Any]:
    top = max(x)
    rest = mpmath.log(mpmath.fsum(exp(v - top) for v in x))
    beyond = 1 + mpf(2) ** -1100 if len(x) > 1 and not rest else 1  # what the logarithm is too small to show
    return [(v - top - rest) * beyond for v in x]


def layer_norm_row(x: list[Any], eps: Any) -> list[Any]:
    mean = mpmath.fsum(x) / len(x)
    root = mpmath.sqrt(mpmath.fsum((v - mean) ** 2 for v in x) / len(x) + eps)
    return [(v - mean) / root for v in x]


def rms_norm_row(x: list[Any], eps: Any) -> list[Any]:
    root = mpmath.sqrt(mpmath.fsum(v * v for v in x) / len(x) + eps)
    return [v / root for v in x]


def each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.array([function(v) for v in np.ravel(numbers(x))], dtype=object).reshape(np.shape(x))


def gelu(x: Any) -> Any:
    if abs(x) > 60:
        return max(x, mpf(0))
    return x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def gelu_tanh(x: Any) -> Any:
    y = mpmath.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)
    return silu_of(x, 2 * y)


def silu(x: Any) -> Any:
    return silu_of(x, x)


def silu_of(x: Any, y: Any) -> Any:
    return x / (1 + mpmath.exp(-y)) if abs(y) < 5000 else max(x, mpf(0))


def attention(q: Any, k: Any, v: Any, seen: Any, added: Any = None, scale: Any = None, softcap: Any = None) -> Any:
    """Of one head: [T, d], [S, d], [S, e], [T, S]."""
    q, k, v = numbers(q), numbers(k), numbers(v)
    scale = 1 / mpmath.sqrt(q.shape[1]) if scale is None else scale
    out = np.empty((len(q), v.shape[1]), dtype=object)
    for t in range(len(q)):
        scores = [mpmath.fdot(zip(q[t], row, strict=True)) * scale for row in k]
        scores = scores if softcap is None else [softcap * mpmath.tanh(s / softcap) for s in scores]
        scores = scores if added is None else [s + mpf(float(a)) for s, a in zip(scores, added[t], strict=True)]
        weights = softmax_row(scores, list(seen[t]))
        for c in range(v.shape[1]):
            out[t, c] = mpmath.fdot(zip(weights, v[:, c], strict=True))
    return out
