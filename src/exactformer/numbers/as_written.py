"""The closed form of a number as it was computed, not simplified: a formula, or a few words for messages."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from exactformer.numbers import formula as show
from exactformer.numbers.formula import Formula, Symbol, Value
from exactformer.numbers.nodes import Exact, Named, Number, Undefined

_Found = TypeVar("_Found")
LONGEST = 160  # nodes of a formula that is shown whole


def once(x: Number, what: str, find: Callable[[], _Found]) -> _Found:
    """What a number is shown by is asked for in many places, and remembered with it."""
    if type(x) is not Named:
        return find()
    if x.shown is None:
        x.shown = {}
    if what not in x.shown:
        x.shown[what] = find()
    return x.shown[what]  # type: ignore[no-any-return]


def brief(x: Number) -> str:
    """A few words for messages."""
    if type(x) is Undefined:
        return "an undefined value"
    plain = as_written(x)
    as_text = None if plain is None else show.text(plain)
    return as_text if as_text is not None and len(as_text) <= 60 else "a long closed form"


def as_written(x: Number) -> Formula | None:
    if type(x) is Exact:
        return Value(x.fraction) if x.origin is None else as_written(x.origin)
    if type(x) is not Named:
        return None
    return once(x, "tree", lambda: None if _size(x, LONGEST) >= LONGEST else tree(x, {}))


def _size(root: Named, limit: int) -> int:
    """The number of nodes of the formula, counted to `limit`."""
    count, stack = 0, [root]
    while stack and count < limit:
        node = stack.pop()
        count += 1 + sum(type(arg) is Exact for arg in node.args)
        stack.extend(arg for arg in node.args if type(arg) is Named)
    return count


def tree(node: Exact | Named, symbols: dict[int, Symbol]) -> Formula:
    def below(arg: Exact | Named) -> Formula:
        if type(arg) is Named and id(arg) in symbols:
            return symbols[id(arg)]
        return tree(arg, symbols)

    if type(node) is Exact:
        return Value(node.fraction)
    assert type(node) is Named
    return operation(node, [below(arg) for arg in node.args])


def operation(node: Named, args: list[Formula]) -> Formula:
    match node.op:
        case "lin":
            integers, constant, denominator = node.data
            terms = [show.product([Value(Fraction(c)), x]) for c, x in zip(integers, args, strict=True)]
            if len(terms) == 1 and constant == 0:
                return show.product([Value(Fraction(integers[0], denominator)), args[0]])
            if constant:
                terms.insert(0 if constant > 0 else len(terms), Value(Fraction(constant)))
            return show.quotient(show.total(terms), Value(Fraction(denominator)))
        case "dot":
            half = len(args) // 2
            return show.total([show.product([x, y]) for x, y in zip(args[:half], args[half:], strict=True)])
        case "div":
            return show.quotient(*args) if args[1] != show.ONE else args[0]
        case "pow":
            exponent = Fraction(int(node.data.p), int(node.data.q))
            if exponent < 0:
                return show.Quotient(show.ONE, show.Power(args[0], -exponent) if exponent != -1 else args[0])
            return show.Power(args[0], exponent)
        case "exp" if isinstance(args[0], Value):
            return show.Power(show.E_SYMBOL, args[0].value)
        case "pi":
            return show.PI_SYMBOL
        case op:
            return show.Function(op, args[0])
