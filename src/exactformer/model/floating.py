"""Arrays of exact numbers, of balls or of floats as arrays of float64: to each number the nearest one, proved."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.fields import Array
from exactformer.numbers import Number, Undecided, Undefined
from exactformer.numbers.digits import ball_float


def nearest_floats(values: Array) -> Array:
    """The float64 nearest to each entry. What is hidden is −∞; where there is no number, NaN.

    Nothing is guessed: what is not decided, and a ball that proves no float64, is `Undecided`.

    >>> from exactformer.numbers import array, exp
    >>> nearest_floats(array([1, "1/3", exp(1)]))
    array([1.        , 0.33333333, 2.71828183])
    """
    values = np.asarray(values)
    if values.dtype != object:
        return values.astype(np.float64)
    return np.array([_nearest(value) for value in values.flat], dtype=np.float64).reshape(values.shape)


def _nearest(value: Any) -> float:
    if value is MASKED:
        return -np.inf
    if isinstance(value, Undefined):
        if value.undecided:
            raise Undecided(f"a float64: {value.why}", 0)
        return np.nan
    if isinstance(value, Number):
        return value.to_float()
    if isinstance(value, arb):
        return ball_float(value)
    if isinstance(value, float | int | np.floating):
        return float(value)
    raise TypeError(f"{value!r} is not a number")
