"""What the methods of a number do: `nodes.py` declares them, and `__init__.py` hands these to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactformer.numbers import definitions, display, field, functions, powers
from exactformer.numbers.decide import recover, sign
from exactformer.numbers.digits import digits, nearest_float
from exactformer.numbers.enclosure import enclose
from exactformer.numbers.nodes import Number, Operators, refuse_undefined
from exactformer.numbers.order import compare
from exactformer.numbers.parse import as_number


def _operator(operation: Callable[[Number, Number], Number]) -> Callable[[Any, Any], Number]:
    """The operation, and the rational that its result is proved to be, if there is one."""

    def operator(a: Any, b: Any) -> Number:
        left, right = as_number(a), as_number(b)
        if left is None or right is None:
            return NotImplemented  # type: ignore[no-any-return]
        return recover(operation(left, right))

    return operator


def _compare(a: Number, b: object, verdict: Callable[[int, int], bool]) -> bool:
    other = as_number(b)
    if other is None:
        return NotImplemented  # type: ignore[no-any-return]
    refuse_undefined(a)
    refuse_undefined(other)
    return verdict(compare(a, other), 0)


OPERATORS = Operators(
    add=_operator(field.add),
    subtract=_operator(field.subtract),
    multiply=_operator(field.multiply),
    divide=_operator(field.divide),
    power=_operator(powers.power),
    negate=field.negate,
    exp=functions.exp,
    log=functions.log,
    sqrt=powers.sqrt,
    sin=functions.sin,
    cos=functions.cos,
    tanh=functions.tanh,
    sign=sign,
    compare=_compare,
    enclose=enclose,
    digits=digits,
    nearest_float=nearest_float,
    written=display.written,
    simplified=display.simplified,
    latex=display.latex,
    written_latex=display.written_latex,
    define=lambda x: definitions.Symbols().define(x),
)
