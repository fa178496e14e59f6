"""Quotients of polynomials within a budget: the field that normal forms are computed in.

The variables stand for real numbers (`algebra.py` says which). Some of them obey a relation: variable ** degree is a polynomial in
earlier variables. Every operation is charged to a meter, so that a proof ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import fmpq, fmpz, fmpz_mpoly_ctx

from exactformer.numbers.budget import Budget

Polynomial = Any  # flint.fmpz_mpoly
CALL, PYTHON = 20, 20  # what a call, and a term handled in Python, cost in term products of the library
_GCD_TERMS, _GCD_DEGREE = 80, 80  # polynomials beyond this are not searched for common factors
_FACTOR_TERMS, _FACTOR_DEGREE = 40, 40
_LONGEST_COEFFICIENT = 10_000  # bits
_LONG = 2048  # bits of coefficients whose product costs about as much again as its handling


def factors(n: fmpz) -> list[tuple[fmpz, int]]:
    """Prime factors of an integer that is small enough to be factored at once; a large one is left whole."""
    return [(p, int(e)) for p, e in n.factor()] if n.height_bits() <= 64 else [(n, 1)]


class Stuck(Exception):
    """The budget of a normal form is used up, or a sign that it needs is not known."""


class Meter:
    """The work of one query, all its attempts together, in term products."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise Stuck("too much work")


def _bits(p: Polynomial) -> int:
    """Of the leading coefficient: roughly how long the coefficients are."""
    return int(p.leading_coefficient().height_bits()) if p != 0 else 0


class Ratio(NamedTuple):
    num: Polynomial
    den: Polynomial


class Ring:
    """Polynomials in a fixed number of variables, their quotients, and the relations of the variables."""

    def __init__(self, budget: Budget, size: int, meter: Meter) -> None:
        self.budget, self.meter = budget, meter
        self.context = fmpz_mpoly_ctx.get([f"g{i}" for i in range(size)], "lex")
        self.variables = self.context.gens()
        self.one, self.zero = self.context.constant(1), self.context.constant(0)
        self.relations: list[tuple[int, int, Polynomial]] = []  # variable ** degree = polynomial in earlier variables

    def constant(self, q: fmpq) -> Ratio:
        return Ratio(self.context.constant(int(q.p)), self.context.constant(int(q.q)))

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a·b within the budget."""
        self.meter.spend(CALL + len(a) * len(b) * (1 + (_bits(a) + _bits(b)) // _LONG))
        product = a * b
        if len(product) > self.budget.terms:
            raise Stuck("too many terms")
        if _bits(product) > _LONGEST_COEFFICIENT:
            raise Stuck("coefficients that are too long")
        return product

    def multiply(self, a: Ratio, b: Ratio) -> Ratio:
        return self.reduce(self.times(a.num, b.num), self.times(a.den, b.den))

    def sum(self, terms: list[Ratio]) -> Ratio:
        num, den = self.zero, self.one
        for term in terms:
            if term.den == den:
                num = num + term.num
                continue
            common = den.gcd(term.den) if self.small(den, term.den) else self.one
            ours, theirs = den / common, term.den / common
            num = self.times(num, theirs) + self.times(term.num, ours)
            den = self.times(den, theirs)
        return self.reduce(num, den)

    def reduce(self, num: Polynomial, den: Polynomial) -> Ratio:
        """Relations applied, common factors gone, the leading coefficient of the denominator positive."""
        num, den = self.fold(num), self.fold(den)
        if num == 0:
            return Ratio(self.zero, self.one)
        if den == 0:
            raise Stuck("a divisor that the relations make zero")
        num, den = self._rationalise(num, den)
        common = num.gcd(den) if self.small(num, den) else num.term_content().gcd(den.term_content())
        if common != 1:
            num, den = num / common, den / common
        if den.leading_coefficient() < 0:
            num, den = -num, -den
        return Ratio(num, den)

    def _rationalise(self, num: Polynomial, den: Polynomial) -> tuple[Polynomial, Polynomial]:
        """1/√2 as √2/2: roots of integers leave the denominator, so that equal forms look alike."""
        integer_roots = [(variable, degree) for variable, degree, radicand in self.relations if radicand.is_constant()]
        if integer_roots:
            common = next(iter(den.term_content().to_dict()))
            for variable, degree in integer_roots:
                if e := common[variable]:
                    missing = self.variables[variable] ** (degree - int(e))
                    num, den = self.fold(num * missing), self.fold(den * missing)
        return num, den

    def small(self, *polynomials: Polynomial) -> bool:
        """Are these small enough to look for common factors? The search is charged."""
        self.meter.spend(CALL + PYTHON * sum(map(len, polynomials)))
        return all(len(p) <= _GCD_TERMS and p.total_degree() <= _GCD_DEGREE for p in polynomials)

    def fold(self, p: Polynomial) -> Polynomial:
        """Replace variable ** degree by its polynomial, the latest variable first."""
        if not self.relations:
            return p
        degrees = p.degrees()
        for variable, degree, radicand in reversed(self.relations):
            if degrees[variable] < degree:
                continue
            self.meter.spend(CALL + PYTHON * len(p))
            by_power: dict[int, dict[tuple[int, ...], Any]] = {}
            for exponents, c in p.to_dict().items():
                whole, rest = divmod(int(exponents[variable]), degree)
                key = (*exponents[:variable], rest, *exponents[variable + 1 :])
                by_power.setdefault(whole, {})[key] = c
            p = self.zero
            for whole, part in by_power.items():
                p = p + self.times(self.context.from_dict(part), self.integer_power(radicand, whole))
            degrees = p.degrees()
        return p

    def integer_power(self, p: Polynomial, n: int) -> Polynomial:
        if len(p) <= 1:
            if p != 0 and (n > 10**6 or n * p.leading_coefficient().height_bits() > _LONGEST_COEFFICIENT + n):
                raise Stuck("a large power")
            return p**n
        if n > 64:
            raise Stuck("a large power of a sum")
        result = self.one
        for _ in range(n):
            result = self.times(result, p)
        return result

    def factor(self, p: Polynomial) -> tuple[Any, list[tuple[Polynomial, int]]]:
        """Content and factors with their powers; what is too large to be factored is left whole."""
        if p.is_constant():
            return p.leading_coefficient(), []
        content = p.term_content()
        parts = [
            (self.variables[i], int(e)) for i, e in enumerate(next(iter(content.to_dict()))) if e
        ]  # the monomial part, whatever its degree
        rest = p / content
        if rest.is_constant():
            return content.leading_coefficient() * rest.leading_coefficient(), parts
        if len(rest) > _FACTOR_TERMS or rest.total_degree() > _FACTOR_DEGREE:
            return content.leading_coefficient(), [*parts, (rest, 1)]
        try:
            constant, more = rest.factor()
        except OverflowError:  # python-flint sorts the factors, and fails at coefficients of 2^31 and more
            return content.leading_coefficient(), [*parts, (rest, 1)]
        return content.leading_coefficient() * constant, [*parts, *more]
