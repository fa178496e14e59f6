"""Closed forms as people type them: e/(1+e), 2·√3, (1 + 1/e)^2. A grammar of its own: nothing that is typed is ever run.

    sum      = signed { (+ | -) product }
    product  = signed { (* | /) signed | power }       what stands side by side is multiplied: 2e, 3(1+e)
    signed   = { + | - } power                         -2^2 is -(2^2)
    power    = atom [ ^ { + | - } power ]              2^3^2 is 2^(3^2)
    atom     = number | e | pi | function ( sum ) | √ atom | ( sum ) | a name that the caller knows

A number is what `exact` takes. What can be read in two ways is refused, and so is what would fill memory or never end: the text,
its nesting, the digits of rationals, the powers of closed forms and the effort of every proof on the way are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from exactformer.messages import short
from exactformer.numbers import field
from exactformer.numbers.budget import Budget
from exactformer.numbers.decide import recover, sign
from exactformer.numbers.functions import cos, erf, erfc, exp, log, pi, sin, tanh
from exactformer.numbers.nodes import Exact, Named, Number
from exactformer.numbers.parse import exact
from exactformer.numbers.powers import power, sqrt

LONGEST = 500  # characters
_DEEPEST = 40  # brackets within brackets
_MOST_FUNCTIONS = 30  # functions, roots, quotients and powers of closed forms: each may take a proof
_LARGEST = 100_000  # bits of a rational on the way
_LARGEST_POWER = 1_000  # of a closed form
_BUDGET = Budget(bits=1024, work=100_000, cuts=3)

_FUNCTIONS: dict[str, Callable[[Number], Number]] = {
    "exp": exp, "log": log, "ln": log, "sqrt": sqrt, "sin": sin, "cos": cos, "tanh": tanh, "erf": erf, "erfc": erfc,
}  # fmt: skip
NAMES = frozenset({"e", "pi", "Pi", "PI", "π", *_FUNCTIONS})
_SAME = str.maketrans({"−": "-", "–": "-", "·": "*", "⋅": "*", "∙": "*", "×": "*", "÷": "/", "∕": "/", "⁄": "/"})
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_NUMBER = r"(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(rf"({_NUMBER})|([A-Za-zπ]+)|(\*\*|[-+*/^()√])|([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(\S)")
_EITHER = re.compile(r"[0-9.]e[+-]?[0-9]")  # 2e-1 is 0.2, or 2·e - 1


class Expression(NamedTuple):
    """What was typed: its value, and of how many numbers, names and signs it was made (brackets and products not counted)."""

    value: Number
    size: int


def closed_form(text: str, known: Mapping[str, Number] | None = None) -> Number:
    """The number that a text is; ValueError says in a line why it is none. `known` are numbers by names, which are letters.

    >>> closed_form("x / (1 + x)", {"x": exact(2)})
    exact('2/3')
    >>> closed_form("e/(1+e)"), closed_form("2·√2 / sqrt(8)"), closed_form("-3/10"), closed_form("1e-5")
    (<e/(1+e)>, exact('1'), exact('-3/10'), exact('1/100000'))
    >>> closed_form("1/2e")
    Traceback (most recent call last):
    ValueError: '1/2e' can be read in two ways: put brackets or a * where 'e' follows a quotient
    """
    return recover(expression(text, known).value, _BUDGET)


def expression(text: str, known: Mapping[str, Number] | None = None) -> Expression:
    """A closed form with its size.

    >>> expression("1/(1 + e^-1)").size, expression("e/(1+e)").size
    (8, 5)
    """
    if len(text) > LONGEST:
        raise ValueError(f"an answer of {len(text):,} characters is longer than {LONGEST}")
    tokens = _tokens(text)
    try:
        return Expression(exact(text.translate(_SAME)), size(text))
    except ValueError as error:
        if "not a number" not in str(error):
            raise
    if either := _EITHER.search(text):
        near = text[max(0, either.start() - 8) : either.end() + 4].strip()
        raise ValueError(f"'{short(near)}' can be read in two ways: write a * before e, or a power of ten without e")
    reader = _Reader(tokens, text, known or {})
    value = reader.sum()
    if reader.next:
        raise ValueError(f"'{short(text)}': {_called(reader.next)} is not expected there")
    return Expression(value, size(text))


def size(text: str) -> int:
    """How many numbers, names and signs stand in a text, brackets and products not counted."""
    tokens = _TOKEN.findall(text.translate(_SAME))
    return sum((2 if raised else 1) for number, name, sign, raised, _ in tokens if number or name or raised or sign not in "()*")


def _tokens(text: str) -> list[str]:
    """Numbers, names and signs; a raised number is a power in brackets."""
    found: list[str] = []
    for number, name, sign_, raised, other in _TOKEN.findall(text.translate(_SAME)):
        if other:
            hint = ": write a decimal point" if other == "," else ""
            raise ValueError(f"'{short(text)}': {other!r} is not part of a number here{hint}")
        if raised:
            found += ["^", "(", *re.findall("-|[0-9]+", raised.translate(_RAISED)), ")"]
        else:
            found.append({"**": "^"}.get(sign_, sign_) or number or name)
    if not found:
        raise ValueError("there is nothing to read: type a number such as 3/2, 0.731 or e/(1+e)")
    return found


def _called(token: str) -> str:
    return f"'{short(token, 20)}'"


class _Reader:
    """Reads and computes at once. Each rule takes the tokens that are its own."""

    def __init__(self, tokens: list[str], text: str, known: Mapping[str, Number]) -> None:
        self.tokens, self.text, self.known = tokens[::-1], text, known
        self.depth = self.proofs = 0

    @property
    def next(self) -> str:
        return self.tokens[-1] if self.tokens else ""

    def take(self, *wanted: str) -> str:
        return self.tokens.pop() if self.next in wanted and self.tokens else ""

    def sum(self) -> Number:
        value = self.product()
        while sign_ := self.take("+", "-"):
            value = self.kept((field.add if sign_ == "+" else field.subtract)(value, self.product()))
        return value

    def product(self) -> Number:
        value, divided = self.signed(), False
        while self.next and self.next not in ("+", "-", ")"):
            if self.take("/"):
                value, divided = self.quotient(value, self.signed()), True
            elif self.take("*"):
                value, divided = self.kept(field.multiply(value, self.signed())), False
            elif divided:
                where = f"where {_called(self.next)} follows a quotient"
                raise ValueError(f"'{short(self.text)}' can be read in two ways: put brackets or a * {where}")
            elif self.next[0].isdigit() or self.next[0] in ".^":
                raise ValueError(f"'{short(self.text)}': {_called(self.next)} follows another number: write a sign between them")
            else:
                value = self.kept(field.multiply(value, self.power()))
        return value

    def signed(self) -> Number:
        negative = False
        while sign_ := self.take("+", "-"):
            negative ^= sign_ == "-"
        value = self.power()
        return field.negate(value) if negative else value

    def power(self) -> Number:
        base = self.atom()
        if not self.take("^"):
            return base
        self.deeper()
        exponent = self.signed()
        self.depth -= 1
        return self.raised(base, exponent)

    def atom(self) -> Number:
        token = self.tokens.pop() if self.tokens else ""
        if token[:1].isdigit() or token[:1] == ".":
            return self.kept(exact(token))
        if token == "(":
            return self.bracketed()
        if token == "√":
            self.deeper()
            inside = self.atom()
            self.depth -= 1
            return self.applied("sqrt", inside)
        if token in self.known:
            return self.known[token]
        name = token.lower() if token in ("PI", "Pi") else token
        if name in ("e", "pi", "π"):
            return exp(1) if name == "e" else pi()
        if name in _FUNCTIONS:
            if not self.take("("):
                raise ValueError(f"'{short(self.text)}': {name} needs brackets, {name}(…)")
            return self.applied(name, self.bracketed())
        if not token:
            raise ValueError(f"'{short(self.text)}' ends too early")
        if token[0].isalpha():
            raise ValueError(f"{_called(token)} is not known here: there are e, pi, {', '.join(_FUNCTIONS)}")
        raise ValueError(f"'{short(self.text)}': {_called(token)} is not expected there")

    def bracketed(self) -> Number:
        self.deeper()
        value = self.sum()
        self.depth -= 1
        if not self.take(")"):
            raise ValueError(f"'{short(self.text)}': a bracket is not closed")
        return value

    # -- within bounds
    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError(f"an answer nested more than {_DEEPEST} deep is not read")

    def kept(self, value: Number) -> Number:
        if type(value) is Exact and value.value.height_bits() > _LARGEST:
            raise ValueError(f"'{short(self.text)}' has a number of more than {_LARGEST:,} bits on the way, which is not computed")
        return value

    def proof(self, *values: Number) -> None:
        if any(type(value) is Named for value in values):
            self.proofs += 1
            if self.proofs > _MOST_FUNCTIONS:
                raise ValueError(f"an answer of more than {_MOST_FUNCTIONS} functions, roots and quotients is not read")

    def quotient(self, a: Number, b: Number) -> Number:
        self.proof(b)
        if sign(b, _BUDGET) == 0:
            raise ValueError(f"'{short(self.text)}' divides by zero")
        return self.kept(field.divide(a, b))

    def applied(self, name: str, x: Number) -> Number:
        if name == "sqrt":
            return self.raised(x, exact("1/2"))
        self.proof(x)
        if name in ("log", "ln"):
            sign(x, _BUDGET)  # on a small budget; the function asks again, and finds the answer
        elif type(x) is Exact and x.value.height_bits() > _LARGEST_POWER:
            raise ValueError(f"'{short(self.text)}': {name} of a number of that size is not computed")
        return _FUNCTIONS[name](x)

    def raised(self, base: Number, exponent: Number) -> Number:
        self.proof(base, exponent)
        if type(base) is Named and base.op == "exp":
            return self.applied("exp", self.kept(field.multiply(base.args[0], exponent)))
        if type(base) is Named and base.op == "pow" and type(exponent) is Exact and sign(inside := base.args[0], _BUDGET) > 0:
            exponent = exact(base.data * exponent.value)  # (x^a)^b is x^(a·b), since x is positive
            base = inside
        if type(exponent) is Exact:
            large = max(abs(int(exponent.value.p)), int(exponent.value.q)) > _LARGEST_POWER
            if large and (type(base) is Named or exponent.value.q != 1):
                raise ValueError(f"'{short(self.text)}': a power beyond {_LARGEST_POWER:,} is not computed")
        if (type(exponent) is Named or exponent.value.q != 1 or exponent.value < 0) and sign(base, _BUDGET) == 0:  # type: ignore[attr-defined]
            if type(exponent) is Exact and exponent.value > 0:
                return base if type(base) is Exact else exact(0)
            raise ValueError(f"'{short(self.text)}' divides by zero")
        return self.kept(power(base, exponent))
