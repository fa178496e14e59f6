"""Proved enclosures of numbers, and the decimals and floats that they prove. The only module that sets a precision.

python-flint keeps the working precision in one place for the whole process, so it is set under a lock and put back. Ball
arithmetic is right at any precision: were it changed behind our back, enclosures would be wider, never wrong.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, NamedTuple

import flint
from flint import arb, arb_mat, fmpq, fmpz

from exactformer.numbers.budget import DEFAULT, WORKING_BITS
from exactformer.numbers.decimals import fixed, nearest_decimal, outwards, times_power
from exactformer.numbers.errors import Undecided
from exactformer.numbers.number import Exact, Named, Number, refuse_undefined

_LOCK = threading.RLock()
_NARROW, _HALF = arb(2) ** -10, arb(2) ** -1
_LARGEST_DEGREE = 2**31  # of roots that Arb takes directly
_WIDEST = 2**20  # binary exponents beyond this are not written out as integers
_LONGEST_EXPONENT = 1000  # bits of a decimal exponent that is written down
_BEYOND_FLOATS = 1100  # binary exponents of float64 lie within this, those of halves of its smallest numbers too


class Enclosure(NamedTuple):
    """low ≤ value ≤ high, proved; both are dyadic rationals."""

    low: Fraction
    high: Fraction


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with balls of `bits` bits; one thread at a time."""
    with _LOCK:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


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
        return  # something has no ball yet: leave it to be asked for
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
    """Two dyadic rationals around `x`, at most 2**-bits · |x| apart (2**-bits where x cannot be told from 0).

    >>> from exactformer.numbers import exp
    >>> low, high = enclose(exp(1), 64)
    >>> float(low) == float(high) == 2.718281828459045, high - low < Fraction(1, 2**62)
    (True, True)
    """
    if bits < 1:
        raise ValueError(f"an enclosure of {bits} bits: ask for 1 or more")
    refuse_undefined(x)
    b, working = _good_ball(x, bits)
    with precision(2 * working):  # so that rounding the ends outwards does not widen what was asked for
        return Enclosure(Fraction(*_dyadic(b.lower(), x)), Fraction(*_dyadic(b.upper(), x)))


def _good_ball(x: Number, bits: int) -> tuple[arb, int]:
    """A ball of `bits` good bits, and the precision that it took."""
    for working in _precisions(bits):
        with precision(working):
            b = ball(x, working)  # type: ignore[arg-type]
            if b.is_finite() and (b.rel_accuracy_bits() > bits + 2 or (b.contains(0) and b.rad() < arb(2) ** (-bits - 2))):
                return b, working
    raise Undecided(f"an enclosure of {display.short(x)} to {bits} bits", working)


class _Ends(NamedTuple):
    """Numerators and denominators with low ≤ value / 10**power ≤ high. The power is 0 but for numbers like e^1000000."""

    low: tuple[int, int]
    high: tuple[int, int]
    power: int = 0


def _ends(x: Number, bits: int) -> _Ends:
    """The ends of an enclosure of `bits` good bits."""
    b, working = _good_ball(x, bits)
    return _ball_ends(b, x, 2 * working)


def _ball_ends(b: arb, x: Number | None = None, working: int = 0) -> _Ends:
    """The ends of a finite ball, computed with `working` bits; `x` is what a message calls it."""
    working = working or b.bits() + WORKING_BITS
    with precision(working):
        low, high = b.lower(), b.upper()
        if b.contains(0) or max(abs(int(low.man_exp()[1])), abs(int(high.man_exp()[1]))) <= _WIDEST:
            return _Ends(_dyadic(low, x), _dyadic(high, x))
        size = int(low.man_exp()[1])
        if size.bit_length() > _LONGEST_EXPONENT:
            raise _magnitude(size, x)
    with precision(
        working + 2 * _LONGEST_EXPONENT
    ):  # the power has that many bits, and its error becomes a relative one of 10**power
        power = int((abs(low).log() / arb(10).log()).mid().floor().unique_fmpz())
        scale = arb(10) ** power
        return _Ends(_dyadic((low / scale).lower(), x), _dyadic((high / scale).upper(), x), power)


def _precisions(bits: int) -> Iterator[int]:
    """Working precisions for `bits` good ones: what decisions used first, so that no ball is computed for nothing."""
    working, cap = max(WORKING_BITS, bits), bits + DEFAULT.bits
    while working < cap:
        yield working
        working = max(2 * working, bits + 64)
    yield cap


def _dyadic(end: arb, x: Number | None) -> tuple[int, int]:
    mantissa, exponent = end.man_exp()
    if abs(int(exponent)) > _WIDEST:
        raise _magnitude(int(exponent), x)
    return (int(mantissa) << int(exponent), 1) if exponent >= 0 else (int(mantissa), 1 << -int(exponent))


def _magnitude(exponent: int, x: Number | None) -> Undecided:
    what, power = "a ball" if x is None else display.short(x), exponent.bit_length() - 1
    about = str(exponent) if power < 100 else f"({'-' * (exponent < 0)}2^{power})"
    return Undecided(f"the magnitude of {what} as a fraction: it is about 2^{about}", flint.ctx.prec)


