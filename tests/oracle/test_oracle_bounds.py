"""The lemmas of docs/oracle.md: no function of balls in floats is further from the truth than its radius says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb

from exactformer.numbers.enclosure import precision
from exactformer.numbers.formats import BFLOAT16, FLOAT16, FLOAT32
from exactformer.oracle import slicing, tables
from exactformer.oracle.arbs import Arbs
from exactformer.oracle.double import Double, two_product, two_sum
from exactformer.oracle.single import Single

KINDS = [Single, Double]


def exact(numbers: Any) -> Any:
    """The midpoints as balls of Arb."""
    if isinstance(numbers, Single):
        return Arbs.load(numbers.mid).balls
    return Arbs.load(numbers.high).balls + (0 if numbers.low is None else Arbs.load(numbers.low).balls)


def worst(numbers: Any, true: Any) -> float:
    """The largest error in units of its radius."""
    radius = np.broadcast_to(0.0 if numbers.radius is None else numbers.radius, numbers.near.shape)
    errors = [abs(a - b) for a, b in zip(exact(numbers).ravel(), np.broadcast_to(true, numbers.near.shape).ravel(), strict=True)]
    found = 0.0
    for error, r in zip(errors, radius.ravel().tolist(), strict=True):
        if error.abs_upper() > 0:
            assert error.abs_upper() <= arb(r), (error, r)
            found = max(found, float((error / arb(r)).mid())) if np.isfinite(r) else found
    return found


def fuzzy(kind: Any, x: Any, random: np.random.Generator, size: float) -> tuple[Any, Any]:
    """Balls around x, and numbers somewhere in them, in many cases at their ends."""
    radius = np.abs(x) * size * random.random(x.shape)
    share = random.choice([-1.0, 1.0, 0.5], size=x.shape) * (1 - 2**-40)
    moved = Arbs.load(x).balls + Arbs.load(radius).balls * Arbs.load(share).balls
    return (Single(x, radius) if kind is Single else Double(x, np.zeros_like(x), radius)), moved


def values(random: np.random.Generator, n: int = 400) -> Any:
    return random.normal(size=n) * 10.0 ** random.integers(-8, 9, size=n)


UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (lambda x: -(np.abs(x) % 680), lambda b: b.exp(), lambda b: b.exp()),
    "exp near 0": (lambda x: x * 1e-7 % 1 - 0.5, lambda b: b.exp(), lambda b: b.exp()),
    "exp at steps": (lambda x: -np.rint(np.abs(x) % 10000) * np.log(2) / 4096, lambda b: b.exp(), lambda b: b.exp()),
    "sqrt": (np.abs, lambda b: b.sqrt(), lambda b: b.sqrt()),
    "log1p": (lambda x: np.abs(x) % 1e6, lambda b: b.log1p(), lambda b: b.log1p()),
    "log1p of small ones": (lambda x: np.abs(x) % 2**-7, lambda b: b.log1p(), lambda b: b.log1p()),
    "logistic": (
        lambda x: np.sign(x) * (np.abs(x) % 600),
        lambda b: b.logistic(),
        lambda b: Arbs(np.array([b])).logistic().balls[0],
    ),
    "tanh": (lambda x: np.sign(x) * (np.abs(x) % 30), lambda b: b.tanh(), lambda b: b.tanh()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("size", [0.0, 2.0**-30, 2.0**-70])
def test_functions_are_as_near_as_they_say(kind: Any, name: str, size: float) -> None:
    taken, function, true = UNARY[name]
    random = np.random.default_rng(3)
    x = taken(values(random))
    with precision(500), np.errstate(all="ignore"):
        numbers, moved = fuzzy(kind, x, random, size) if size else (kind.load(x), Arbs.load(x).balls)
        assert 0 < worst(function(numbers), np.array([true(b) for b in moved], dtype=object)) <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_wide_balls_have_wide_powers(kind: Any) -> None:
    """Radii beyond 1, where e^r is more than 1 + r + r²; and balls that reach below −690, or above 1."""
    random = np.random.default_rng(11)
    x, radius = -random.uniform(0, 800, size=400), random.uniform(0, 60, size=400)
    with precision(300), np.errstate(all="ignore"):
        for mid, size in ((x, radius), (x, radius / 60), (x / 2 - 100, radius)):
            numbers = Single(mid, size) if kind is Single else Double(mid, np.zeros(400), size)
            for end in (-1.0, 1.0):
                worst(numbers.exp(), Arbs(Arbs.load(mid).balls + Arbs.load(size * end).balls).exp().balls)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.0, 2.0**-30, 2.0**-70])
def test_arithmetic_is_as_near_as_it_says(kind: Any, size: float) -> None:
    random = np.random.default_rng(4)
    x, y = values(random), values(random)
    y[:50] = -x[:50] * (1 + random.integers(-3, 4, size=50) * 2.0**-52)
    with precision(500), np.errstate(all="ignore"):
        (a, p), (b, q) = (fuzzy(kind, v, random, size) if size else (kind.load(v), Arbs.load(v).balls) for v in (x, y))
        for found, true in (
            (a + b, p + q),
            (a - b, p - q),
            (a * b, p * q),
            (a / b, p / q),
            (a * b * a, p * q * p),
            ((a + b) * (a - b) / a, (p + q) * (p - q) / p),
        ):
            worst(found, true)
        square = a[None].sum()
        worst(square, np.array([[sum(p[1:], p[0])]], dtype=object))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spread", [0, 40, 300])
def test_matrix_products_are_as_near_as_they_say(kind: Any, spread: int) -> None:
    random = np.random.default_rng(5)
    a, b = (random.normal(size=s) * 2.0 ** random.integers(-spread - 1, spread + 1, size=s) for s in ((7, 33), (33, 5)))
    with precision(2000), np.errstate(all="ignore"):
        p, q = Arbs.load(a).balls, Arbs.load(b).balls
        worst(kind.load(a) @ kind.load(b), p @ q)
        (x, p), (y, q) = fuzzy(kind, a, random, 2.0**-40), fuzzy(kind, b, random, 2.0**-40)
        worst(x @ y, p @ q)
        low = a * 2.0**-54 * random.random(a.shape)
        if kind is Double:
            worst(Double(a, low) @ Double(b), (Arbs.load(a).balls + Arbs.load(low).balls) @ Arbs.load(b).balls)


@pytest.mark.parametrize("kind", KINDS)
def test_the_normal_distribution_is_as_near_as_it_says(kind: Any) -> None:
    random = np.random.default_rng(6)
    x = np.concatenate(
        [random.normal(size=200) * 3, random.uniform(-37, 37, size=200), [0.0, -0.0, 1 / 64, -39.99, 50.0, -1e200, 1e300]]
    )
    with precision(4000), np.errstate(all="ignore"):
        worst(kind.load(x).normal(), Arbs.load(x).normal().balls)


def test_slices_are_what_they_were_cut_from() -> None:
    random = np.random.default_rng(7)
    a = random.normal(size=(4, 50)) * 2.0 ** random.integers(-20, 20, size=(4, 50))
    slices, _, whole = slicing._slices(a, None, 20, 8, -1)
    assert whole
    assert np.array_equal(sum(slices[::-1]), a)
    for i, part in enumerate(slices):
        top = 2.0 ** np.frexp(np.abs(a).max(axis=-1, keepdims=True))[1]
        units = part / (top * 2.0 ** (-20 * (i + 1)))
        assert np.array_equal(units, np.rint(units))
        assert np.abs(units).max() <= 2**20


def test_errors_of_sums_and_products_are_exact() -> None:
    random = np.random.default_rng(8)
    a, b = values(random), values(random)
    with precision(300):
        for (s, rest), true in (
            (two_sum(a, b), Arbs.load(a).balls + Arbs.load(b).balls),
            (two_product(a, b), Arbs.load(a).balls * Arbs.load(b).balls),
        ):
            assert all(x == 0 for x in Arbs.load(s).balls + Arbs.load(rest).balls - true)


def test_tables_are_what_they_stand_for() -> None:
    table = tables.exponential()
    with precision(400):
        for j in range(0, tables.STEPS, 37):
            error = abs(arb(float(table.high[j])) + arb(float(table.low[j])) - (arb(2).log() * j / tables.STEPS).exp())
            assert error < arb(2) ** -104
        step = sum(map(arb, table.steps), arb(0)) - arb(2).log() / tables.STEPS
        assert abs(step) < arb(2) ** -126
        for part in table.steps[:2]:
            mantissa, _ = arb(part).man_exp()
            assert int(mantissa).bit_length() <= 31


@pytest.mark.parametrize("form", [FLOAT16, BFLOAT16, FLOAT32])
def test_floats_are_rounded_as_fractions_are(form: Any) -> None:
    from fractions import Fraction

    random = np.random.default_rng(9)
    x = random.normal(size=500) * 2.0 ** random.integers(form.quantum - 2, form.largest + 2, size=500)
    grid = np.ldexp(np.rint(np.ldexp(random.random(500), form.precision + 1)), random.integers(form.quantum - 3, 5, size=500))
    edge = (2 - 2.0**-form.precision) * 2.0**form.largest
    for v in (*x, *grid, 0.0, edge, np.nextafter(edge, 0), -edge, 2.0 ** (form.quantum - 1), 3 * 2.0 ** (form.quantum - 1)):
        assert form.nearest(np.array([v]))[0] == form.nearest_rational(Fraction(float(v)))
