"""Numbers as closed forms: as they were computed ("written"), and simplified.

A simplified form is the shortest of three: as written; one fraction in normal form; term by term. What would be too long to
read is shown by its proved digits, and by symbols with definitions when those are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from exactformer.numbers import formula as show
from exactformer.numbers.algebra import Algebra, normal_form
from exactformer.numbers.as_written import LONGEST, as_written, once, operation
from exactformer.numbers.budget import Budget
from exactformer.numbers.digits import digits
from exactformer.numbers.errors import Undecided
from exactformer.numbers.formula import Formula, Value
from exactformer.numbers.nodes import Exact, Named, Number, Undefined
from exactformer.numbers.ratios import Polynomial, Ratio, Stuck

_MOST_TERMS = 3  # of a sum that is also tried term by term
_BUDGET = Budget(nodes=LONGEST, terms=200, generators=14, work=10_000)


def simplified(x: Number) -> str:
    return once(x, "simplified", lambda: _shown(x, simplest(x), show.text))


def latex(x: Number) -> str:
    return once(x, "latex", lambda: _shown(x, simplest(x), show.latex))


def written(x: Number) -> str:
    return once(x, "written", lambda: _shown(x, as_written(x), show.text))


def written_latex(x: Number) -> str:
    return _shown(x, as_written(x), show.latex)


def _shown(x: Number, form: Formula | None, write: Callable[[Formula], str]) -> str:
    if type(x) is Undefined:
        return "undefined" if write is show.text else r"\text{undefined}"
    return by_digits(x, write) if form is None else write(form)


def by_digits(x: Number, write: Callable[[Formula], str] = show.text) -> str:
    """What stands for a closed form that is too long to read."""
    try:
        return ("≈ " if write is show.text else r"\approx ") + digits(x, 12)
    except Undecided:
        return "(a long closed form)" if write is show.text else r"\text{(a long closed form)}"


# -- simplified
def simplest(x: Number) -> Formula | None:
    """The simplified form as a formula; None where it would be too long to read."""
    if type(x) is Exact:
        return Value(x.fraction)
    if type(x) is not Named:
        return None
    return once(x, "simplest", lambda: _shortest(x))


def _shortest(x: Named) -> Formula | None:
    plain = as_written(x)
    if plain is None:
        return None
    candidates = [_one_fraction(x), _term_by_term(x), plain]
    return min((c for c in candidates if c is not None), key=lambda form: len(show.text(form)))


def _term_by_term(x: Named) -> Formula | None:
    """A sum whose terms are simplified one by one, not put over one denominator."""
    if x.op != "lin" or len(x.args) > _MOST_TERMS:
        return None
    args = [_one_fraction(arg) or as_written(arg) for arg in x.args if type(arg) is Named]
    return operation(x, args)  # type: ignore[arg-type]


def _one_fraction(x: Named) -> Formula | None:
    try:
        algebra, form = normal_form(x, _BUDGET)
        algebra.meter.left += _BUDGET.work  # putting the form into words is work, too
        return _ratio(algebra, form)
    except Stuck:
        return None


def _ratio(algebra: Algebra, ratio: Ratio) -> Formula:
    root = _lone_root(algebra, ratio)
    if root is not None:
        return root
    above, below = _polynomial(algebra, ratio.num), _polynomial(algebra, ratio.den)
    if isinstance(below, Value) and len(ratio.num) == 1:
        return show.product([Value(1 / below.value), above])
    return show.quotient(above, below)


def _lone_root(algebra: Algebra, ratio: Ratio) -> Formula | None:
    """√6/3 as √(2/3), √2/2 as 1/√2."""
    if len(ratio.num) != 1 or not ratio.den.is_constant() or abs(ratio.num.leading_coefficient()) != 1:
        return None
    exponents = next(iter(ratio.num.to_dict()))
    used = [(algebra.meaning[i], int(e)) for i, e in enumerate(exponents) if e]
    if not used or any(g.kind != "root" or g.degree != 2 or not g.inside.is_constant() for g, _ in used):
        return None
    radicand, k = 1, int(ratio.den.leading_coefficient())
    for g, _ in used:
        radicand *= int(g.inside.leading_coefficient())
    if k == 1 or radicand % k:
        return None
    minus = [Value(Fraction(-1))] if ratio.num.leading_coefficient() < 0 else []
    if radicand == k:
        return show.quotient(show.product([*minus, show.ONE]), show.Power(Value(Fraction(k)), Fraction(1, 2)))
    return show.product([*minus, show.Power(Value(Fraction(radicand // k, k)), Fraction(1, 2))])


def _polynomial(algebra: Algebra, p: Polynomial) -> Formula:
    """The shorter of the sum of its terms and the product of its factors."""
    terms = sorted(p.to_dict().items(), key=lambda item: (sum(item[0]), tuple(-e for e in item[0])))
    expanded = show.total([_term(algebra, exponents, int(c)) for exponents, c in terms])
    if len(terms) == 1:
        return expanded
    constant, parts = algebra.factor(p)
    if len(parts) == 1 and parts[0][1] == 1 and abs(constant) == 1:
        return expanded
    factors = [Value(Fraction(int(constant)))]
    for base, e in parts:
        if len(base) == 1:
            exponents = tuple(int(d) * int(e) for d in next(iter(base.to_dict())))
            factors.append(_term(algebra, exponents, 1))  # type: ignore[arg-type]
        else:
            inside = _polynomial(algebra, base)
            factors.append(inside if e == 1 else show.Power(inside, Fraction(int(e))))  # type: ignore[arg-type]
    factored = show.product(factors)  # type: ignore[arg-type]
    return min(expanded, factored, key=lambda form: len(show.text(form)))


def _term(algebra: Algebra, exponents: tuple[int, ...], c: int) -> Formula:
    factors: list[Formula] = [Value(Fraction(c))]
    radicand = 1
    for i, e in enumerate(exponents):
        if not e:
            continue
        generator, power = algebra.meaning[i], Fraction(int(e), algebra.meaning[i].degree)
        if generator.kind == "root" and generator.inside.is_constant() and power == Fraction(1, 2):
            radicand *= int(generator.inside.leading_coefficient())
        else:
            factors.append(_generator(algebra, generator, power))
    if radicand != 1:
        factors.append(show.Power(Value(Fraction(radicand)), Fraction(1, 2)))
    return show.product(factors)


def _generator(algebra: Algebra, generator: Any, power: Fraction) -> Formula:
    kind, inside, _ = generator
    match kind:
        case "exp":
            if inside.num == inside.den:
                return show.E_SYMBOL if power == 1 else show.Power(show.E_SYMBOL, power)
            scaled = algebra.reduce(inside.num * power.numerator, inside.den * power.denominator)
            return show.Function("exp", _ratio(algebra, scaled))
        case "root":
            return show.Power(_polynomial(algebra, inside), power)
        case "log":
            base: Formula = show.Function("log", _polynomial(algebra, inside))
        case "pi":
            base = show.PI_SYMBOL
        case _:
            base = show.Function(kind, _ratio(algebra, inside))
    return base if power == 1 else show.Power(base, power)
