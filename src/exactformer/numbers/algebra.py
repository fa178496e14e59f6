"""Normal forms: a closed form as a quotient of polynomials in independent-looking quantities ("generators").

The generators are powers e^(b/n) and roots p^(1/n), logarithms, sines and cosines, erf, π, and atoms (numbers whose inside is
left out of the proof). Three kinds of relation are used, each an identity of real numbers:

- exponents are written over a basis that is linearly independent over the rationals, so e^a·e^b and e^(a+b) meet;
- roots and logarithms are split over the factors of their argument, each factor with its sign proved by a ball;
- root^n is replaced by its radicand, sin² by 1 − cos².

So a normal form 0/d *proves* that the number is zero (denominators are products of divisors, which are proved not to be zero).
A normal form that is not 0/d proves nothing: whether the number differs from zero is for enclosures to show. docs/numbers.md
spells the argument out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import lcm
from typing import Any, NamedTuple

from flint import arb, fmpq, fmpq_mat

from exactformer.numbers.budget import Budget
from exactformer.numbers.enclosure import ball, precision
from exactformer.numbers.nodes import Exact, Named
from exactformer.numbers.ratios import CALL, PYTHON, Meter, Polynomial, Ratio, Ring, Stuck, factors

_SIGN_BITS = (256, 1024)
_SIZES = (6, 14, 40, 100)  # numbers of generators, tried in turn
_MOST_TURNS = 1024  # multiples of an angle that are written out


class _Finer(Exception):
    """A generator must be replaced by its `degree`-th root."""

    def __init__(self, key: Any, degree: int) -> None:
        self.key, self.degree = key, degree


class _Full(Exception):
    """More generators are needed."""


class Generator(NamedTuple):
    """What a variable of the polynomials stands for.

    exp: e^(inside/degree) · root: inside^(1/degree) · log, sin, cos, erf: of inside · pi · atom: the number `inside`
    """

    kind: str
    inside: Any
    degree: int = 1


def normal_form(
    root: Named, budget: Budget, opaque: Callable[[Named], Any] | None = None, multiples: bool = False
) -> tuple[Algebra, Ratio]:
    """The normal form of `root`. Where `opaque(node)` is not None, the node is an atom, the same for equal answers.

    With `multiples`, cos 2x is 2 cos² x − 1 where both stand in it: forms grow, and more is proved.
    """
    finer: dict[Any, int] = {("exp", 0): _exponent_denominator(root, opaque, budget)}
    sizes = [size for size in _SIZES if size <= budget.generators] or [max(1, budget.generators)]
    size, meter = 0, Meter(budget.work)
    for _ in range(24):
        algebra = Algebra(budget, opaque, finer, sizes[size], meter, multiples)
        try:
            return algebra, algebra.form(root)
        except _Finer as request:
            finer[request.key] = lcm(finer.get(request.key, 1), request.degree)
        except _Full:
            size += 1
            if size == len(sizes):
                raise Stuck("too many generators") from None
    raise Stuck("too many refinements")


def _exponent_denominator(root: Named, opaque: Callable[[Named], Any] | None, budget: Budget) -> int:
    """The common denominator of the rational exponents of e: found beforehand, it saves refinements."""
    result, seen, stack = 1, {id(root)}, [root]
    while stack:
        node = stack.pop()
        if node is not root and opaque is not None and opaque(node) is not None:
            continue
        for arg in node.args:
            if type(arg) is Exact:
                if node.op == "exp":
                    result = lcm(result, int(arg.value.q))
            elif id(arg) not in seen:
                seen.add(id(arg))
                stack.append(arg)  # type: ignore[arg-type]
        if len(seen) > budget.nodes:
            raise Stuck("too many nodes")
    return result


class Algebra(Ring):
    """One query: a ring of polynomials, what its variables mean, and the forms of the nodes met so far."""

    def __init__(
        self,
        budget: Budget,
        opaque: Callable[[Named], Any] | None,
        finer: dict[Any, int],
        size: int,
        meter: Meter,
        multiples: bool = False,
    ) -> None:
        super().__init__(budget, size, meter)
        self.opaque, self.finer, self.multiples = opaque, finer, multiples
        self.angles: list[Ratio] = []  # no two with a rational ratio; sines and cosines are of multiples of parts of them
        self.meaning: list[Generator] = []
        self.index: dict[Any, int] = {}
        self.exponents = [self.constant(fmpq(1))]  # a basis, linearly independent over the rationals
        self.balls: dict[tuple[int, int], arb] = {}
        self.memo: dict[int, Ratio] = {}
        self.cut = False  # was an atom used?

    # -- from the graph to a form
    def form(self, root: Named) -> Ratio:
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in self.memo:
                stack.pop()
                continue
            name = None if node is root or self.opaque is None else self.opaque(node)
            if node.exact is not None and (self.opaque is None or name is not None):
                # Among atoms, how a value was computed shows more than what it is: with x + y = 1 known, x − 1/2 hides x − y.
                self.memo[id(node)] = self.constant(node.exact.value)
                continue
            if name is not None:
                self.cut = True
                self.memo[id(node)] = self.variable(("atom", name), Generator("atom", node))
                continue
            missing = [arg for arg in node.args if type(arg) is Named and id(arg) not in self.memo]
            if missing:
                stack.extend(missing)
                continue
            if len(self.memo) >= self.budget.nodes:
                raise Stuck("too many nodes")
            args = [self.constant(a.value) if type(a) is Exact else self.memo[id(a)] for a in node.args]
            self.memo[id(node)] = self._apply(node, args)
        return self.memo[id(root)]

    def _apply(self, node: Named, args: list[Ratio]) -> Ratio:
        match node.op:
            case "lin":
                integers, constant, denominator = node.data
                terms = [Ratio(c * x.num, x.den) for c, x in zip(integers, args, strict=True)]
                result = self.sum([self.constant(fmpq(constant)), *terms])
                return self.reduce(result.num, result.den * denominator)
            case "dot":
                half = len(args) // 2
                return self.sum([self.multiply(x, y) for x, y in zip(args[:half], args[half:], strict=True)])
            case "div":
                return self.multiply(args[0], Ratio(args[1].den, args[1].num))
            case "pow":
                return self.power(args[0], node.data)
            case "exp":
                return self.exp(args[0])
            case "log":
                return self.log(args[0])
            case "tanh":
                square = self.exp(self.sum([args[0], args[0]]))
                return self.reduce(square.num - square.den, square.num + square.den)
            case "erfc":
                erf = self._odd_or_even("erf", args[0])
                return self.reduce(erf.den - erf.num, erf.den)
            case "pi":
                return self.variable("pi", Generator("pi", None))
            case _:
                return self._odd_or_even(node.op, args[0])

    # -- generators
    def variable(self, key: Any, generator: Generator) -> Ratio:
        """The variable for `key`, made on first use."""
        if key not in self.index:
            if len(self.meaning) == len(self.variables):
                raise _Full
            self.index[key] = len(self.meaning)
            self.meaning.append(generator)
        return Ratio(self.variables[self.index[key]], self.one)

    def exp(self, a: Ratio) -> Ratio:
        """e^a over the basis of exponents; e^(c·log p) is p^c."""
        powers, a = self._split_logarithms(a)
        coordinates = self._coordinates(a)
        if coordinates is None:
            self.exponents.append(a)
            coordinates = [fmpq(0)] * (len(self.exponents) - 1) + [fmpq(1)]
        num, den = self.one, self.one
        for j, c in enumerate(coordinates):
            if c == 0:
                continue
            degree = self.finer.get(("exp", j), 1)
            if (c * degree).q != 1:
                raise _Finer(("exp", j), int(c.q))
            base = self.variable(("exp", j), Generator("exp", self.exponents[j], degree)).num
            n = int(c * degree)
            num, den = (num * base**n, den) if n > 0 else (num, den * base**-n)
        for power in powers:
            num, den = self.times(num, power.num), self.times(den, power.den)
        return self.reduce(num, den) if powers else Ratio(num, den)

    def _split_logarithms(self, a: Ratio) -> tuple[list[Ratio], Ratio]:
        """The powers p^c for the terms c·log p of an exponent, c rational, and the rest of it."""
        powers, rest, degrees = [], a.num, a.num.degrees()
        for i, generator in enumerate(self.meaning):
            if generator.kind == "log" and degrees[i] == 1:
                c = a.num.derivative(i)  # a = (c·log p + …) / den
                scaled, den = c * a.den.leading_coefficient(), a.den * c.leading_coefficient()
                if scaled == den:
                    powers.append(self._factor_power(generator.inside, fmpq(c.leading_coefficient(), a.den.leading_coefficient())))
                    rest = rest - c * self.variables[i]
        return powers, self.reduce(rest, a.den) if powers else a

    def _coordinates(self, a: Ratio) -> list[fmpq] | None:
        """`a` as a rational combination of the basis of exponents, or None."""
        if a.num.is_constant() and a.den.is_constant():
            rational = fmpq(int(a.num.leading_coefficient()) if a.num != 0 else 0, int(a.den.leading_coefficient()))
            return [rational] + [fmpq(0)] * (len(self.exponents) - 1)
        ratios = [*self.exponents, a]
        common = self.one
        for ratio in ratios:
            shared = common.gcd(ratio.den) if self.small(common, ratio.den) else self.one
            common = self.times(common, ratio.den / shared)
        columns = [self.times(ratio.num, common / ratio.den).to_dict() for ratio in ratios]
        self.meter.spend(PYTHON * sum(map(len, columns)) * len(columns))
        monomials = list({m: None for column in columns for m in column})
        table = fmpq_mat(len(monomials), len(columns), [fmpq(column.get(m, 0)) for m in monomials for column in columns])
        reduced, rank = table.rref()
        last = len(columns) - 1
        if rank == len(columns):
            return None
        return [reduced[row, last] for row in range(last)]  # the basis is independent: its columns are the pivots

    def power(self, a: Ratio, r: fmpq) -> Ratio:
        if r.q == 1:
            n = int(r.p)
            num, den = (a.num, a.den) if n > 0 else (a.den, a.num)
            return self.reduce(self.integer_power(num, abs(n)), self.integer_power(den, abs(n)))
        result = self.constant(fmpq(1))
        for base, exponent in self._positive_factors(a):
            result = self.multiply(result, self._factor_power(base, exponent * r))
        return result

    def _factor_power(self, base: Polynomial, r: fmpq) -> Ratio:
        """base ** r for one positive factor."""
        j = self._as_variable(base)
        if j is not None and self.meaning[j].kind == "exp":
            if r.q != 1:
                raise _Finer(next(key for key, i in self.index.items() if i == j), self.meaning[j].degree * int(r.q))
            return self._whole_power(base, int(r))
        if j is not None and self.meaning[j].kind == "root":
            base, r = self.meaning[j].inside, r / self.meaning[j].degree
        whole = int(r.floor())
        rest = r - whole
        result = self._whole_power(base, whole)
        if rest == 0:
            return result
        key = ("root", _terms(base))
        degree = lcm(self.finer.get(key, 1), int(rest.q))
        if key in self.index and self.meaning[self.index[key]].degree % degree:
            raise _Finer(key, degree)
        fresh = key not in self.index
        root = self.variable(key, Generator("root", base, degree)).num
        if fresh:
            self.relations.append((self.index[key], degree, base))
        steps = int(rest * self.meaning[self.index[key]].degree)
        return self.multiply(result, Ratio(root**steps, self.one))

    def _whole_power(self, base: Polynomial, n: int) -> Ratio:
        p = self.integer_power(base, abs(n))
        return Ratio(p, self.one) if n >= 0 else Ratio(self.one, p)

    def log(self, a: Ratio) -> Ratio:
        terms = []
        for base, exponent in self._positive_factors(a):
            j = self._as_variable(base)
            if j is not None and self.meaning[j].kind == "exp":
                inside = self.meaning[j].inside
                exponent, value = exponent / self.meaning[j].degree, inside
            else:
                if j is not None and self.meaning[j].kind == "root":
                    base, exponent = self.meaning[j].inside, exponent / self.meaning[j].degree
                value = self.variable(("log", _terms(base)), Generator("log", base))
            terms.append(self.reduce(value.num * int(exponent.p), value.den * int(exponent.q)))
        return self.sum(terms)

    def _odd_or_even(self, op: str, a: Ratio) -> Ratio:
        """sin, cos, erf, with the sign of the argument pulled out."""
        if a.num == 0:
            return self.constant(fmpq(op == "cos"))
        negative = a.num.leading_coefficient() < 0
        if negative:
            a = Ratio(-a.num, a.den)
        sign = -1 if negative and op != "cos" else 1
        if op in ("sin", "cos"):
            known = self._at_multiple_of_pi(op, a)
            if known is not None:
                return Ratio(sign * known.num, known.den)
            if self.multiples:
                return Ratio(sign * self._of_multiple(op, a), self.one)
        j = self._same_argument(("erf",) if op == "erf" else ("cos", "sin"), a)
        if op == "erf":
            return Ratio(sign * self.variable(("erf", j), Generator("erf", a)).num, self.one)
        cos = self.variable(("cos", j), Generator("cos", a))
        if op == "cos":
            return cos
        fresh = ("sin", j) not in self.index
        sin = self.variable(("sin", j), Generator("sin", a)).num
        if fresh:
            self.relations.append((self.index["sin", j], 2, self.one - cos.num**2))
        return Ratio(sign * sin, self.one)

    def _of_multiple(self, op: str, a: Ratio) -> Polynomial:
        """cos nu = T_n(cos u) and sin nu = sin u · U_(n−1)(cos u), of the largest part u that all such angles are multiples of."""
        j, share = self._angle(a)
        degree = self.finer.get(("angle", j), 1)
        if (share * degree).q != 1:
            raise _Finer(("angle", j), int(share.q))
        n = int(share * degree)
        if n > _MOST_TURNS:
            raise Stuck("a large multiple of an angle")
        unit = self.reduce(self.angles[j].num, self.angles[j].den * degree)
        fresh = ("sin", j) not in self.index
        cos = self.variable(("cos", j), Generator("cos", unit)).num
        sin = self.variable(("sin", j), Generator("sin", unit)).num
        if fresh:
            self.relations.append((self.index["sin", j], 2, self.one - cos**2))
        earlier, chebyshev = (self.one, cos) if op == "cos" else (self.zero, self.one)
        for _ in range(n - 1):
            earlier, chebyshev = chebyshev, 2 * cos * chebyshev - earlier
        return chebyshev if op == "cos" else sin * chebyshev

    def _angle(self, a: Ratio) -> tuple[int, fmpq]:
        """`a` as a positive rational multiple of an angle: its number, and the multiple."""
        for j, b in enumerate(self.angles):
            left, right = self.times(a.num, b.den), self.times(b.num, a.den)
            share = fmpq(left.leading_coefficient(), right.leading_coefficient())
            if share > 0 and self.vanishes(left * int(share.q) - right * int(share.p)):
                return j, share
        self.angles.append(a)
        return len(self.angles) - 1, fmpq(1)

    def _same_argument(self, kinds: tuple[str, ...], a: Ratio) -> int:
        """A number for `a`: that of an equal argument met before, or a new one."""
        for key, i in self.index.items():
            if key[0] in kinds:
                b = self.meaning[i].inside
                if self.vanishes(self.times(a.num, b.den) - self.times(b.num, a.den)):
                    return int(key[1])
        return len(self.meaning)

    def _at_multiple_of_pi(self, op: str, a: Ratio) -> Ratio | None:
        """sin or cos of a multiple of π/4 or π/6."""
        if "pi" not in self.index or not a.den.is_constant() or len(a.num) != 1 or a.num.total_degree() != 1:
            return None
        if a.num.degrees()[self.index["pi"]] != 1:
            return None
        turns = fmpq(int(a.num.leading_coefficient()), int(a.den.leading_coefficient())) / 2  # a = 2π·turns
        if op == "sin":
            turns = fmpq(1, 4) - turns  # sin a = cos(π/2 − a)
        turns = turns - turns.floor()
        if turns > fmpq(1, 2):
            turns = 1 - turns  # cos is even
        sign = 1
        if turns > fmpq(1, 4):
            turns, sign = fmpq(1, 2) - turns, -1
        radicand = {fmpq(0): 4, fmpq(1, 12): 3, fmpq(1, 8): 2, fmpq(1, 6): 1, fmpq(1, 4): 0}.get(turns)  # cos = √radicand / 2
        if radicand is None:
            return None
        root = self.power(self.constant(fmpq(radicand)), fmpq(1, 2)) if radicand else Ratio(self.zero, self.one)
        return self.reduce(sign * root.num, 2 * root.den)

    # -- zero
    def vanishes(self, p: Polynomial) -> bool:
        """Is the number that `p` stands for proved to be zero?

        With a square root s in it, p = a + b·s. If a² − b²s² is proved zero and a − b·s is not zero, then p is zero.
        """
        p = self.fold(p)
        if p == 0:
            return True
        degrees = p.degrees()
        for variable, degree, radicand in reversed(self.relations):
            if degrees[variable] == 1 and degree == 2:
                self.meter.spend(CALL + PYTHON * len(p))
                with_root = {m: c for m, c in p.to_dict().items() if m[variable]}
                b = self.context.from_dict({(*m[:variable], 0, *m[variable + 1 :]): c for m, c in with_root.items()})
                a = p - self.context.from_dict(with_root)
                if self.value(a - b * self.variables[variable], _SIGN_BITS[0]).contains(0):
                    return False
                return self.vanishes(self.times(a, a) - self.times(self.times(b, b), radicand))
        return False

    # -- factors and their signs
    def _positive_factors(self, a: Ratio) -> Iterator[tuple[Polynomial, fmpq]]:
        """a > 0 as a product of powers of positive factors."""
        found = []
        for polynomial, direction in ((a.num, 1), (a.den, -1)):
            constant, parts = self.factor(polynomial)
            for prime, e in factors(abs(constant)):
                found.append((self.context.constant(prime), fmpq(direction * e)))
            for base, e in parts:
                found.append((base if self.sign(base) > 0 else -base, fmpq(direction * int(e))))
        return iter(found)

    def _as_variable(self, p: Polynomial) -> int | None:
        if len(p) != 1 or p.total_degree() != 1 or p.leading_coefficient() != 1:
            return None
        return next(i for i, e in enumerate(next(iter(p.to_dict()))) if e)

    def sign(self, p: Polynomial) -> int:
        """The sign of a factor, by enclosure."""
        for bits in _SIGN_BITS:
            if bits > max(self.budget.bits, _SIGN_BITS[0]):
                break
            value = self.value(p, bits)
            if value > 0:
                return 1
            if value < 0:
                return -1
        raise Stuck("a sign that enclosures do not show")

    def value(self, p: Polynomial, bits: int) -> arb:
        """A ball around the number that a polynomial stands for."""
        self.meter.spend(CALL + PYTHON * len(p))
        with precision(bits):
            result = arb(0)
            for exponents, c in p.to_dict().items():
                term = arb(c)
                for i, e in enumerate(exponents):
                    if e:
                        term *= self._variable_ball(i, bits) ** int(e)
                result += term
            return result

    def _variable_ball(self, i: int, bits: int) -> arb:
        if (i, bits) not in self.balls:
            kind, inside, degree = self.meaning[i]
            match kind:
                case "pi":
                    value = arb.pi()
                case "atom":
                    value = ball(inside, bits)
                case "root":
                    value = self.value(inside, bits).root(degree)
                case "log":
                    value = self.value(inside, bits).log()
                case _:
                    argument = self.value(inside.num, bits) / self.value(inside.den, bits)
                    value = (argument / degree).exp() if kind == "exp" else getattr(argument, kind)()
            self.balls[i, bits] = value
        return self.balls[i, bits]


def _terms(p: Polynomial) -> tuple[Any, ...]:
    """A polynomial as a key."""
    return tuple(sorted((tuple(map(int, m)), int(c)) for m, c in p.to_dict().items()))
