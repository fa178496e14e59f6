"""Sinusoidal positions: named numbers, sin and cos of rational multiples of powers of 10000."""

from __future__ import annotations

import numpy as np

from exactformer.numbers import Exact, cos, exact, sin
from exactformer.numbers.arrays import Array


def sinusoidal(length: int, dim: int) -> Array:
    """Row p holds sin(p / 10000^(2i/dim)) at 2i and cos of the same at 2i + 1.

    >>> sinusoidal(2, 2)
    array([[exact('0'), exact('1')],
           [<sin(1)>, <cos(1)>]], dtype=object)
    """
    table = np.empty((length, dim), dtype=object)
    for column in range(dim):
        wavelength = exact(10000) ** Exact(exact(column - column % 2).value / dim)
        for position in range(length):
            angle = position / wavelength
            table[position, column] = cos(angle) if column % 2 else sin(angle)
    return table
