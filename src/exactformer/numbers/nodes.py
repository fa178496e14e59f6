"""The numbers: `Exact` (a rational), `Named` (a closed form) and `Undefined` (no number, with a reason).

A `Named` number is a node of a graph whose leaves are rationals. There are few kinds of node:

    lin    (c0 + c1·x1 + … + cn·xn) / den      integers c, den: sums, differences, rational multiples
    dot    x1·y1 + … + xn·yn                   products of named numbers
    div    x / y
    pow    x ** r                              r rational, not 0 or 1
    exp, log, sin, cos, tanh, erf, erfc        of one number
    pi

Every node *exists*: a quotient is made only once its divisor is proved not to be zero, a logarithm only once its argument is
proved positive, a root only once its radicand is proved not negative. So a proof about a node never has to ask whether the
node means anything.

Nodes are immutable as far as their meaning goes; some slots remember what was found out about them (`ball` with `bits`,
`known`, `exact`, `settled`, `undecided`, `shown`).
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from fractions import Fraction
from itertools import repeat
from typing import Any, ClassVar, NamedTuple, Protocol, overload

from flint import arb, fmpq

from exactformer.numbers.budget import DEFAULT, Budget
from exactformer.numbers.errors import UndefinedValue


class Enclosure(NamedTuple):
    """low ≤ value ≤ high, proved; both are dyadic rationals."""

    low: Fraction
    high: Fraction


class Definitions(NamedTuple):
    """A closed form in symbols, and what they stand for, in order."""

    text: str
    where: tuple[tuple[str, str], ...]


class Operators(Protocol):
    """What the methods of a number do: the module `operators.py`, which imports modules that import the classes below."""

    def add(self, a: Any, b: Any, /) -> Number: ...
    def subtract(self, a: Any, b: Any, /) -> Number: ...
    def multiply(self, a: Any, b: Any, /) -> Number: ...
    def divide(self, a: Any, b: Any, /) -> Number: ...
    def power(self, a: Any, b: Any, /) -> Number: ...
    def negate(self, x: Number, /) -> Number: ...
    def exp(self, x: Number, /) -> Number: ...
    def log(self, x: Number, /) -> Number: ...
    def sqrt(self, x: Number, /) -> Number: ...
    def sin(self, x: Number, /) -> Number: ...
    def cos(self, x: Number, /) -> Number: ...
    def tanh(self, x: Number, /) -> Number: ...
    def sign(self, x: Number, budget: Budget, /) -> int: ...
    def compare(self, a: Number, b: object, verdict: Callable[[int, int], bool], /) -> bool: ...
    def enclose(self, x: Number, bits: int, /) -> Enclosure: ...
    def digits(self, x: Number, n: int, /) -> str: ...
    def nearest_float(self, x: Number, /) -> float: ...
    def rounded(self, x: Number, decimals: int, /) -> Exact: ...
    def formatted(self, x: Number, spec: str, /) -> str: ...
    def written(self, x: Number, /) -> str: ...
    def simplified(self, x: Number, /) -> str: ...
    def latex(self, x: Number, /) -> str: ...
    def written_latex(self, x: Number, /) -> str: ...
    def define(self, x: Number, /) -> Definitions: ...


operators: Operators = None  # type: ignore[assignment]  # `__init__.py` hands it over


class Number:
    """What `Exact`, `Named` and `Undefined` share: the operators of a field, decisions that are proofs, and display.

    >>> from exactformer.numbers import exact, exp
    >>> p = exp(1) / (exp(1) + exp(2))
    >>> p.written, str(p), p.digits(12)
    ('e^1/(e^1+e^2)', '1/(1+e)', '0.268941421370')
    >>> p == 1 / (1 + exp(1)), p < exact("0.27")
    (True, True)
    """

    __slots__ = ()
    status: ClassVar[str]

    # -- field operations: built, then recovered as a rational where algebra proves one
    def __add__(self, other: Any) -> Number:
        return operators.add(self, other)

    def __radd__(self, other: Any) -> Number:
        return operators.add(other, self)

    def __sub__(self, other: Any) -> Number:
        return operators.subtract(self, other)

    def __rsub__(self, other: Any) -> Number:
        return operators.subtract(other, self)

    def __mul__(self, other: Any) -> Number:
        return operators.multiply(self, other)

    def __rmul__(self, other: Any) -> Number:
        return operators.multiply(other, self)

    def __truediv__(self, other: Any) -> Number:
        return operators.divide(self, other)

    def __rtruediv__(self, other: Any) -> Number:
        return operators.divide(other, self)

    def __pow__(self, exponent: Any) -> Number:
        return operators.power(self, exponent)

    def __rpow__(self, base: Any) -> Number:
        return operators.power(base, self)

    def __neg__(self) -> Number:
        return operators.negate(self)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return self if type(self) is Undefined or self.sign() >= 0 else operators.negate(self)

    # -- decisions: proved, or `Undecided` is raised
    def sign(self, budget: Budget = DEFAULT) -> int:
        """-1, 0 or 1, proved."""
        return operators.sign(self, budget)

    def __eq__(self, other: object) -> bool:
        return operators.compare(self, other, operator.eq)

    def __ne__(self, other: object) -> bool:
        return operators.compare(self, other, operator.ne)

    def __lt__(self, other: Any) -> bool:
        return operators.compare(self, other, operator.lt)

    def __le__(self, other: Any) -> bool:
        return operators.compare(self, other, operator.le)

    def __gt__(self, other: Any) -> bool:
        return operators.compare(self, other, operator.gt)

    def __ge__(self, other: Any) -> bool:
        return operators.compare(self, other, operator.ge)

    __hash__: ClassVar[Any] = None

    def __bool__(self) -> bool:
        return self.sign() != 0

    def __float__(self) -> float:
        raise TypeError("a number is not converted to a float implicitly: ask for x.to_float() or x.digits(n)")

    def __int__(self) -> int:
        raise TypeError("a named number is not converted to an integer: compare it with one, or ask for its enclosure")

    # -- approximations, each proved
    def enclosure(self, bits: int = 64) -> Enclosure:
        """Two rationals around the value, no further apart than 2**-bits of it."""
        return operators.enclose(self, bits)

    def digits(self, n: int = 12) -> str:
        """The value correctly rounded to `n` significant decimals."""
        return operators.digits(self, n)

    def to_float(self) -> float:
        """The float64 nearest to the value, proved."""
        return operators.nearest_float(self)

    @overload
    def __round__(self) -> int: ...
    @overload
    def __round__(self, decimals: int) -> Exact: ...
    def __round__(self, decimals: int | None = None) -> int | Exact:
        """To nearest, proved; an exact tie to the even digit. Without decimals, an integer."""
        return int(operators.rounded(self, 0)) if decimals is None else operators.rounded(self, decimals)

    def __format__(self, spec: str) -> str:
        """f"{x:.20f}": proved digits."""
        return operators.formatted(self, spec)

    # -- display
    @property
    def written(self) -> str:
        """The closed form as it was computed, not simplified."""
        return operators.written(self)

    def __str__(self) -> str:
        return operators.simplified(self)

    @property
    def latex(self) -> str:
        return operators.latex(self)

    @property
    def written_latex(self) -> str:
        return operators.written_latex(self)

    @property
    def definitions(self) -> Definitions:
        """A long closed form in symbols, with the list of what they stand for."""
        return operators.define(self)

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"

    @property
    def recovered(self) -> bool:
        """Is this a rational that was proved equal to, or computed from, named numbers?"""
        return False

    # -- NumPy calls these for np.exp, np.sqrt, … of object arrays
    def exp(self) -> Number:
        return operators.exp(self)

    def log(self) -> Number:
        return operators.log(self)

    def sqrt(self) -> Number:
        return operators.sqrt(self)

    def sin(self) -> Number:
        return operators.sin(self)

    def cos(self) -> Number:
        return operators.cos(self)

    def tanh(self) -> Number:
        return operators.tanh(self)

    def conjugate(self) -> Number:
        return self

    def __copy__(self) -> Number:
        return self

    def __deepcopy__(self, memo: object) -> Number:
        return self


class Exact(Number):
    """A rational. `origin` is the named number that it was recovered from, if it was.

    It never changes: models, preparations and other numbers hold it, and 0 and 1 are shared by all.

    >>> from exactformer.numbers import exact
    >>> exact(3).value = 4
    Traceback (most recent call last):
    AttributeError: value: a number does not change; make another
    """

    __slots__ = ("_recovered", "origin", "value")
    _recovered: bool
    origin: Named | None
    value: fmpq
    status = "exact"

    def __init__(self, value: fmpq, recovered: bool = False, origin: Named | None = None) -> None:
        _set_value(self, value)
        _set_recovered(self, recovered)
        _set_origin(self, origin)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: a number does not change; make another")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name}: a number does not change; make another")

    @property
    def recovered(self) -> bool:
        return self._recovered

    @property
    def fraction(self) -> Fraction:
        return Fraction(int(self.value.p), int(self.value.q))

    def __int__(self) -> int:
        if self.value.q != 1:
            raise ValueError(f"{self} is not an integer")
        return int(self.value.p)

    def __hash__(self) -> int:
        return hash(self.fraction)

    def __repr__(self) -> str:
        return f"exact('{self}')"

    def __reduce__(self) -> tuple[type[Exact], tuple[fmpq, bool]]:
        return Exact, (self.value, self._recovered)


_slots: Any = vars(Exact)
_set_value, _set_recovered, _set_origin = (_slots[name].__set__ for name in ("value", "_recovered", "origin"))


def exacts(values: Sequence[fmpq]) -> list[Exact]:
    """`Exact` of each, made in less than half the time: the slots of all are filled one after the other.

    >>> exacts([fmpq(1, 2), fmpq(3)])
    [exact('1/2'), exact('3')]
    """
    made = list(map(Exact.__new__, repeat(Exact, len(values))))
    for fill, given in ((_set_value, values), (_set_recovered, repeat(False)), (_set_origin, repeat(None))):
        deque(map(fill, made, given), maxlen=0)
    return made


class Named(Number):
    """A closed form that is not known to be rational."""

    __slots__ = ("args", "ball", "bits", "data", "exact", "known", "landmark", "op", "settled", "shown", "undecided")
    status = "named"

    def __init__(self, op: str, args: tuple[Exact | Named, ...], data: Any = None, known: int = 0) -> None:
        self.op = op
        self.args = args
        self.data = data  # lin: (coefficients, constant, denominator); pow: the exponent
        self.known = known  # the sign, where it is known to be 1 or -1
        self.bits = 0  # the working precision of `ball`, 0 before there is one
        self.ball: arb | None = None
        self.exact: Exact | None = None  # the rational that this was proved to be
        self.settled = False  # has a proof of being rational been tried?
        self.undecided: Budget | None = None  # that was not enough to find its sign
        self.shown: dict[str, Any] | None = None  # closed forms that were asked for, and how they are written
        self.landmark = False  # a proof may first stop here and treat the value as an unknown

    def __repr__(self) -> str:
        return f"<{self}>"

    def __reduce__(self) -> Any:
        raise TypeError("a named number is not pickled: send what it is computed from")


class Undefined(Number):
    """No number, and why. Whatever is computed from it is undefined for the same reason."""

    __slots__ = ("undecided", "why")
    status = "undefined"

    def __init__(self, why: str, undecided: bool = False) -> None:
        self.why = why
        self.undecided = undecided  # it may exist, but a question on the way could not be decided

    def __repr__(self) -> str:
        return f"<undefined: {self.why}>"

    def __reduce__(self) -> tuple[type[Undefined], tuple[str, bool]]:
        return Undefined, (self.why, self.undecided)


def refuse_undefined(x: Number) -> None:
    """A question about a value that does not exist is an error with its reason."""
    if type(x) is Undefined:
        raise UndefinedValue(f"undefined: {x.why}")


def nodes_below(root: Named, done: Container[int]) -> Iterator[Named]:
    """`root` and the nodes below it whose identity is not in `done`, each after those that it is made of.

    Whoever takes a node puts it into `done` before asking for the next one. A stack, not recursion: graphs may be deep.
    """
    stack = [root]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
        elif missing := [arg for arg in node.args if type(arg) is Named and id(arg) not in done]:
            stack.extend(missing)
        else:
            yield node
