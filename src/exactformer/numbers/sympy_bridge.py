"""To SymPy and back (extra `exactformer[sympy]`), for those who want to go on there."""

from __future__ import annotations

from typing import Any

from flint import fmpq

from exactformer.messages import NotInstalled
from exactformer.numbers import functions
from exactformer.numbers.errors import UndefinedValue
from exactformer.numbers.nodes import Exact, Named, Number, nodes_below
from exactformer.numbers.parse import exact

_LARGEST = 5_000  # nodes: SymPy writes shared parts out, and slows down


def to_sympy(x: Number) -> Any:
    """The SymPy expression of a number, as it was computed.

    >>> from exactformer.numbers import exp
    >>> to_sympy(exp(1) / (exp(1) + exp(2)))
    E/(E + exp(2))
    """
    sympy = _package()
    if isinstance(x, Exact):
        return sympy.Rational(int(x.value.p), int(x.value.q))
    if not isinstance(x, Named):
        raise UndefinedValue(f"undefined: {getattr(x, 'why', x)}")
    order: dict[int, Named] = {}
    for node in nodes_below(x, order):
        order[id(node)] = node
    if len(order) > _LARGEST:
        raise ValueError(f"a closed form of {len(order):,} operations is too long for SymPy ({_LARGEST:,})")
    done: dict[int, Any] = {}
    for node in order.values():
        args = [done[id(a)] if isinstance(a, Named) else to_sympy(a) for a in node.args]
        done[id(node)] = _operation(sympy, node, args)
    return done[id(x)]


def _package() -> Any:
    try:
        import sympy
    except ImportError:
        raise NotInstalled("SymPy is not installed", "sympy") from None
    return sympy


def _operation(sympy: Any, node: Named, args: list[Any]) -> Any:
    match node.op:
        case "lin":
            integers, constant, denominator = node.data
            return sympy.Add(constant, *(c * x for c, x in zip(integers, args, strict=True))) / denominator
        case "dot":
            half = len(args) // 2
            return sympy.Add(*(x * y for x, y in zip(args[:half], args[half:], strict=True)))
        case "div":
            return args[0] / args[1]
        case "pow":
            return args[0] ** sympy.Rational(int(node.data.p), int(node.data.q))
        case "pi":
            return sympy.pi
        case op:
            return getattr(sympy, op)(args[0])


def from_sympy(expression: Any) -> Number:
    """The number that a SymPy expression denotes. Floats, free symbols and other functions are refused.

    >>> import sympy
    >>> from_sympy(sympy.sqrt(2) * sympy.exp(sympy.Rational(1, 2)))
    <e^(1/2)·√2>
    """
    sympy = _package()
    done: dict[Any, Number] = {}
    for node in sympy.postorder_traversal(sympy.sympify(expression)):
        if node not in done:
            done[node] = _number(sympy, node, [done[arg] for arg in node.args])
    return done[sympy.sympify(expression)]


def _number(sympy: Any, node: Any, args: list[Number]) -> Number:
    if node.is_Rational:
        return exact(fmpq(int(node.p), int(node.q)))
    if node is sympy.pi:
        return functions.pi()
    if node is sympy.E:
        return functions.exp(1)
    if node.is_Add or node.is_Mul:
        result = args[0]
        for arg in args[1:]:
            result = result + arg if node.is_Add else result * arg
        return result
    if isinstance(node, sympy.exp):
        return functions.exp(args[0])
    if node.is_Pow:
        return args[0] ** args[1]
    name = type(node).__name__
    if name in ("log", "sin", "cos", "tanh", "erf", "erfc"):
        function: Number = getattr(functions, name)(args[0])
        return function
    raise ValueError(f"{node} is not a closed form over rationals, exp, log, roots, sin, cos, tanh, erf and π")
