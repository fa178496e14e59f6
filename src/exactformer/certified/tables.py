"""Tables of Taylor coefficients at the multiples of 2^−8, from Arb. Built once for the most limbs asked for so far."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from flint import acb, arb, arb_series

from exactformer.certified.bounds import NARROW
from exactformer.certified.limbs import BITS, Limbs, from_integers, multiply, to_float
from exactformer.numbers.enclosure import precision

GRID = 8  # bits of the step between points
STEP = 2.0**-GRID
_FLOAT_BITS = 46  # that the orders in floats supply, after what their bound takes off
_SPARE = 64  # bits of the balls beyond those of the tables
_HALF, _NEAR = arb(1) / 2, arb(2) ** -10
_NARROW = arb(2) ** -150  # of balls whose midpoints become floats
_GROW = 3  # tables are built for so many limbs more than asked for, lest each attempt builds them again


def orders(n: int, gain: int = GRID + 1) -> tuple[list[int], int]:
    """For n limbs: the limbs that each order needs, for as long as floats do not suffice; and the degree (Lemma 6).

    `gain` are the bits that an order adds.
    """
    bits = BITS * (n - 1)
    in_limbs = max(1, math.ceil((bits + 4 - _FLOAT_BITS) / gain))
    return [max(2, min(n, math.ceil((bits + 3 - gain * k) / BITS) + 1)) for k in range(in_limbs)], math.ceil((bits + 10) / gain)


@dataclass(frozen=True)
class Table:
    """f near every point: f(point + d) = Σ c_k d^k."""

    n: int
    first: int  # the number of the first point, in steps
    limbs: list[Limbs]  # for each order in limbs, [limbs, points]
    floats: Any  # [orders, points]
    beyond: float  # no coefficient of any order is larger
    outside: float  # the error of 0 or x instead of f(x) beyond the last point


def nearest_integer(ball: arb, bits: int) -> int:
    """The integer nearest to ball · 2^bits, or next to it: the error is below 1/2 + 2^−10 (Lemma 6)."""
    scaled = ball * _power(bits)
    if not scaled.rad() < _NEAR:
        raise ArithmeticError("a table of too little precision")
    return int((scaled.mid() + _HALF).floor().unique_fmpz())


@functools.cache
def _power(bits: int) -> arb:
    """2^bits, exactly."""
    return arb(2) ** bits


def _table(n: int, last: int, series: Callable[[int, int], Sequence[Any]], beyond: float, outside: float) -> Table:
    """Of an f with f(−x) = f(x) − x: what it is at −p follows from p, number by number (Lemma 6)."""
    limb_counts, degree = orders(n)
    points = (last << GRID) + 1
    integers = [np.empty(points, dtype=object) for _ in limb_counts]
    floats = np.empty((degree + 1, 2 * points - 1))
    before = flint.ctx.cap
    with precision(BITS * n + _SPARE):
        flint.ctx.cap = degree + 1
        try:
            for place in range(points):
                coefficients = series(place, degree + 1)
                for k, m in enumerate(limb_counts):
                    integers[k][place] = nearest_integer(coefficients[k], BITS * (m - 1))
                there, back = points - 1 + place, points - 1 - place
                for k in range(degree + 1):
                    floats[k, there] = _near_float(coefficients[k])
                    floats[k, back] = -floats[k, there] if k % 2 else floats[k, there]
                floats[0, back] = _near_float(coefficients[0] - arb(place) / 2**GRID)
                floats[1, back] = _near_float(1 - coefficients[1])
        finally:
            flint.ctx.cap = before
    limbs = []
    for k, (at, m) in enumerate(zip(integers, limb_counts, strict=True)):
        limbs.append(from_integers(np.concatenate([_mirrored(at, k, BITS * (m - 1))[:0:-1], at]), m))
    return Table(n, -(last << GRID), limbs, floats, beyond, outside)


def _near_float(ball: arb) -> float:
    if not ball.rad() < _NARROW:
        raise ArithmeticError("a table of too little precision")
    return float(ball.mid())


def _mirrored(integers: Any, order: int, bits: int) -> Any:
    """Coefficients of an order at 0, −1, −2, … steps from those at 0, 1, 2, …, times 2^bits: f(−p + d) = f(p − d) − p + d."""
    if order == 0:
        return integers - np.arange(len(integers), dtype=object) * (1 << (bits - GRID))
    return (1 << bits) - integers if order == 1 else -integers if order % 2 else integers


def _gelu_tanh(at: int, length: int) -> Any:
    """x/2·(1 + tanh u) = x/(1 + e^−2u), u = √(2/π)·(x + 0.044715 x³), at points that are not negative"""
    x = arb_series([arb(at) / 2**GRID, 1], length)
    return x / (1 + (-_twice_inner(x)).exp())


def _twice_inner(x: Any) -> Any:
    return (x + x * x * x * (arb(44715) / 10**6)) * (2 * (2 / arb.pi()).sqrt())


def _gelu(at: int, length: int) -> Any:
    """x/2·erfc(−x/√2), whose derivatives come from that of Φ: the density φ with φ′ = −x φ."""
    x0 = arb(at) / 2**GRID
    cumulative = [(-x0 / arb(2).sqrt()).erfc() / 2]
    density = [(-x0 * x0 / 2).exp() / (2 * arb.pi()).sqrt()]
    for k in range(length - 1):  # (k + 1) φ_{k+1} = −x0 φ_k − φ_{k−1}
        density.append(-(x0 * density[k] + (density[k - 1] if k else 0)) / (k + 1))
        cumulative.append(density[k] / (k + 1))
    return [x0 * c + (cumulative[k - 1] if k else 0) for k, c in enumerate(cumulative)]


def _far(kind: str, x: int) -> arb:
    """|f(x) − x| = |f(−x)|, which falls with x from 2 on (Lemma 8)."""
    ball = arb(x)
    return ball / (1 + _twice_inner(ball).exp()) if kind == "gelu_tanh" else ball / 2 * (ball / arb(2).sqrt()).erfc()


def _largest_around(kind: str, last: int) -> float:
    """A bound of |f| in all discs of radius 1 around the points, so of every Taylor coefficient there (Cauchy; Lemma 6)."""
    largest, parts = 0.0, 8
    width = arb(0, 1 / (2 * parts))
    with precision(64):
        for i in range(-(last + 1) * parts, (last + 1) * parts):
            for j in range(parts):  # f of the conjugate is the conjugate
                z = acb(arb(2 * i + 1) / (2 * parts) + width, arb(2 * j + 1) / (2 * parts) + width)
                if kind == "gelu":
                    value = z / 2 * (-z / arb(2).sqrt()).erfc()
                else:
                    twice = _twice_inner(z)
                    value = z / (1 + (-twice).exp()) if i >= 0 else z * twice.exp() / (1 + twice.exp())
                size = float(value.abs_upper())
                if not math.isfinite(size):
                    raise ArithmeticError("a table without a bound of its function")
                largest = max(largest, size)
    return largest * (1 + 2.0**-20)


_built: dict[str, Any] = {}


def activation_table(kind: str, n: int) -> Table:
    """For GELU, on [−last, last]."""
    table: Table | None = _built.get(kind)
    if table is None or table.n < n:
        n = max(6, n if table is None else n + _GROW - 1)
        bits = BITS * (n - 1) + 4
        with precision(128):
            last = next(x for x in range(4, 64) if _far(kind, x) < arb(2) ** -bits)
        series = _gelu_tanh if kind == "gelu_tanh" else _gelu
        table = _table(n, last, series, _largest_around(kind, last), 2.0**-bits)
        _built[kind] = table
    return table


@dataclass(frozen=True)
class Powers:
    """e^(j/2^8) for first ≤ j, in limbs and in floats; e^(k/2^21) for |k| ≤ FINE; 1/k! in limbs, and in floats."""

    n: int
    first: int
    limbs: Limbs  # [n, points]
    floats: Any  # from −80 on
    fine: Limbs  # [n, 2 FINE + 1]
    coefficients: list[Limbs]
    inverse_factorials: list[float]


TOP = 3 << (GRID - 2)  # e^x is asked for x ≤ 3/4
FLOAT_LEAST = -80
FINE = (1 << (BITS - GRID - 1)) + 2  # steps of 2^−21 from a point of the table, at most
GAIN = BITS + 1  # bits of an order, where an argument has its first two limbs taken off
_ROW = 1 << GRID  # points from one integer to the next


def powers(n: int) -> Powers:
    """Most entries are products of two from Arb, with a limb more than they are kept with (Lemma 8)."""
    table: Powers | None = _built.get("exp")
    if table is None or table.n < n:
        n = max(6, n if table is None else n + _GROW - 1)
        least = min(FLOAT_LEAST, -math.ceil((BITS * (n - 1) + 3) * math.log(2)))
        limb_counts, degree = orders(n, GAIN)
        with precision(BITS * (n + 1) + _SPARE):
            steps = [(arb(r) / _ROW).exp() for r in range(_ROW)]
            whole = [arb(k).exp() for k in range(least, 1)]
            far, near = ([(arb(k) / 2**BITS).exp() for k in each] for each in (range(-FINE, FINE + 1, _ROW), range(_ROW)))
            inverses = [arb(1) / math.factorial(k) for k in range(degree + 1)]
            coefficients = [_digits([c], m)[:, 0] for c, m in zip(inverses, limb_counts, strict=False)]
            table = Powers(
                n, least << GRID, _crossed(whole, steps, n), _floats(whole[FLOAT_LEAST - least :], steps),
                _crossed(far, near, n)[:, : 2 * FINE + 1], coefficients, [1 / math.factorial(k) for k in range(degree + 1)],
            )  # fmt: skip
        _built["exp"] = table
    return table


def _crossed(rows: list[arb], columns: list[arb], n: int) -> Limbs:
    """All products in n limbs, row by row, right to ENTRY ulps (Lemma 8)."""
    x, y = _digits(rows, n + 1), _digits(columns, n + 1)
    return np.ascontiguousarray(multiply(x[:, :, None], y[:, None, :], n + 1)[:n]).reshape(n, -1)


def _floats(rows: list[arb], columns: list[arb]) -> Any:
    """All products as floats, right to 2u and 2^−70: of 1 to 2 times a power of two each (Lemma 9)."""
    scales = [math.frexp(float(row.mid()))[1] - 1 for row in rows]
    near = to_float(_crossed([row * arb(2) ** -scale for row, scale in zip(rows, scales, strict=True)], columns, 6))
    return np.ldexp(near.reshape(len(rows), -1), np.array(scales)[:, None]).ravel()


def _digits(balls: list[arb], n: int) -> Limbs:
    return from_integers(np.array([nearest_integer(ball, BITS * (n - 1)) for ball in balls], dtype=object), n)


def tables_digest() -> str:
    """The SHA-256 of all tables in use, by name."""
    digest = hashlib.sha256()
    for name in sorted(_built):
        table = _built[name]
        arrays = [table.limbs, table.fine, table.floats] if name == "exp" else [*table.limbs, table.floats]
        digest.update(f"{name} {table.n} {NARROW}".encode())
        for values in arrays:
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