def digits(x: Number, n: int = 12) -> str:
    """`x` correctly rounded to `n` significant decimals; `Undecided` on a proved tie or at the precision cap.

    >>> from exactformer.numbers import exact, exp, sqrt
    >>> digits(exp(-100), 3), digits(exact("2/3"), 4), digits(sqrt(2) * 10**6, 9), digits(exact(0), 5)
    ('3.72e-44', '0.6667', '1414213.56', '0')
    >>> digits(exp(10**9), 5)
    '8.0030e434294481'
    """
    if n < 1:
        raise ValueError(f"{n} digits: ask for 1 or more")
    refuse_undefined(x)
    value = x.exact if type(x) is Named else x
    if type(value) is Exact:
        rounded = nearest_decimal(int(value.value.p), int(value.value.q), n)
        if rounded is None:
            raise Undecided(f"{n} digits of {display.short(value)}: it is a tie between two decimals", 0)
        return rounded
    assert type(x) is Named
    if decide.sign(x) == 0:
        return "0"
    bits = n * 10 // 3 + 8
    cap = bits + DEFAULT.bits
    while True:
        low, high, power = _ends(x, bits)
        a, b = nearest_decimal(*low, n), nearest_decimal(*high, n)
        if a is not None and a == b:
            return times_power(a, power)
        if bits >= cap:
            raise Undecided(f"{n} digits of {display.short(x)}", bits)
        bits = min(2 * bits, cap)


def fixed_decimals(x: Number, decimals: int) -> str:
    """`x` correctly rounded to that many decimals after the point; an exact tie is rounded away from 0.

    >>> from exactformer.numbers import exact, exp
    >>> fixed_decimals(100 * exp(100) / (exp(100) + 2), 1), fixed_decimals(exact("1/8"), 2)
    ('100.0', '0.13')
    """
    refuse_undefined(x)
    value = x.exact if type(x) is Named else x
    if type(value) is Exact:
        return fixed(int(value.value.p), int(value.value.q), decimals)
    bits = decimals * 10 // 3 + 16
    if ball(x, WORKING_BITS).abs_upper() < arb(2) ** -bits:  # type: ignore[arg-type]
        return fixed(0, 1, decimals)
    while True:
        low, high = enclose(x, bits)
        a, b = (fixed(end.numerator, end.denominator, decimals) for end in (low, high))
        if a == b:
            return a
        if bits >= 2 * DEFAULT.bits:
            raise Undecided(f"{decimals} decimals of {display.short(x)}", bits)
        bits *= 2


def decimal_bounds(x: Number, n: int = 12) -> tuple[str, str]:
    """Two decimals of `n` significant digits around `x`: an enclosure rounded outwards.

    >>> from exactformer.numbers import exp
    >>> decimal_bounds(exp(1), 6)
    ('2.71828', '2.71829')
    """
    return _outwards(_ends(x, n * 10 // 3 + 8), n, x)


def _outwards(ends: _Ends, n: int, x: Number | None = None) -> tuple[str, str]:
    """Bounds are read back as fractions, so they are not given where a fraction would fill the memory."""
    if ends.power:
        raise _magnitude(ends.power * 3322 // 1000, x)  # log2(10) ≈ 3.322
    return outwards(*ends.low, n, down=True), outwards(*ends.high, n, down=False)


def ball_bounds(b: arb, n: int = 12) -> tuple[str, str]:
    """Two decimals of `n` significant digits around a finite ball.

    >>> ball_bounds(arb(1) / 3, 4), ball_bounds(arb("0.5"), 4)
    (('0.3333', '0.3334'), ('0.5000', '0.5000'))
    """
    return _outwards(_ball_ends(b), n)


def ball_digits(b: arb, n: int = 12) -> str:
    """What all numbers in a finite ball are, correctly rounded to `n` significant decimals or to fewer; "" where they differ.

    >>> ball_digits(arb(1) / 3, 4), ball_digits(arb("1.24 +/- 0.001")), ball_digits(arb("204 +/- 2")), ball_digits(arb("0.5"))
    ('0.3333', '1.24', '', '0.5')
    """
    low, high, power = _ball_ends(b)
    for k in range(n, 0, -1):
        rounded = nearest_decimal(*low, k)
        if rounded is None or rounded != nearest_decimal(*high, k):
            continue
        if power:
            return times_power(rounded, power)
        plain = "e" not in rounded
        if low == high and outwards(*low, k, down=True) == outwards(*low, k, down=False):  # it is that decimal
            return rounded.rstrip("0").rstrip(".") if plain and "." in rounded else rounded
        padded = plain and len(rounded.lstrip("-").partition(".")[0]) > k  # zeros before the point that are not proved
        return "" if padded else rounded
    return ""


def nearest_float(x: Number) -> float:
    """The float64 nearest to `x`, proved: both ends of an enclosure round to it."""
    refuse_undefined(x)
    if type(x) is Exact:
        return float(x.fraction)
    assert type(x) is Named
    sign = decide.sign(x)
    if sign == 0:
        return 0.0
    for bits in DEFAULT.ladder:  # what is far smaller than any float, or far larger, is not written out
        b = ball(x, bits)
        if b.abs_upper() < arb(2) ** -_BEYOND_FLOATS:
            return math.copysign(0.0, sign)
        if b.abs_lower() > arb(2) ** _BEYOND_FLOATS:
            raise OverflowError(f"{display.short(x)} is beyond the range of a float")
        if b.is_finite():
            break
    for bits in (64, 128, 256, 512, 1024, DEFAULT.bits):
        try:
            low, high = enclose(x, bits)
            if float(low) == float(high):
                return float(low)
        except OverflowError:
            raise OverflowError(f"{display.short(x)} is beyond the range of a float") from None
    raise Undecided(f"the float nearest to {display.short(x)}", bits)


from exactformer.numbers import decide, display  # noqa: E402
