"""The constructors of the graph: sums, products, quotients and powers of numbers.

Rationals are computed at once; what is named becomes a node. Each constructor keeps the promise of `number.py`: a node
exists. None of them tries to recover a rational from named numbers; `decide.recover` does, where it is asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import lcm

from flint import fmpq, fmpz

from exactformer.numbers.number import Exact, Named, Number, Undefined

ZERO, ONE = Exact(fmpq(0)), Exact(fmpq(1))
_HALF = fmpq(1, 2)
_LARGEST_POWER = 1_000_000  # bits of a rational power that is computed out


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
        raise ZeroDivisionError(f"division by {display.short(b)}, which is proved to be zero")
    if type(a) is Exact:
        return ZERO if a.value == 0 else Named("div", (a, b), None, _sign(a.value) * sign)
    assert type(a) is Named
    return Named("div", (a, b), None, a.known * sign)


def power(a: Number, exponent: Number) -> Number:
    """a ** exponent: any real base for integers, a base that is proved not negative otherwise."""
    if type(a) is Undefined or type(exponent) is Undefined:
        return a if type(a) is Undefined else exponent
    if type(exponent) is Named:
        return functions.exp(multiply(exponent, functions.log(a)))
    assert type(exponent) is Exact
    r = exponent.value
    if r == 0:
        return ONE
    if r == 1:
        return a
    if type(a) is Exact:
        return _rational_power(a, r)
    assert type(a) is Named
    if r.q == 1 and r > 0:
        return Named("pow", (a,), r, a.known if r.p % 2 else abs(a.known))
    sign = decide.sign(a)
    if sign == 0:
        return _power_of_zero(r)
    if sign < 0 and r.q != 1:
        raise ValueError(f"{display.short(a)} is negative and has no real power {r}")
    return Named("pow", (a,), r, sign if r.p % 2 else 1)


def _rational_power(a: Exact, r: fmpq) -> Number:
    if a.value == 0:
        return _power_of_zero(r)
    if r.q == 1:
        if abs(int(r.p)) * a.value.height_bits() > _LARGEST_POWER:
            raise ValueError(f"a rational to the power {r} is too large to compute out")
        return Exact(a.value ** int(r.p), a.recovered)
    if a.value < 0:
        raise ValueError(f"{display.short(a)} is negative and has no real power {r}")
    if a.value == 1:
        return a
    root = _exact_root(a.value, int(r.q))
    if root is not None:
        return _rational_power(Exact(root, a.recovered), fmpq(r.p))
    if r == _HALF:
        outside, inside = _square_part(a.value)
        if outside != 1:
            return combination((outside,), (Named("pow", (Exact(inside),), r, 1),))
    return Named("pow", (a,), r, 1)


def _power_of_zero(r: fmpq) -> Number:
    if r < 0:
        raise ZeroDivisionError("zero to a negative power")
    return ZERO


def _exact_root(value: fmpq, degree: int) -> fmpq | None:
    """The rational whose power `degree` is `value`, if there is one."""
    if degree > 64:
        return None
    parts = []
    for part in (value.p, value.q):
        root = part.root(degree)
        if root**degree != part:
            return None
        parts.append(root)
    return fmpq(*parts)


def _square_part(value: fmpq) -> tuple[fmpq, fmpq]:
    """s, m with value = s²·m and m free of squares (as far as small factors show)."""
    outside, inside = fmpq(1), value
    for part, direction in ((value.p, 1), (value.q, -1)):
        for prime, exponent in factors(part):
            outside *= fmpq(prime) ** (direction * (exponent // 2))
    return outside, inside / outside**2


def factors(n: fmpz) -> list[tuple[fmpz, int]]:
    """Prime factors of an integer that is small enough to be factored at once; a large one is left whole."""
    return [(p, int(e)) for p, e in n.factor()] if n.height_bits() <= 64 else [(n, 1)]


def _sign(value: fmpq | int) -> int:
    return (value > 0) - (value < 0)


from exactformer.numbers import decide, display, functions  # noqa: E402
