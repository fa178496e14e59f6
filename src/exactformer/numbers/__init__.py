"""Exact-or-named numbers: rationals, and closed forms with proved enclosures.

>>> from exactformer.numbers import exact, exp, sqrt
>>> x = exp(1) / (exp(1) + exp(2))
>>> print(x, "=", x.written, "=", x.digits(10), "…")
1/(1+e) = e^1/(e^1+e^2) = 0.2689414214 …
>>> sqrt(2) ** 2, exact("0.3") < 1 / sqrt(11)
(exact('2'), True)
"""

from exactformer.numbers import nodes, operators
from exactformer.numbers.arrays import array, dot, total
from exactformer.numbers.budget import Budget
from exactformer.numbers.decide import recover, sign
from exactformer.numbers.errors import Undecided, UndefinedValue
from exactformer.numbers.expression import closed_form
from exactformer.numbers.functions import cos, erf, erfc, exp, log, pi, sin, tanh
from exactformer.numbers.nodes import Enclosure, Exact, Named, Number, Undefined
from exactformer.numbers.order import argmax, compare, maximum, ranking
from exactformer.numbers.parse import exact, from_float
from exactformer.numbers.powers import sqrt

nodes.operators = operators

__all__ = [
    "Budget", "Enclosure", "Exact", "Named", "Number", "Undecided", "Undefined", "UndefinedValue", "argmax", "array", "closed_form",
    "compare", "cos", "dot", "erf", "erfc", "exact", "exp", "from_float", "log", "maximum", "pi", "ranking", "recover", "sign",
    "sin", "sqrt", "tanh", "total",
]  # fmt: skip
