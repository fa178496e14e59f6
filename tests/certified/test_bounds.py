"""Each bound is the formula of its lemma in docs/certified.md, computed here with fractions: never below it, hardly above it.

So a constant that shrinks or a term that is dropped is noticed also where it is too small to be seen in an error. Arguments are
chosen so that each term in turn is the largest.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from gate_checks import largest_second_derivative
from limb_checks import as_arb, fractions, function
from moving_checks import numbers

from exactformer.certified import bounds, constants, norms, weights
from exactformer.certified.tables import FINE, orders
from exactformer.numbers.enclosure import precision

U = Fraction(1, 2**53)
CARRY, ENTRY, SPLIT = Fraction(1, 2) + Fraction(1, 2**20), Fraction(1, 2) + Fraction(1, 2**9), Fraction(1, 2)
NARROW, NARROWER = Fraction(1, 2**9) + Fraction(1, 2**19), Fraction(1, 2**22) + Fraction(1, 2**42)
HUGE = [0.0, 1.0, 2.0**40, 2.0**90, 2.0**200]


def agrees(bound: Any, formula: Fraction) -> bool:
    """Rounded outwards, by less than 2^−30 of it."""
    return formula <= Fraction(float(bound)) <= formula * (1 + Fraction(1, 2**30))


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def gamma(k: int) -> Fraction:
    return k * U / (1 - k * U)


def product(a: int, b: int, n: int) -> Fraction:
    pairs = [i + j for i in range(a) for j in range(b) if i + j > n]
    return sum((power(40 - 21 * level + 21 * (n - 1)) for level in pairs), Fraction(0)) + CARRY


def horner(
    n: int, limbs: list[int], terms: int, largest: Fraction, beyond: Fraction, near: Fraction = NARROW, start: int = 1
) -> Fraction:
    error = gamma(2 * terms + 4) * largest / (1 - near) + 2 * largest * power(-60) + beyond * near**terms / (1 - near)
    error += SPLIT * power(-21 * (limbs[-1] - 1))
    for m, above in zip(limbs[::-1], [limbs[-1], *limbs[::-1]], strict=False):
        dropped = sum((power(40 - 21 * (i + j)) for i in range(start, n) for j in range(above) if i + j > m), Fraction(0))
        error = near * error + dropped + (CARRY + ENTRY) * power(-21 * (m - 1))
    return error * power(21 * (n - 1))


def float_horner(coefficients: list[Fraction], beyond: Fraction) -> Fraction:
    def value(k: int) -> Fraction:
        return sum((c * NARROW**i for i, c in enumerate(coefficients[k:])), Fraction(0))

    error = beyond / (1 - NARROW)
    for k in range(len(coefficients) - 1, -1, -1):
        error = 2 * U * coefficients[k] + NARROW * error + 2 * U * NARROW * value(k + 1) + 2 * U * value(k)
    return NARROW * (error + 6 * U * coefficients[0] + 6 * U * NARROW * sum(coefficients[1:], Fraction(0)))


def test_the_constants_are_those_of_the_lemmas() -> None:
    assert (float(CARRY), float(ENTRY), float(SPLIT), float(NARROW)) == (bounds.CARRY, bounds.ENTRY, bounds.SPLIT, bounds.NARROW)
    rest = 1 / (1 - power(-21))  # of balanced limbs below a limb, all at their largest
    assert Fraction(1, 2) * rest <= CARRY
    assert max(Fraction(1, 2) + power(-10), Fraction(1, 2) * rest + (Fraction(1, 2) + power(-10)) * power(-21)) <= ENTRY
    assert (2**12 + 2) * power(-21) + power(20 - 42) * rest <= NARROW
    assert power(20 - 42) * rest <= NARROWER == Fraction(bounds.NARROWER)
    half = Fraction(1, 2) + power(
        -10
    )  # Lemma 8: entries of two short tables, of at most 1 and e, their product, and a limb dropped
    assert Fraction(1, 2) * rest + (Fraction(28, 10) * half + half + half**2 + product(20, 20, 20)) * power(-21) <= ENTRY
    first, second = 1 - Fraction(1, 2) * rest, Fraction(1, 2) * rest + U  # Lemma 5: a first limb of 1, and what follows it
    assert Fraction(bounds.TO_FLOAT) >= U * (1 + second / first) * (1 + power(-18)) / (1 - 4 * U)
    assert (bounds.FLOAT_SELF, bounds.FLOAT_EXP, bounds.FLOAT_EXP_LEAST) == (3.1 * 2.0**-53, 4.2 * 2.0**-53, 2.0**-115)
    assert (bounds.COVARIANCE, bounds.APART) == (8, 6)
    with precision(128):
        assert arb(-80).exp() < as_arb(power(-115))
        assert (arb(3) / 4).exp() < as_arb(Fraction(212, 100))
        assert as_arb(FINE * power(-21)).exp() < as_arb(Fraction(1003, 1000))
        assert as_arb(NARROWER).exp() < as_arb(Fraction(10009, 10000))  # with its error, below 1.001
        assert as_arb(FINE * power(-21) + NARROWER).exp() < as_arb(Fraction(1003, 1000))  # with its error, below 1.004


@pytest.mark.parametrize("n", range(2, 20))
def test_bounds_of_limbs(n: int) -> None:
    for k in (1, 97, 1000 + n, 50_000 - n):
        assert agrees(bounds.gamma(k), gamma(k))
    for a, b in ((n, n), (n, n + 1), (n + 1, n + 1)):
        assert agrees(bounds.product(a, b, n), product(a, b, n))
    for width in (1, 64, 8191, 2**22):
        assert agrees(bounds.dots(width, n), CARRY + n * width * power(-23) * (1 + power(-20)))
        dropped = sum(power(40 - 21 * (i + j) + 21 * (n - 1)) for i in range(n) for j in range(n) if i + j > n + 1)
        assert n * width * power(-23) * (1 + power(-20)) >= width * dropped
    for below in HUGE:
        assert agrees(bounds.slices(below, n), CARRY + (1 + power(-20)) * power(-1 - n) * Fraction(below))


@pytest.mark.parametrize("n", [4, 6, 9, 15, 25])
def test_bounds_of_functions(n: int) -> None:
    limbs, degree = orders(n)
    for largest in HUGE:
        for beyond in HUGE:
            for counts, terms in ((limbs, degree + 1 - len(limbs)), ([2], 3), ([n, 2], 1)):
                formula = horner(n, counts, terms, Fraction(largest), Fraction(beyond))
                assert agrees(bounds.horner(n, counts, terms, largest, beyond), formula)
                formula = horner(n, counts, terms, Fraction(largest), Fraction(beyond), NARROWER, 2)
                assert agrees(bounds.horner(n, counts, terms, largest, beyond, bounds.NARROWER, 2), formula)
        near = Fraction(1003, 1000) * Fraction(largest) + Fraction(1001, 1000) * ENTRY + product(n, n, n)
        whole = Fraction(212, 100) * near + Fraction(1004, 1000) * ENTRY + product(n, n, n) + Fraction(1, 4)
        assert agrees(bounds.exponential(largest, n), whole)


def test_bounds_of_functions_of_floats() -> None:
    for place in range(6):
        for beyond in HUGE:
            coefficients = [1.0] * 6
            coefficients[place] = 2.0**90
            formula = float_horner(list(map(Fraction, coefficients)), Fraction(beyond))
            assert agrees(bounds.float_horner(coefficients, beyond), formula)


@pytest.mark.parametrize("n", [4, 8])
def test_bounds_of_norms(n: int) -> None:
    for root in (1, 7, 90):
        for centred in HUGE:
            formula = Fraction(51, 100) * power(-21) * Fraction(centred) + root * product(n + 1, n + 1, n)
            assert agrees(bounds.norm_scale(n, root**2, centred), formula)
        for gain in (False, True):
            for shift in (False, True):
                inexact = Fraction(3, 4) * ((not gain) + (not shift))
                assert agrees(bounds.norm_gain(n, root**2, gain, shift), root * (product(n, n, n) + inexact))


@pytest.mark.parametrize("n", [4, 8, 25])
def test_bounds_of_rms_norms_and_rotations(n: int) -> None:
    """Lemmas 21 and 23: pairs of n and n + 1 limbs are dropped beyond i + j = n, once or twice."""
    for root in (1, 7, 90):
        for size in HUGE:
            formula = Fraction(51, 100) * power(-21) * Fraction(size) + root * product(n + 1, n, n)
            assert agrees(bounds.rms_scale(n, root**2, size), formula)
            formula = root * (2 * product(n + 1, n, n) - CARRY) + Fraction(71, 100) * power(-21) * Fraction(size)
            assert agrees(bounds.rotation(n, root**2, size), formula)


def test_constants_of_rotations() -> None:
    """Lemma 23: a cosine and a sine are off by 1/2 + 2^−10 each; in floats by 2u, with a product and a sum."""
    assert Fraction(bounds.TURN) ** 2 >= 2 * (Fraction(1, 2) + power(-10)) ** 2
    assert Fraction(bounds.FLOAT_TURN) ** 2 >= 2 * (Fraction(401, 100) * U + power(-119)) ** 2
    assert (bounds.TURN, bounds.FLOAT_TURN) == (0.71, 6 * 2.0**-53)
    assert (bounds.READ, bounds.ACROSS, bounds.POWERS) == (12 * 2.0**-53, 4, 8)


def test_bounds_of_silu() -> None:
    """Lemma 27, with each term in turn the largest."""
    for n in (4, 25):
        for one, other in ((0.0, 0.0), (2.0**90, 0.0), (0.0, 2.0**-30), (0.0, 2.0**-200)):
            unit = power(-21 * (n - 1))
            squared = Fraction(other) * (Fraction(other) + product(n, n, n) * unit) / unit
            formula = Fraction(1001, 1000) * (Fraction(one) + squared + 2 * product(n, n, n))
            assert agrees(bounds.logistic(one, other, n), formula)
            assert agrees(bounds.silu(one, 3.0, n), 3 * Fraction(one) + product(n, n, n))
    assert (bounds.FLOAT_SILU, bounds.FLOAT_SILU_LEAST, bounds.SLOPE) == (10 * 2.0**-53, 2.0**-114, 2.0**-40)


def test_bounds_of_soft_caps() -> None:
    """Lemma 30, with each term in turn the largest."""
    large = 2.0**20
    cases = [(0.0, 0.0, 0.0, 0.0), (large, 0.0, 0.0, 0.0), (0.0, 9.0, large, 0.0), (0.0, 0.0, 0.0, large)]
    for n in (4, 25):
        unit = power(-21 * (n - 1))
        for share, size, inverse, error in cases:
            argument = product(n, n + 1, n) + Fraction(inverse) * Fraction(size) / unit
            formula = 50 * (argument / 2 + 2 * Fraction(share)) + product(n, n + 1, n) + Fraction(101, 100) * Fraction(error) / unit
            assert agrees(bounds.soft_cap(50.0, share, size, inverse, error, n), formula)
    assert (bounds.FLOAT_CAP, bounds.BENT) == (20 * 2.0**-53, 3)


@pytest.mark.parametrize("kind", ["gelu", "gelu_tanh", "silu"])
def test_second_derivatives_and_slopes_far_out(kind: str) -> None:
    """Lemma 28: balls that cover [−12, 12]; and slopes from 4 on, which are within 2^−9 of 1, and from −4 of 0."""
    with precision(64):
        largest = max(float(largest_second_derivative(kind, i / 256, (i + 1) / 256).abs_upper()) for i in range(-3072, 3072))
        assert largest - 0.02 < bounds.CURVES[kind] <= largest + 0.01
        assert kind == "silu" or largest <= bounds.CURVES[kind]  # that of SiLU is 1/2 at 0, and at most that: proved by hand
    with precision(200):
        step = arb(2) ** -40
        far = [(function(kind, arb(x) + step) - function(kind, arb(x))) / step for x in (4, 4.5, 6, 9, 20)]
        back = [(function(kind, arb(-x) + step) - function(kind, arb(-x))) / step for x in (4, 4.5, 6, 9, 20)]
    if kind != "silu":
        assert max(float(abs(s - 1).upper()) for s in far) < bounds.SETTLED
        assert max(float(abs(s).upper()) for s in back) < bounds.SETTLED


def test_bounds_of_softmax() -> None:
    for score in (0.0, 2.0**-50, 2.0**-20):
        for powers in (0.0, 2.0**-60, 2.0**-3):
            grown = Fraction(float(bounds.grown(np.float64(2 * score))))
            assert agrees(bounds.softmax(score, powers, 9, 0.5), grown + 2 * 9 * Fraction(powers) * 2)


@pytest.mark.parametrize("digits", [0, 40, 110])
def test_what_rational_weights_lose(digits: int) -> None:
    """Lemma 19: the floats nearest to them are right to u of themselves; the slices to 2^−337 in each entry."""
    true = fractions(np.random.default_rng(digits).standard_normal((3, 4))) / (3 * 10**digits)
    matrix = weights.Matrix((numbers(true),), "w", weights.VerifiedNorms())
    in_floats = sum(((true - fractions(np.concatenate(list(matrix.dense()), axis=1))) ** 2).ravel())
    assert in_floats < Fraction(matrix.dense_slack) ** 2 <= 40 * sum((true**2).ravel()) * U**2
    assert sum((true**2).ravel()) <= Fraction(matrix.frobenius) ** 2
    slices = sum(((true - matrix._integers[0] * power(-constants.RATIONAL_BITS)) ** 2).ravel())
    assert slices < Fraction(matrix.slack) ** 2 <= 12 * power(-2 * constants.RATIONAL_BITS)


def spectral_ratio(a: Any) -> Fraction:
    """‖A‖² over its bound, for a matrix of rank one."""
    return sum((fractions(a) ** 2).ravel()) / Fraction(square_bound(a))


def square_bound(a: Any) -> float:
    gram = norms.Gram.of([a])
    return float(norms._bounds_of(gram.products[None], gram.columns, np.array([gram.norm]))[0])


@pytest.mark.parametrize("panel", [1, 2, 3, 64])
def test_spectral_norms_trust_neither_the_guess_nor_the_factor(panel: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 16 holds for any μ and any L: here 0 and a tenth, and 0; then the residual is all there is."""
    a = np.outer(np.arange(1.0, 6), np.arange(2.0, 9))
    monkeypatch.setattr(norms, "_PANEL", panel)
    for guessed in ("cholesky", "inv"):
        monkeypatch.setattr(np.linalg, guessed, np.zeros_like)
    for share in (0.0, 0.1):
        monkeypatch.setattr(norms, "_largest_eigenvalue", lambda gram, share=share: share * float(np.trace(gram)))
        assert Fraction(1, 2) < spectral_ratio(a) <= 1


