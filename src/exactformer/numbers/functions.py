"""exp, log, sin, cos, tanh, erf, erfc and π of exact-or-named numbers.

Values that are rational by definition (exp 0, log 1) come out as rationals; so does what algebra proves,
such as log(exp(x)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactformer.numbers import decide
from exactformer.numbers.as_written import brief
from exactformer.numbers.field import ONE, ZERO
from exactformer.numbers.nodes import Exact, Named, Number, Undefined
from exactformer.numbers.parse import required


def _entire(op: str, at_zero: Exact, sign: Callable[[int], int]) -> Callable[[Any], Number]:
    """A function defined on all reals, with its value at 0 and what the sign of x says of its sign."""

    def function(value: Any) -> Number:
        x = required(value)
        if type(x) is Undefined:
            return x
        if type(x) is Exact:
            if x.value == 0:
                return at_zero
            return Named(op, (x,), None, sign(1 if x.value > 0 else -1))
        assert type(x) is Named
        return decide.recover(Named(op, (x,), None, sign(x.known)))

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{op}(x) as an exact-or-named number."
    return function


def exp(value: Any) -> Number:
    """e^x.

    >>> from exactformer.numbers import exact
    >>> exp(log(exact("7/2")))
    exact('7/2')
    """
    x = required(value)
    return x.args[0] if type(x) is Named and x.op == "log" else _power_of_e(x)


_power_of_e = _entire("exp", ONE, lambda _: 1)
sin = _entire("sin", ZERO, lambda _: 0)
cos = _entire("cos", ONE, lambda _: 0)
tanh = _entire("tanh", ZERO, lambda s: s)
erf = _entire("erf", ZERO, lambda s: s)
erfc = _entire("erfc", ONE, lambda _: 1)  # 1 − erf(x), and positive however small


def log(value: Any) -> Number:
    """The natural logarithm of a number that is proved positive.

    >>> log(exp(exp(2)))
    <e^2>
    """
    x = required(value)
    if type(x) is Undefined:
        return x
    if decide.sign(x) <= 0:
        raise ValueError(f"{brief(x)} is not positive and has no logarithm")
    if type(x) is Exact:
        return ZERO if x.value == 1 else Named("log", (x,), None, 1 if x.value > 1 else -1)
    assert type(x) is Named
    if x.op == "exp":
        return x.args[0]
    return decide.recover(Named("log", (x,)))


def pi() -> Number:
    """π as a named number."""
    return Named("pi", (), None, 1)
