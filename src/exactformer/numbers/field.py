"""The constructors of the graph: sums, products and quotients of numbers.

Rationals are computed at once; what is named becomes a node. Each constructor keeps the promise of `nodes.py`: a node
exists. None of them tries to recover a rational from named numbers; `decide.recover` does, where it is asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import lcm

from flint import fmpq

from exactformer.numbers import decide
from exactformer.numbers.as_written import brief
from exactformer.numbers.nodes import Exact, Named, Number, Undefined

ZERO, ONE = Exact(fmpq(0)), Exact(fmpq(1))


def add(a: Number, b: Number) -> Number:
    if type(a) is Exact:
        if type(b) is Exact:
            return Exact(a.value + b.value, a.recovered or b.recovered)
        a, b = b, a
    return _shifted(a, b, 1)


def subtract(a: Number, b: Number) -> Number:
    if type(a) is Exact:
        if type(b) is Exact:
            return Exact(a.value - b.value, a.recovered or b.recovered)
        return combination((fmpq(1), fmpq(-1)), (a, b))
    return _shifted(a, b, -1)


def _shifted(a: Number, b: Number, direction: int) -> Number:
    """a ± b for an `a` that is not exact: what `combination` gives, without its generality."""
    if type(a) is not Named:
        return a
    if type(b) is Named:
        return linear_node((1, direction), (a, b), 0, 1)
    if type(b) is not Exact:
        return b
    if b.value == 0:
        return a
    denominator = int(b.value.q)
    return linear_node((denominator,), (a,), direction * int(b.value.p), denominator)


def negate(a: Number) -> Number:
    if type(a) is Exact:
        return Exact(-a.value, a.recovered)
    return combination((fmpq(-1),), (a,))


def multiply(a: Number, b: Number) -> Number:
    if type(b) is Exact:
        a, b = b, a
    if type(a) is Exact:
        if type(b) is Exact:
            return Exact(a.value * b.value, a.recovered or b.recovered)
        if a.value == 1 or type(b) is not Named:
            return b
        if a.value == 0:
            return ZERO
        return linear_node((int(a.value.p),), (b,), 0, int(a.value.q))
    if type(a) is Named and type(b) is Named:
        return Named("dot", (a, b), None, a.known * b.known)
    return dot((a,), (b,))


def total(terms: Iterable[Number]) -> Number:
    """x1 + … + xn as one node."""
    terms = tuple(terms)
    if len(terms) > 1 and all(type(x) is Named for x in terms):
        return linear_node((1,) * len(terms), terms, 0, 1)  # type: ignore[arg-type]
    return combination((fmpq(1),) * len(terms), terms)


def combination(coefficients: Sequence[fmpq], terms: Sequence[Number]) -> Number:
    """c1·x1 + … + cn·xn as one node; the rational terms go into its constant."""
    constant, kept, named, recovered = fmpq(0), [], [], False
    for c, x in zip(coefficients, terms, strict=True):
        if type(x) is Exact:
            constant += c * x.value
            recovered = recovered or x.recovered
        elif type(x) is Named:
            if c != 0:
                kept.append(c)
                named.append(x)
        else:
            return x
    if not named:
        return Exact(constant, recovered)
    if len(named) == 1 and kept[0] == 1 and constant == 0:
        return named[0]
    denominator = lcm(int(constant.q), *(int(c.q) for c in kept))
    integers = tuple(int(c * denominator) for c in kept)
    return linear_node(integers, tuple(named), int(constant * denominator), denominator)


def linear_node(integers: tuple[int, ...], named: tuple[Named, ...], constant: int, denominator: int) -> Named:
    """(constant + Σ integers·named) / denominator, as it stands."""
    sign = _sign(constant)
    for c, x in zip(integers, named, strict=True):
        s = x.known if c > 0 else -x.known
        if s == 0 or s == -sign:
            sign = 0
            break
        sign = s
    return Named("lin", named, (integers, constant, denominator), sign)


def dot(xs: Sequence[Number], ys: Sequence[Number]) -> Number:
    """x1·y1 + … + xn·yn: one node for the products of named numbers, one for the rest."""
    left: list[Named] = []
    right: list[Named] = []
    coefficients: list[fmpq] = []
    terms: list[Number] = []
    for x, y in zip(xs, ys, strict=True):
        if type(x) is Named and type(y) is Named:
            left.append(x)
            right.append(y)
        elif type(x) is Exact:
            coefficients.append(x.value)
            terms.append(y if not x.recovered or type(y) is not Exact else Exact(y.value, True))
        elif type(y) is Exact:
            coefficients.append(y.value)
            terms.append(x)
        else:
            return x if type(x) is Undefined else y
    if not left:
        return combination(coefficients, terms)
    signs = {x.known * y.known for x, y in zip(left, right, strict=True)}
    products = Named("dot", (*left, *right), None, signs.pop() if len(signs) == 1 else 0)
    if not terms:
        return products
    return combination([*coefficients, fmpq(1)], [*terms, products])


def divide(a: Number, b: Number) -> Number:
    if type(b) is Exact:
        if b.value == 0:
            raise ZeroDivisionError("division by zero")
        if type(a) is Exact:
            return Exact(a.value / b.value, a.recovered or b.recovered)
        return combination((1 / b.value,), (a,))
    if type(a) is Undefined or type(b) is not Named:
        return a if type(a) is Undefined else b
    sign = decide.sign(b)
    if sign == 0:
        raise ZeroDivisionError(f"division by {brief(b)}, which is proved to be zero")
    if type(a) is Exact:
        return ZERO if a.value == 0 else Named("div", (a, b), None, _sign(a.value) * sign)
    assert type(a) is Named
    return Named("div", (a, b), None, a.known * sign)


def _sign(value: fmpq | int) -> int:
    return (value > 0) - (value < 0)
