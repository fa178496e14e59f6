"""What hides behind 1.00000: a number next to a simple one, and how far it is from it."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq

from exactformer.numbers.digits import digits
from exactformer.numbers.errors import Undecided
from exactformer.numbers.field import subtract
from exactformer.numbers.nodes import Exact, Named

_SIMPLE = 12  # the largest denominator of a number that others are next to
_CLOSE = 9  # digits that agree with it at least: with three of the difference, as much as 12 digits would say


def nearly(x: Named, n: int = 12) -> str:
    """`x` to n digits; where it is next to a simple rational, that rational and the first digits of the difference.

    >>> from exactformer.numbers import exp
    >>> nearly(exp(100) / (exp(100) + 2)), nearly(exp(1) / (1 + exp(1)))
    ('1 - 7.44e-44', '0.731058578630')
    """
    proved = digits(x, n)
    if abs(int(proved.partition("e")[2] or 0)) > _CLOSE:  # no simple number is that large or that small
        return proved
    value = Fraction(digits(x, max(n, _CLOSE + 3)))
    simple = value.limit_denominator(_SIMPLE)
    if simple == 0 or abs(value - simple) >= abs(simple) * Fraction(1, 10**_CLOSE):
        return proved
    try:
        distance = digits(subtract(x, Exact(fmpq(simple.numerator, simple.denominator))), 3)
    except Undecided:
        return proved  # too close for any enclosure that is tried
    if distance == "0":
        return proved
    return f"{simple} - {distance[1:]}" if distance.startswith("-") else f"{simple} + {distance}"
