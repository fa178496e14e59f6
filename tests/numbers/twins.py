"""Numbers built twice: as exact-or-named numbers, and as 420-digit floats of mpmath that know nothing of them.

A recipe is a nested tuple such as ("exp", ("add", 1, "pi")). Where an operation would leave the reals (a logarithm of a
negative number, a division by zero) or the reach of 420 digits (exp of exp of 100), the recipe is read in a way that does not.
"""

from __future__ import annotations

import random
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import mpmath
from hypothesis import settings
from hypothesis import strategies as st

from exactformer import numbers as named
from exactformer.numbers import Number

mp = mpmath.mp.clone()  # a context of its own: the precision of other tests stays as it is
mp.dps = 420
CERTAIN = mp.mpf(10) ** -400  # errors of 420-digit results of small recipes stay below this
NOUGHT = mp.mpf(10) ** -200  # what is smaller than this is meant to be zero
FARTHEST = 8  # arguments of exp, tanh, erf and erfc: 1 − erf(8) is still large beside NOUGHT

UNARY = ("exp", "sqrt", "log", "sin", "cos", "tanh", "erf", "erfc", "neg", "square", "cube", "inverse")
BINARY = ("add", "sub", "mul", "div")
Recipe = Any
relaxed = settings(max_examples=100, deadline=None, derandomize=True)


class Twin(NamedTuple):
    number: Number
    value: Any  # of mpmath

    @property
    def sign(self) -> int:
        return sign(self.value)


def sign(value: Any) -> int:
    return 0 if abs(value) < NOUGHT else int(mp.sign(value))


def build(recipe: Recipe) -> Twin:
    """
    >>> x = build(("exp", ("add", 1, Fraction(1, 2))))
    >>> x.number.written, mp.nstr(x.value, 10)
    ('e^(3/2)', '4.48168907')
    """
    if recipe == "pi":
        return Twin(named.pi(), +mp.pi)
    if isinstance(recipe, int | Fraction):
        q = Fraction(recipe)
        return Twin(named.exact(q), mp.mpf(q.numerator) / q.denominator)
    op, *args = recipe
    return _unary(op, *map(build, args)) if len(args) == 1 else _binary(op, *map(build, args))


def _unary(op: str, x: Twin) -> Twin:
    number, value = x
    match op:
        case "neg":
            return Twin(-number, -value)
        case "square":
            return Twin(number**2, value**2)
        case "cube":
            return Twin(number**3, value**3)
        case "inverse":
            return Twin(1 / number, 1 / value) if x.sign else x
        case "sqrt" | "log":
            if x.sign < 0:
                number, value = -number, -value
            return Twin(getattr(named, op)(number), getattr(mp, op)(value)) if x.sign else x
        case "exp" | "tanh" | "erf" | "erfc" if abs(value) > FARTHEST:
            return x
    return Twin(getattr(named, op)(number), getattr(mp, op)(value))


def _binary(op: str, x: Twin, y: Twin) -> Twin:
    match op:
        case "add":
            return Twin(x.number + y.number, x.value + y.value)
        case "sub":
            return Twin(x.number - y.number, x.value - y.value)
        case "mul":
            return Twin(x.number * y.number, x.value * y.value)
        case "div" if y.sign:
            return Twin(x.number / y.number, x.value / y.value)
    return x


_leaves = st.just("pi") | st.integers(-9, 9) | st.fractions(-9, 9, max_denominator=12)
recipes = st.recursive(
    _leaves,
    lambda inner: st.tuples(st.sampled_from(UNARY), inner) | st.tuples(st.sampled_from(BINARY), inner, inner),
    max_leaves=4,
)
twins = recipes.map(build)


def random_recipe(rng: random.Random, depth: int) -> Recipe:
    """A recipe of at most this depth, for tests that count."""
    if depth == 0 or rng.random() < 0.1:
        return "pi" if rng.random() < 0.12 else Fraction(rng.randint(-6, 6), rng.choice([1, 1, 2, 3, 4, 10]))
    if rng.random() < 0.5:
        return rng.choice(UNARY), random_recipe(rng, depth - 1)
    return rng.choice(BINARY), random_recipe(rng, depth - 1), random_recipe(rng, depth - 1)


def samples(count: int, depth: int = 3, seed: int = 0) -> list[Twin]:
    """`count` named numbers, the same in every run."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        twin = build(random_recipe(rng, depth))
        if twin.number.status == "named":
            found.append(twin)
    return found


def as_fraction(value: Any) -> Fraction:
    """The rational that a float of mpmath is."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** int(exponent)


def as_decimal(value: Any, n: int) -> Decimal:
    """A float of mpmath correctly rounded to n significant decimals, by the decimal module."""
    q = as_fraction(value)
    near = Context(prec=400, Emin=-(10**6), Emax=10**6).divide(Decimal(q.numerator), Decimal(q.denominator))
    return Context(prec=n, Emin=-(10**6), Emax=10**6).plus(near)
