"""Balls as whoever looks at a pass meets them: numbers of which a proved enclosure is all that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import flint
import numpy as np
from flint import arb

from exactformer.numbers.arrays import Array
from exactformer.numbers.digits import agreed_digits, ball_bounds, ball_digits, ball_float, ball_fractions
from exactformer.numbers.enclosure import precision
from exactformer.numbers.errors import Undecided
from exactformer.numbers.nodes import Enclosure, Exact
from exactformer.numbers.rounding import formatted, not_proved, rounded


def _closed(name: str) -> Callable[..., Any]:
    """The operation of Arb by that name, with no fewer bits than the ball has, whose result is a ball of the same kind."""
    operation = getattr(arb, name)

    def applied(self: Enclosed, *others: Any) -> Any:
        with precision(max(flint.ctx.prec, self.bits())):
            found = operation(self, *others)
        return Enclosed(found) if isinstance(found, arb) else found  # it may be NotImplemented

    return applied


class Enclosed(arb):  # type: ignore[misc]
    """A ball that answers what exact numbers answer, with proved digits or not at all.

    >>> x = Enclosed("0.3333333 +/- 1e-7")
    >>> x, f"{x:.5f}", round(x, 3), x.digits(4), round(3 * x)
    (<0.333333>, '0.33333', exact('333/1000'), '0.3333', 1)
    >>> f"{x:.20f}"
    Traceback (most recent call last):
    exactformer.numbers.errors.Undecided: undecided: 20 decimals of a number between 0.333333199999 and 0.333333400001
    """

    __slots__ = ()

    __add__, __radd__, __sub__, __rsub__ = map(_closed, ("__add__", "__radd__", "__sub__", "__rsub__"))
    __mul__, __rmul__, __truediv__, __rtruediv__ = map(_closed, ("__mul__", "__rmul__", "__truediv__", "__rtruediv__"))
    __pow__, __rpow__, __neg__, __abs__ = map(_closed, ("__pow__", "__rpow__", "__neg__", "__abs__"))
    exp, log, sqrt, sin, cos, tanh = map(_closed, ("exp", "log", "sqrt", "sin", "cos", "tanh"))

    def enclosure(self) -> Enclosure:
        """Two rationals around the value."""
        return ball_fractions(self)

    def digits(self, n: int = 12) -> str:
        """The value correctly rounded to `n` significant decimals."""
        found = agreed_digits(self, n)
        if found is None:
            raise not_proved(f"{n} digits", self)
        return found

    def to_float(self) -> float:
        """The float64 nearest to the value, proved."""
        return ball_float(self)

    @overload
    def __round__(self) -> int: ...
    @overload
    def __round__(self, decimals: int) -> Exact: ...
    def __round__(self, decimals: int | None = None) -> int | Exact:
        return int(rounded(self, 0)) if decimals is None else rounded(self, decimals)

    def __format__(self, spec: str) -> str:
        return formatted(self, spec)

    def __str__(self) -> str:
        return ball_text(self)

    def __repr__(self) -> str:
        return f"<{self}>"


def enclosed(values: Array) -> Array:
    """An array whose balls are `Enclosed`; all else in it stays as it is, and so do arrays that are not made yet."""
    if not isinstance(values, np.ndarray) or values.dtype != object or not any(type(value) is arb for value in values.flat):
        return values
    found = np.empty(values.size, dtype=object)
    found[:] = [presented(value) for value in values.flat]
    return found.reshape(values.shape)


def presented(value: Any) -> Any:
    """A ball as an `Enclosed`; all else as it is."""
    return Enclosed(value) if type(value) is arb else value


def ball_text(b: arb, n: int = 12) -> str:
    """The digits that a ball proves, `n` at most, or its ends where it proves none.

    >>> ball_text(arb(1) / 3, 4), ball_text(arb("204 +/- 2"))
    ('0.3333', '[201, 207]')
    """
    if not b.is_finite():
        return "?"
    try:
        return ball_digits(b, n) or "[{}, {}]".format(*ball_bounds(b, 3))
    except Undecided:
        return str(arb.str(b, n))  # too small or too large to be written out
