"""What the methods of a number do: `nodes.py` declares it (`Operators`), and `__init__.py` hands this module to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactformer.numbers import field, order, powers
from exactformer.numbers.decide import recover, sign
from exactformer.numbers.definitions import Symbols
from exactformer.numbers.digits import digits, nearest_float
from exactformer.numbers.display import latex, simplified, written, written_latex
from exactformer.numbers.enclosure import enclose
from exactformer.numbers.field import negate
from exactformer.numbers.functions import cos, exp, log, sin, tanh
from exactformer.numbers.nodes import Definitions, Number, refuse_undefined
from exactformer.numbers.parse import as_number
from exactformer.numbers.powers import sqrt
from exactformer.numbers.rounding import formatted, rounded

__all__ = [
    "add", "compare", "cos", "define", "digits", "divide", "enclose", "exp", "formatted", "latex", "log", "multiply",
    "nearest_float", "negate", "power", "rounded", "sign", "simplified", "sin", "sqrt", "subtract", "tanh", "written",
    "written_latex",
]  # fmt: skip


def _operator(operation: Callable[[Number, Number], Number]) -> Callable[[Any, Any], Number]:
    """The operation on anything that is taken for a number; its result is a rational where algebra proves one."""

    def operator(a: Any, b: Any) -> Number:
        left, right = as_number(a), as_number(b)
        if left is None or right is None:
            return NotImplemented  # type: ignore[no-any-return]
        return recover(operation(left, right))

    return operator


add, subtract, multiply = _operator(field.add), _operator(field.subtract), _operator(field.multiply)
divide, power = _operator(field.divide), _operator(powers.power)


def compare(a: Number, b: object, verdict: Callable[[int, int], bool]) -> bool:
    """What `verdict` says of the sign of a - b and 0."""
    other = as_number(b)
    if other is None:
        return NotImplemented  # type: ignore[no-any-return]
    refuse_undefined(a)
    refuse_undefined(other)
    return verdict(order.compare(a, other), 0)


def define(x: Number) -> Definitions:
    return Symbols().define(x)
