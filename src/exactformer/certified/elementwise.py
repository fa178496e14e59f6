"""e^x and activations of limbs (Lemmas 6 and 8) and of floats (Lemma 9). Nothing here comes from a mathematical library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.limbs import (
    BASE,
    BITS,
    HALF,
    Limbs,
    OutOfRangeError,
    carry,
    check_first,
    convolved,
    multiply,
    resized,
    split,
    to_float,
    ulp,
)
from exactformer.certified.tables import FINE, FLOAT_LEAST, GAIN, GRID, STEP, TOP, Table, activation_table, orders, powers
from exactformer.model.arithmetics.roles import Activation

_CHUNK = 8192  # entries at a time, so that their limbs stay in the cache
_FLOAT_ORDERS = 7
_DOUBLED = (6, 11, 21)  # limbs that Newton's rule fills: from the 52 bits of a float, 104, 208 and 416
_NEAR = 2.0 ** (BITS - GRID - 1) + 2  # first limb of a distance from a point, at most


def exp(x: Limbs) -> tuple[Limbs, float]:
    """e^x for x ≤ 3/4, and the error in ulps."""
    n, shape = len(x), x.shape
    flat, out = check_first(x, 2.0**30).reshape(n, -1), np.empty((n, x[0].size))
    table = powers(n)
    limbs, degree = orders(n, GAIN)

    def fixed(k: int, m: int) -> Any:
        return table.coefficients[k][:m, None]

    for start in range(0, flat.shape[1], _CHUNK):
        part = flat[:, start : start + _CHUNK]
        point, low = _nearest(part, table.first, TOP)
        steps = _distance(part, point, low)[0]
        near = _horner(part[2:], 2, limbs, degree, fixed, lambda k: table.inverse_factorials[k])
        near = multiply(near, np.take(table.fine[:n], (steps + FINE).astype(np.intp), axis=1), n)
        power = multiply(near, np.take(table.limbs[:n], (point - table.first).astype(np.intp), axis=1), n)
        power[:, low] = 0
        out[:, start : start + _CHUNK] = power
    polynomial = bounds.horner(n, limbs, degree + 1 - len(limbs), 1.0, 1.0, bounds.NARROWER, 2)
    return out.reshape(shape), bounds.exponential(polynomial, n)


def logistic(x: Limbs) -> tuple[Limbs, float]:
    """1/(1 + e^−x) for x ≥ 0, and the error in ulps: by Newton's rule, of which the last step alone is believed (Lemma 27)."""
    n = len(x)
    total, power_error = exp(-x)
    total[0] += 1
    near, largest = split(1 / to_float(total), 4)[0], 0.0
    for m in (*(m for m in _DOUBLED if m < n), n):
        near, _ = resized(near, m)
        residual = -multiply(total[:m], near, m)
        residual[0] += 1
        largest = float(np.abs(to_float(residual)).max(initial=0.0)) * (1 + bounds.TO_FLOAT)
        near = carry(near + multiply(near, residual, m), m)
    return near, bounds.logistic(power_error, largest, n)


def _silu(x: Limbs) -> tuple[Limbs, Any]:
    """max(x, 0) − |x|(1 − y) with y = 1/(1 + e^−|x|), and the error of every entry in ulps (Lemma 27)."""
    n, shape = len(x), x.shape
    flat = check_first(x).reshape(n, -1)
    out, errors = np.empty((n, x[0].size)), np.empty(x[0].size)
    for start in range(0, flat.shape[1], _CHUNK):
        part = flat[:, start : start + _CHUNK]
        near = to_float(part)
        positive = near > 0  # the float has the sign of x (Lemma 5)
        size = np.where(positive, part, -part)
        beyond, inverse = logistic(size)
        beyond = -beyond
        beyond[0] += 1
        out[:, start : start + _CHUNK] = carry(part * positive - multiply(size, beyond, n), n)
        errors[start : start + _CHUNK] = bounds.silu(inverse, np.abs(near) * (1 + bounds.TO_FLOAT), n)
    return out.reshape(shape), errors.reshape(shape[1:])


def activate(x: Limbs, kind: Activation) -> tuple[Limbs, Any]:
    """An activation of every entry, and the error in ulps: of all, or of every one."""
    if kind == "identity":
        return x, 0.0
    if kind == "relu":
        return x * (to_float(x) > 0), 0.0  # the float has the sign of x (Lemma 5)
    if kind == "silu":
        return _silu(x)
    n, shape = len(x), x.shape
    flat, out = check_first(x, 2.0**30).reshape(n, -1), np.empty((n, x[0].size))
    table = activation_table(kind, n)
    limbs, degree = orders(n)
    for start in range(0, flat.shape[1], _CHUNK):
        part = flat[:, start : start + _CHUNK]
        point, outside = _nearest(part, table.first, -table.first, both=True)
        distance = _distance(part, point, outside)
        place = (point - table.first).astype(np.intp)

        value = _horner(distance, 1, limbs, degree, *_gatherers(table, place))
        if outside.any():
            value[:, outside] = part[:, outside] * (part[0, outside] > 0)
        out[:, start : start + _CHUNK] = value
    largest = float(np.abs(table.floats[len(limbs) : degree + 1]).max()) * bounds.UP
    error = bounds.horner(n, limbs, degree + 1 - len(limbs), largest, table.beyond)
    return out.reshape(shape), max(error, table.outside / ulp(n))


def _gatherers(table: Table, place: Any) -> tuple[Callable[[int, int], Any], Callable[[int], Any]]:
    """The coefficients of an order at these points: in limbs, and in floats."""
    return lambda k, m: np.take(table.limbs[k][:m], place, axis=1), lambda k: np.take(table.floats[k], place)


