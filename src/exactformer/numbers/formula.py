"""Formulas to be shown: a small tree, and how it is written as text and as LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import fmpz


@dataclass(frozen=True)
class Value:
    value: Fraction


@dataclass(frozen=True)
class Symbol:
    text: str
    latex: str


@dataclass(frozen=True)
class Sum:
    terms: tuple[Formula, ...]


@dataclass(frozen=True)
class Product:
    factors: tuple[Formula, ...]


@dataclass(frozen=True)
class Quotient:
    above: Formula
    below: Formula


@dataclass(frozen=True)
class Power:
    base: Formula
    exponent: Fraction


@dataclass(frozen=True)
class Function:
    name: str
    argument: Formula


Formula = Value | Symbol | Sum | Product | Quotient | Power | Function
E_SYMBOL, PI_SYMBOL = Symbol("e", "e"), Symbol("π", r"\pi")
ONE = Value(Fraction(1))
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tightly a formula holds together
_HALF = Fraction(1, 2)


def product(factors: list[Formula]) -> Formula:
    """A product without factors 1, its number in front."""
    number = Fraction(1)
    rest: list[Formula] = []
    for factor in factors:
        if isinstance(factor, Value):
            number *= factor.value
        else:
            rest.append(factor)
    if not rest:
        return Value(number)
    if number != 1:
        if abs(number.numerator) == 1 and number.denominator != 1:
            above = product([Value(Fraction(number.numerator)), *rest])
            return Quotient(above, Value(Fraction(number.denominator)))
        rest.insert(0, Value(number))
    return rest[0] if len(rest) == 1 else Product(tuple(rest))


def total(terms: list[Formula]) -> Formula:
    """A sum, sums within it spliced in."""
    flat: list[Formula] = []
    for term in terms:
        flat.extend(term.terms if isinstance(term, Sum) else (term,))
    flat = [term for term in flat if term != Value(Fraction(0))] or [Value(Fraction(0))]
    return flat[0] if len(flat) == 1 else Sum(tuple(flat))


def quotient(above: Formula, below: Formula) -> Formula:
    if below == ONE:
        return above
    if isinstance(above, Value) and isinstance(below, Value):
        return Value(above.value / below.value)
    return Quotient(above, below)


def negated(formula: Formula) -> Formula | None:
    """−formula where the formula starts with a minus, else None."""
    match formula:
        case Value(value) if value < 0:
            return Value(-value)
        case Product((Value(value), *rest)) if value < 0:
            return product([Value(-value), *rest])
        case Quotient(above, below):
            positive = negated(above)
            return None if positive is None else Quotient(positive, below)
        case _:
            return None


# -- text
def text(formula: Formula) -> str:
    """
    >>> text(Quotient(ONE, Sum((ONE, Power(E_SYMBOL, Fraction(1, 2))))))
    '1/(1+e^(1/2))'
    """
    return _text(formula)[0]


def _text(formula: Formula) -> tuple[str, int]:
    match formula:
        case Value(value):
            return _fraction(value), _ATOM if value >= 0 and value.denominator == 1 else _PRODUCT if value >= 0 else _SUM
        case Symbol(name, _):
            return name, _ATOM
        case Sum(terms):
            return _signed(terms, lambda term: _within(term, _PRODUCT)), _SUM
        case Product(factors):
            number, *rest = factors
            positive = negated(number)
            if positive is not None:
                return "-" + _within(product([positive, *rest]), _PRODUCT), _SUM
            return "·".join(_within(factor, _POWER) for factor in factors), _PRODUCT
        case Quotient(above, below):
            positive = negated(above)
            if positive is not None:
                return "-" + _within(Quotient(positive, below), _PRODUCT), _SUM
            return f"{_within(above, _PRODUCT)}/{_within(below, _POWER)}", _PRODUCT
        case Power(base, exponent):
            if exponent == _HALF and base != E_SYMBOL:
                return "√" + _within(base, _ATOM), _POWER
            power = _fraction(exponent) if exponent.denominator == 1 and exponent >= 0 else f"({_fraction(exponent)})"
            return f"{_within(base, _ATOM)}^{power}", _POWER
        case Function(name, argument):
            return f"{name}({text(argument)})", _ATOM


def _fraction(value: Fraction) -> str:
    below = "" if value.denominator == 1 else "/" + _integer(value.denominator)
    return _integer(value.numerator) + below


def _integer(n: int) -> str:
    return str(fmpz(n))  # Python itself writes out no more than 4,300 digits


def _within(formula: Formula, tightness: int) -> str:
    written, own = _text(formula)
    return written if own >= tightness else f"({written})"


def _signed(terms: tuple[Formula, ...], write: object) -> str:
    result = ""
    for term in terms:
        positive = negated(term)
        piece = write(term if positive is None else positive)  # type: ignore[operator]
        result += ("-" if positive is not None else "+" if result else "") + piece
    return result


# -- LaTeX
_LATEX_NAMES = {name: rf"\{name}" for name in ("exp", "log", "sin", "cos", "tanh")} | {
    name: rf"\operatorname{{{name}}}" for name in ("erf", "erfc")
}


def latex(formula: Formula) -> str:
    r"""
    >>> latex(Quotient(ONE, Sum((ONE, Power(E_SYMBOL, Fraction(1, 2))))))
    '\\frac{1}{1+e^{1/2}}'
    """
    return _latex(formula)[0]


def _latex(formula: Formula) -> tuple[str, int]:
    match formula:
        case Value(value):
            if value.denominator == 1:
                return _fraction(value), _ATOM if value >= 0 else _SUM
            minus = "-" if value < 0 else ""
            return (
                rf"{minus}\frac{{{_integer(abs(value.numerator))}}}{{{_integer(value.denominator)}}}",
                _POWER if value > 0 else _SUM,
            )
        case Symbol(_, name):
            return name, _ATOM
        case Sum(terms):
            return _signed(terms, lambda term: _latex_within(term, _PRODUCT)), _SUM
        case Product(factors):
            number, *rest = factors
            positive = negated(number)
            if positive is not None:
                return "-" + _latex_within(product([positive, *rest]), _PRODUCT), _SUM
            return r"\,".join(_latex_within(factor, _POWER) for factor in factors), _PRODUCT
        case Quotient(above, below):
            positive = negated(above)
            if positive is not None:
                return "-" + _latex_within(Quotient(positive, below), _PRODUCT), _SUM
            return rf"\frac{{{latex(above)}}}{{{latex(below)}}}", _POWER
        case Power(base, exponent):
            if exponent == _HALF and base != E_SYMBOL:
                return rf"\sqrt{{{latex(base)}}}", _ATOM
            return f"{_latex_within(base, _ATOM)}^{{{_fraction(exponent)}}}", _POWER
        case Function("exp", argument):
            return f"e^{{{latex(argument)}}}", _POWER
        case Function(name, argument):
            return rf"{_LATEX_NAMES[name]}\left({latex(argument)}\right)", _ATOM


def _latex_within(formula: Formula, tightness: int) -> str:
    written, own = _latex(formula)
    return written if own >= tightness else rf"\left({written}\right)"