def test_the_rounding_of_a_gram_matrix_is_in_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row whose square loses its small terms: with UP put to 1, so that it hides nothing, γ_K is what makes up for them."""
    a = np.full((1, 5000), 2.0**-26.5 * (1 - 2.0**-30))
    a[:, :16] = 1
    monkeypatch.setattr(np.linalg, "cholesky", np.zeros_like)
    monkeypatch.setattr(norms, "_largest_eigenvalue", lambda gram: 0.0)
    monkeypatch.setattr(bounds, "UP", 1.0)
    assert spectral_ratio(a) <= 1
    monkeypatch.setattr(bounds, "gamma", lambda k: 0.0)
    assert spectral_ratio(a) > 1


@pytest.mark.parametrize(("panel", "wrong"), [(2, "cholesky"), (64, "cholesky"), (2, "inv")])
def test_what_a_wrong_factor_leaves_is_in_the_residual(panel: int, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the same in fractions: μI − G − LLᵀ for the L that was used."""
    random = np.random.default_rng(panel)
    gram = random.integers(-9, 10, (5, 7)).astype(float)
    gram, held = gram @ gram.T, []
    right = getattr(np.linalg, wrong)
    monkeypatch.setattr(norms, "_PANEL", panel)
    monkeypatch.setattr(np.linalg, wrong, lambda x: right(x) * 1.1)
    monkeypatch.setattr(np, "zeros_like", lambda x, full=np.zeros_like: held.append(full(x)) or held[-1])
    mu = 2.0 * np.trace(gram)
    rest, factor = norms._rest(gram[None], np.array([mu]))
    upper = fractions(held[0][0])
    true = sum(((mu * np.eye(5, dtype=int) - fractions(gram) - upper.T @ upper) ** 2).ravel())
    assert Fraction(999, 1000) < true / Fraction(float(rest[0])) ** 2 <= 1
    assert Fraction(999, 1000) < sum((upper**2).ravel()) / Fraction(float(factor[0])) ** 2 <= 1


def test_every_rounding_on_the_way_to_a_spectral_norm_is_in_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """2I, with μ = 8 and L = 2I: the residual is 0, so what the bound has above 8 is for rounding; UP is put to 1, to hide none."""
    size = 200
    monkeypatch.setattr(norms, "_largest_eigenvalue", lambda gram: 8.0)
    monkeypatch.setattr(norms, "_ABOVE", 1.0)
    monkeypatch.setattr(bounds, "UP", 1.0)
    bound = square_bound(2 * np.eye(size))
    above = (gamma(size + 2) + gamma(size)) * 4 * size + 2 * U * Fraction(size**0.5) * 12
    assert Fraction(999, 1000) < (Fraction(bound) - 8) / above < Fraction(1001, 1000)
