"""The arithmetics `float16` and `bfloat16`: what careful code does in 16 bits. Nothing is proved.

Sums are taken in float32 and rounded once, as processors with such floats do; a norm and a softmax are computed in float32 from
their first line to their last; every other result is rounded, and so are all weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from exactformer.model.arithmetics.floats import FloatArithmetic, Floats
from exactformer.numbers import Number
from exactformer.numbers.formats import FORMATS

_ROUNDED = (
    "add", "linear", "project", "scores", "scale", "softmax", "mix", "merge", "normalise", "activate", "tanh", "times", "subtract",
    "product", "over", "total", "scatter", "slope",
)  # fmt: skip


def _rounding(kind: type[NarrowArithmetic]) -> type[NarrowArithmetic]:
    """Every result that is stored is rounded when it is whole."""
    for name in _ROUNDED:
        setattr(kind, name, _rounded(getattr(kind, name)))
    return kind


def _rounded(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def apply(self: NarrowArithmetic, *arguments: Any) -> Any:
        return self.narrowed(method(self, *arguments))

    return apply


@_rounding
class NarrowArithmetic(FloatArithmetic):
    def __init__(self, name: str) -> None:
        super().__init__("float32")
        self.name = name
        self.format = FORMATS[name]

    def narrowed(self, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(self.format.nearest(np.asarray(x, dtype=np.float64)), dtype=np.float32)

    def holds(self, weights: Any) -> bool:
        """Floats of 32 bits are rounded as all others are."""
        return False

    def _converted(self, weights: Any) -> Floats:
        return self.narrowed(super()._converted(weights))

    def constant(self, number: Number) -> Any:
        return self.narrowed(super().constant(number))[()]
