"""Proved enclosures of numbers: balls, and rationals around them. The only module that sets a precision.

python-flint keeps the working precision in one place for the whole process, so it is set under a lock and put back. Ball
arithmetic is right at any precision: were it changed behind our back, enclosures would be wider, never wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import arb, arb_mat, fmpq, fmpz

from exactformer.numbers.as_written import brief
from exactformer.numbers.budget import DEFAULT, WORKING_BITS
from exactformer.numbers.errors import Undecided
from exactformer.numbers.nodes import Enclosure, Exact, Named, Number, refuse_undefined

_LOCK = threading.RLock()
_NARROW, _HALF = arb(2) ** -10, arb(2) ** -1
_LARGEST_DEGREE = 2**31  # of roots that Arb takes directly
WIDEST = 2**20  # binary exponents beyond this are not written out as integers


class precision:
    """Compute with balls of `bits` bits; one thread at a time. (`contextmanager` would take longer than many a ball.)"""

    __slots__ = ("_before", "_bits")

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> None:
        _LOCK.acquire()
        self._before = flint.ctx.prec
        flint.ctx.prec = self._bits

    def __exit__(self, *error: object) -> None:
        flint.ctx.prec = self._before
        _LOCK.release()


def ball(x: Exact | Named, bits: int) -> arb:
    """A ball around `x`, computed with `bits` bits. It may be infinite where that is too few."""
    if type(x) is Exact:
        with precision(bits):
            return arb(x.value)
    assert type(x) is Named
    if x.bits < bits:
        with precision(bits):
            _evaluate(x, bits)
    return x.ball


def may_be(x: Named, q: fmpq, bits: int) -> bool:
    """Does the ball of `bits` bits around `x` leave `q` possible?"""
    b = ball(x, bits)
    with precision(bits):  # a rational is rounded when it meets a ball
        return bool((b - arb(q)).contains(0))


def integer_multiples(numbers: Sequence[Named], factor: int) -> list[Any]:
    """For each number, the only integer that factor · number can be, or None: a first look, not a proof."""
    with precision(WORKING_BITS):
        for x in numbers:
            if x.bits < WORKING_BITS:
                _evaluate(x, WORKING_BITS)
    with precision(2 * WORKING_BITS):
        balls: list[Any] = [x.ball for x in numbers]
        products = [b * factor for b in balls]
        return [_only_integer(b) for b in products]


def _only_integer(b: arb) -> Any:
    if b.abs_upper() < _HALF:  # also where the exponent is too far from 0 for an integer to be looked for
        return fmpz(0) if b.contains(0) else None
    return b.unique_fmpz() if b.rad() < _NARROW else None


def remember_product(rows: list[list[Any]], columns: list[list[Any]], entries: list[list[Any]]) -> None:
    """Give the entries of a matrix product their balls at once: one product of ball matrices, far cheaper than node by node."""
    numbers = [x for row in (*rows, *columns) for x in row]
    if any(type(x) is not Exact and (type(x) is not Named or x.bits < WORKING_BITS) for x in numbers):
        return  # something has no ball yet: it gets one when it is asked for
    with precision(WORKING_BITS):
        a = arb_mat(len(rows), len(rows[0]), [_of(x) for row in rows for x in row])
        b = arb_mat(len(columns), len(columns[0]), [_of(x) for column in columns for x in column])
        product = (a * b.transpose()).tolist()
    for balls_row, entry_row in zip(product, entries, strict=True):
        for value, entry in zip(balls_row, entry_row, strict=True):
            if type(entry) is Named and entry.bits < WORKING_BITS:
                entry.ball = value
                entry.bits = WORKING_BITS


def _evaluate(root: Named, bits: int) -> None:
    """Give `root` and all it is made of balls of `bits` bits. A stack, not recursion: graphs may be deep."""
    stack = [root]
    while stack:
        node = stack[-1]
        if node.bits >= bits:
            stack.pop()
            continue
        if node.exact is not None:
            node.ball = arb(node.exact.value)
        else:
            missing = [arg for arg in node.args if type(arg) is Named and arg.bits < bits]
            if missing:
                stack.extend(missing)
                continue
            node.ball = _RULES[node.op](node)
        node.bits = bits  # after the ball: whoever reads `bits` without the lock finds a ball at least as good
        stack.pop()


def _of(x: Exact | Named) -> arb:
    return x.ball if type(x) is Named else arb(x.value)  # type: ignore[union-attr]


def _linear(node: Named) -> arb:
    integers, constant, denominator = node.data
    result = arb(constant)
    for c, x in zip(integers, node.args, strict=True):
        if c == 1:
            result += x.ball  # type: ignore[union-attr]
        elif c == -1:
            result -= x.ball  # type: ignore[union-attr]
        else:
            result += x.ball * c  # type: ignore[union-attr]
    return result if denominator == 1 else result / denominator


def _dot(node: Named) -> arb:
    args: tuple[Any, ...] = node.args
    half = len(args) // 2
    result = arb(0)
    for x, y in zip(args[:half], args[half:], strict=True):
        result += x.ball * y.ball
    return result


def _power(node: Named) -> arb:
    base, r = _of(node.args[0]), node.data
    p, q = int(r.p), int(r.q)
    if q > _LARGEST_DEGREE:
        return (base.log() * p / q).exp()
    if q == 2:
        base = base.sqrt()
    elif q != 1:
        base = base.root(q)
    if p > 1 and base.contains(0):  # of such a ball, python-flint takes no power
        furthest = base.abs_upper() ** p if base != 0 else arb(0)
        return furthest.union(-furthest if p % 2 else arb(0))
    return base if p == 1 else base**p


_RULES: dict[str, Callable[[Named], arb]] = {
    "lin": _linear,
    "dot": _dot,
    "div": lambda node: _of(node.args[0]) / node.args[1].ball,  # type: ignore[union-attr]
    "pow": _power,
    "exp": lambda node: _of(node.args[0]).exp(),
    "log": lambda node: _of(node.args[0]).log(),
    "sin": lambda node: _of(node.args[0]).sin(),
    "cos": lambda node: _of(node.args[0]).cos(),
    "tanh": lambda node: _of(node.args[0]).tanh(),
    "erf": lambda node: _of(node.args[0]).erf(),
    "erfc": lambda node: _of(node.args[0]).erfc(),
    "pi": lambda node: arb.pi(),
}


def enclose(x: Number, bits: int = 64) -> Enclosure:
    """Two dyadic rationals around `x`, at most 2**-bits · |x| apart (2**-bits where x cannot be distinguished from 0).

    >>> from exactformer.numbers import exp
    >>> low, high = enclose(exp(1), 64)
    >>> float(low) == float(high) == 2.718281828459045, high - low < Fraction(1, 2**62)
    (True, True)
    """
    if bits < 1:
        raise ValueError(f"an enclosure of {bits} bits: ask for 1 or more")
    refuse_undefined(x)
    b, working = good_ball(x, bits)
    with precision(2 * working):  # so that rounding the ends outwards does not widen what was asked for
        return Enclosure(Fraction(*dyadic(b.lower(), x)), Fraction(*dyadic(b.upper(), x)))


def good_ball(x: Number, bits: int) -> tuple[arb, int]:
    """A ball of `bits` good bits, and the precision that it took."""
    for working in _precisions(bits):
        with precision(working):
            b = ball(x, working)  # type: ignore[arg-type]
            if b.is_finite() and (b.rel_accuracy_bits() > bits + 2 or (b.contains(0) and b.rad() < arb(2) ** (-bits - 2))):
                return b, working
    raise Undecided(f"an enclosure of {brief(x)} to {bits} bits", working)


def _precisions(bits: int) -> Iterator[int]:
    """Working precisions for `bits` good ones: first that of decisions, whose balls are there already."""
    working, cap = max(WORKING_BITS, bits), bits + DEFAULT.bits
    while working < cap:
        yield working
        working = max(2 * working, bits + 64)
    yield cap


def dyadic(end: arb, x: Number | None) -> tuple[int, int]:
    mantissa, exponent = end.man_exp()
    if abs(int(exponent)) > WIDEST:
        raise magnitude(int(exponent), x)
    return (int(mantissa) << int(exponent), 1) if exponent >= 0 else (int(mantissa), 1 << -int(exponent))


def magnitude(exponent: int, x: Number | None) -> Undecided:
    what, power = "a ball" if x is None else brief(x), exponent.bit_length() - 1
    about = str(exponent) if power < 100 else f"({'-' * (exponent < 0)}2^{power})"
    return Undecided(f"the magnitude of {what} as a fraction: it is about 2^{about}", flint.ctx.prec)