def _nearest(x: Limbs, first: int, last: int, both: bool = False) -> tuple[Any, Any]:
    """The number of the point next to x, and where x is beyond the points: only below them, unless `both` are expected."""
    point = np.rint((x[0] + x[1] * 2.0**-BITS) * 2.0**GRID)
    outside = point < first
    if both:
        outside |= point > last
    elif point.size and point.max() > last:
        raise OutOfRangeError("an exponential of more than 3/4")
    return np.clip(point, first, last), outside


def _distance(x: Limbs, point: Any, outside: Any) -> Limbs:
    """x − point in limbs, without the first one, which is 0 (Lemma 6); its first limb is 0 where x is outside."""
    result = x[1:].copy()
    first = result[0]
    first += x[0] * BASE
    first -= point * 2.0 ** (BITS - GRID)
    first[outside] = 0
    if first.size and np.abs(first).max() > _NEAR:
        raise ArithmeticError("a point that is not the nearest")
    return result


def _horner(
    distance: Limbs, start: int, limbs: list[int], degree: int, exact: Callable[[int, int], Any], rounded: Callable[[int], Any]
) -> Limbs:
    """Σ c_k d^k: the high orders in floats, the low ones in as many limbs as each needs (Lemma 6).

    `distance` begins with the limb of the number `start`, as those before it are 0.
    """
    near = to_float(distance[:3]) * 2.0 ** (-BITS * start)
    total = np.zeros_like(near)
    for k in range(degree, len(limbs) - 1, -1):
        total *= near
        total += rounded(k)
    above, rest = np.empty((limbs[-1], *near.shape)), total
    for limb in above:
        np.rint(rest, out=limb)
        rest -= limb
        rest *= BASE
    for k in range(len(limbs) - 1, -1, -1):
        m = limbs[k]
        parts = np.empty((m + 1, *near.shape))
        for i in range(m + 1):
            convolved(distance, above, i, parts[i], start=start)
        parts[:m] += exact(k, m)
        above = carry(parts, m)
    return above


def exp_float(x: Any) -> Any:
    """e^x for floats x ≤ 3/4, with a relative error of FLOAT_EXP; 0 below −80, where e^x is at most FLOAT_EXP_LEAST."""
    table = powers(6)
    if x.size and not x.max() <= 0.75:  # not a number, too
        raise OutOfRangeError("an exponential of more than 3/4")
    low = x < FLOAT_LEAST
    point = np.rint(np.maximum(x, FLOAT_LEAST) * 2.0**GRID)
    near = np.where(low, 0.0, x - point * STEP)
    total = np.full_like(near, table.inverse_factorials[_FLOAT_ORDERS - 1])
    for k in range(_FLOAT_ORDERS - 2, -1, -1):
        total *= near
        total += table.inverse_factorials[k]
    total *= table.floats[(point - (FLOAT_LEAST << GRID)).astype(np.intp)]
    total[low] = 0
    return total


def _logistic_float(x: Any) -> Any:
    """1/(1 + e^−x) in floats: right to 9u of itself and to 2^−114."""
    power = exp_float(-np.abs(x))
    return np.where(x > 0, 1.0, power) / (1 + power)


def steepness(x: Any, radius: Any, kind: Activation) -> Any:
    """At least every |f(x + d) − f(x)|/|d| for |d| ≤ radius, entry by entry, with floats near x (Lemma 28)."""
    if kind == "identity":
        return np.ones_like(x)
    radius = radius + bounds.TO_FLOAT * np.abs(x)
    if kind == "relu":
        return np.where(x + radius * bounds.UP < 0, 0.0, 1.0)
    curve, steepest = bounds.CURVES[kind], max(map(abs, bounds.SLOPES[kind]))
    if kind == "silu":
        share = _logistic_float(x)
        slope = np.abs(share * (1 + x * _logistic_float(-x))) + bounds.SLOPE
    else:
        table = activation_table(kind, 6)
        point = np.clip(np.rint(x * 2.0**GRID), table.first, -table.first)
        slope = np.abs(np.take(table.floats[1], (point - table.first).astype(np.intp))) + curve * bounds.NARROW
        slope = np.where(np.abs(x) > -table.first * STEP, (x > 0) + bounds.SETTLED, slope)
    return np.minimum(slope + curve * radius, steepest) * bounds.UP


def activate_float(x: Any, kind: Activation) -> tuple[Any, Any]:
    """An activation of floats, and the error of every entry."""
    if kind == "identity":
        return x, np.zeros_like(x)
    if kind == "relu":
        return np.where(x > 0, x, 0.0), np.zeros_like(x)
    if kind == "silu":
        value = x * _logistic_float(x)
        return value, (bounds.FLOAT_SILU * np.abs(value) + bounds.FLOAT_SILU_LEAST * np.abs(x)) * bounds.UP
    if x.size and not np.abs(x).max() <= HALF:
        raise OutOfRangeError("a value beyond 2^20")
    table = activation_table(kind, 6)
    point = np.rint(x * 2.0**GRID)
    outside = np.abs(point) > -table.first
    np.clip(point, table.first, -table.first, out=point)
    near = x - point * STEP
    near[outside] = 0
    place = (point - table.first).astype(np.intp)
    total = np.take(table.floats[_FLOAT_ORDERS - 1], place)
    for k in range(_FLOAT_ORDERS - 2, -1, -1):
        total *= near
        total += np.take(table.floats[k], place)
    total[outside] = np.where(x[outside] > 0, x[outside], 0.0)
    largest = [float(np.abs(row).max()) * bounds.UP for row in table.floats[1:_FLOAT_ORDERS]]
    return total, (bounds.FLOAT_SELF * np.abs(total) + bounds.float_horner(largest, table.beyond) + table.outside) * bounds.UP
