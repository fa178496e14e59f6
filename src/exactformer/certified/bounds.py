"""The constants of the proofs, each as the lemma of docs/certified.md derives it. Nothing else in the package invents one.

Bounds of rounding are in ulps of the limbs at hand, unless they say otherwise. All are sums and products of numbers that are not
negative, computed in floats and made larger by `UP`, which is more than all roundings on the way can take off (Lemma 0).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

UNIT = 2.0**-53  # u: half the distance from 1 to the next float64
UP = 1 + 2.0**-36  # Lemma 0: (1 + u)^65536 < UP
ROUNDINGS, ASIDE = 2**16, 2**10  # Lemma 0: roundings on any way, and how many of them are not those of its long sums
FLOOR = 2.0**-510  # of every radius: whatever underflows on the way is smaller by far
LEAST = 2.0**-1000  # of numbers that are no floats and not 0 (Lemmas 11, 14, 19): the floats next to them are right to u
TINY = 2.0**-500  # Lemma 0: more than a norm loses when the squares of its entries underflow
MAY_BE_INFINITE = np.errstate(over="ignore", invalid="ignore")  # where a bound may be: nothing is claimed then
CARRY = 0.5 + 2.0**-20  # Lemma 1: limbs dropped after a carry
SPLIT = 0.5  # Lemma 5: floats in limbs
TO_FLOAT = 4 * UNIT  # Lemma 5: limbs to a float, relative
ENTRY = 0.5 + 2.0**-9  # Lemma 6: entries of a table


def gamma(k: float) -> float:
    """Lemma 4: a sum of k products of floats, in any order, with or without FMA, is right to gamma(k) · Σ |products|."""
    return k * UNIT / (1 - k * UNIT) * UP


def product(a: int, b: int, n: int) -> float:
    """Lemma 2: a limbs times b limbs, pairs i + j ≤ n kept, carried to n limbs."""
    return (_pairs(range(a), range(b), n, n - 1) + CARRY) * UP


@functools.cache
def _pairs(first: range, second: range, kept: int, last: int) -> float:
    """Products of limbs i and j with i + j > kept, as large as they can be, in ulps of the limb `last`."""
    return sum(2.0 ** (40 - 21 * (i + j) + 21 * last) for i in first for j in second if i + j > kept)


def slices(below: float, shift: int) -> float:
    """Lemma 3: a product with slices; `below` is the largest sum of |entries| of a column over all slices but the first."""
    return (CARRY + (1 + 2.0**-20) * 2.0 ** (-1 - shift) * below) * UP


def dots(width: int, n: int) -> float:
    """Lemma 7: limb by limb dot products of `width` terms, pairs i + j ≤ n + 1 kept, carried to n limbs."""
    return (CARRY + n * width * 2.0**-23 * (1 + 2.0**-20)) * UP


NARROW = 2.0**-9 + 2.0**-19  # Lemma 6: distance from a point of a table
NARROWER = 2.0**-22 + 2.0**-42  # Lemma 8: what the limbs from the third on amount to


def horner(n: int, limbs: list[int], terms: int, largest: float, beyond: float, near: float = NARROW, start: int = 1) -> float:
    """Lemma 6: a Taylor polynomial whose first len(limbs) orders are in limbs[k] limbs and the next `terms` in floats.

    `largest` bounds the coefficients in floats, `beyond` the ones that are left out. The result has n limbs. The argument is at
    most `near`, and its first limb is the one of the number `start`.
    """
    tail = largest / (1 - near)
    error = gamma(2 * terms + 4) * tail + 2.0**-60 * 2 * largest + beyond * near**terms / (1 - near)
    error += SPLIT * 2.0 ** (-21 * (limbs[-1] - 1))
    above = limbs[-1]
    for m in reversed(limbs):
        error = near * error + _pairs(range(start, n), range(above), m, 0) + (CARRY + ENTRY) * 2.0 ** (-21 * (m - 1))
        above = m
    return error * 2.0 ** (21 * (n - 1)) * UP


def exponential(polynomial: float, n: int) -> float:
    """Lemma 8: e^x for x ≤ 3/4, from the polynomial near 1 and tables of powers of at most 1.003 and 2.12."""
    near = 1.003 * polynomial + 1.001 * ENTRY + product(n, n, n)
    return (2.12 * near + 1.004 * ENTRY + product(n, n, n) + 0.25) * UP


def float_horner(orders: list[float], beyond: float) -> float:
    """Lemma 9: the error of c_0 + d·h besides FLOAT_SELF · |result|; `orders` bounds the coefficients from order 1 on."""
    error = beyond / (1 - NARROW)
    for k in range(len(orders) - 1, -1, -1):
        here = sum(c * NARROW**i for i, c in enumerate(orders[k:]))
        following = sum(c * NARROW**i for i, c in enumerate(orders[k + 1 :]))
        error = 2 * UNIT * orders[k] + NARROW * error + 2 * UNIT * NARROW * following + 2 * UNIT * here
    return NARROW * (error + 6 * UNIT * sum(orders[:1]) + 6 * UNIT * NARROW * sum(orders[1:])) * UP


FLOAT_SELF = 3.1 * UNIT  # Lemma 9: the part of the error that is relative to the result
FLOAT_EXP = 4.2 * UNIT  # Lemma 9: relative error of e^x in floats, −80 ≤ x ≤ 3/4
FLOAT_EXP_LEAST = 2.0**-115  # Lemma 9: below −80, where the result is 0


FLOAT_SILU = 10 * UNIT  # Lemma 27: relative error of SiLU in floats
FLOAT_SILU_LEAST = 2.0**-114  # Lemma 27: and of x besides


def logistic(power: float, residual: float, n: int) -> float:
    """Lemma 27: 1/(1 + e^−x) in ulps, for a power right to `power` and 1 − t y₀ computed to be at most `residual`."""
    rounded = product(n, n, n)
    return 1.001 * (2 * rounded + residual * (residual + rounded * 2.0 ** (-21 * (n - 1))) * 2.0 ** (21 * (n - 1)) + power) * UP


def silu(inverse: float, size: Any, n: int) -> Any:
    """Lemma 27: |x|(1 − y) in ulps, with y right to `inverse` and |x| at most `size`."""
    return (inverse * size + product(n, n, n)) * UP


FLOAT_CAP = 20 * UNIT  # Lemma 30: c tanh(x/c) in floats, in units of c


def soft_cap(cap: float, share: float, size: float, inverse_error: float, cap_error: float, n: int) -> float:
    """Lemma 30: c tanh(x/c) in ulps; 2/c and c are right to so much, not in ulps, and the logistic function to `share` ulps."""
    unit = 2.0 ** (-21 * (n - 1))
    argument = product(n, n + 1, n) + inverse_error * size / unit
    return (cap * (argument / 2 + 2 * share) + product(n, n + 1, n) + 1.01 * cap_error / unit) * UP


def norm_scale(n: int, dim: int, centred: Any) -> Any:
    """Lemma 10: L2 error of C R, in ulps, with R in n + 1 limbs and ‖C‖ ≤ centred."""
    return (0.51 * 2.0**-21 * centred + math.sqrt(dim) * product(n + 1, n + 1, n)) * UP


def rms_scale(n: int, dim: int, size: Any) -> Any:
    """Lemma 21: L2 error of R x, in ulps, with R in n + 1 limbs and ‖x‖ ≤ size."""
    return (0.51 * 2.0**-21 * size + math.sqrt(dim) * product(n + 1, n, n)) * UP


def norm_gain(n: int, dim: int, gain_exact: bool, shift_exact: bool) -> float:
    """Lemma 10: L2 error of γ z + β, in ulps."""
    inexact = (0 if gain_exact else 0.75) + (0 if shift_exact else 0.75)
    return math.sqrt(dim) * (product(n, n, n) + inexact) * UP


def grown(y: Any) -> Any:
    """At least e^y − 1 for y ≥ 0: y(1 + y) while y is small, from e^y ≤ (1 − y/2^20)^(−2^20) up to 100, then infinite (Lemma 0)."""
    power = 1 / (1 - np.minimum(y, 100.0) * 2.0**-20)
    for _ in range(20):
        power = power * power
    large = np.where(np.greater(y, 100.0), np.inf, power * (1 + 2.0**-30) - 1)
    return np.where(np.less(y, 2.0**-12), y * (1 + np.minimum(y, 1.0)), large) * UP


def softmax(score: Any, power: float, length: Any, total: Any) -> Any:
    """Lemma 13: Σ |p̃ − p| for scores right to `score`, powers right to `power`, `length` of them, with the sum `total`."""
    return (grown(2 * score) + 2 * length * power / total) * UP


TURN = 0.71  # Lemma 23: the error of a cosine and a sine, as a vector, in ulps of the limb after the last
FLOAT_TURN = 6 * UNIT  # Lemma 23: L2 error of a pair that is rotated in floats, relative


def rotation(n: int, entries: int, size: Any) -> Any:
    """Lemma 23: L2 error of `entries` numbers that are rotated in pairs, in ulps, with ‖x‖ ≤ size."""
    return (math.sqrt(entries) * (2 * _pairs(range(n), range(n + 1), n, n - 1) + CARRY) + TURN * 2.0**-21 * size) * UP


COVARIANCE = 8  # Lemma 15: γ that the rounding of a squared Frobenius norm takes, in units of max‖a‖² max‖b‖²
AROUND = 8  # Lemma 31: γ that Σ p‖v − z‖² takes, in units of max‖v‖²
APART = 6  # Lemma 15: the same of a squared distance from the mean, in units of max‖a‖²
READ = 12 * UNIT  # Lemma 26: floats near q, turned back: 4u and 6u, and more than what products with these are off
ACROSS = 4  # Lemma 26: γ that Σ p (a − m)(Lᵀ b)ᵀ takes, in units of max‖a‖ max‖b‖ ‖L‖_F
POWERS = 8  # Lemma 26: γ that (CᵀC)² of a matrix of Frobenius norm 1 is off by, at most
BENT = 3  # Lemma 29: half of what the second derivative of x/ρ is at most, in units of 1/(√w ρ²)
SLOPES = {  # Lemmas 17 and 28
    "gelu_tanh": (-0.13, 1.13),
    "gelu": (-0.13, 1.13),
    "silu": (-0.1, 1.1),
    "relu": (0.0, 1.0),
    "identity": (1.0, 1.0),
}
CURVES = {"gelu_tanh": 0.8, "gelu": 0.8, "silu": 0.5}  # Lemma 28: of second derivatives
SLOPE = 2.0**-40  # Lemma 28: the rounding of a slope in floats
SETTLED = 2.0**-9  # Lemma 28: how far slopes are from 0 or 1 beyond ±4
