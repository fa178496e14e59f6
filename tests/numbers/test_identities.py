"""True identities. Each must be proved: an enclosure alone can never show that two numbers are equal."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import pytest
from flint import fmpq

from exactformer.numbers import Exact, Named, cos, erf, erfc, exact, exp, from_float, log, pi, sin, sqrt, tanh, total
from exactformer.numbers.decide import prove_equal
from exactformer.numbers.field import subtract

RATIONALS = [exact(q) for q in ("1", "-2", "1/3", "-5/4", "0.7", "10")]
POSITIVE = [exact(q) for q in ("2", "3", "6", "1/5", "0.75")]
NAMED = [sqrt(2), log(3), exp(-1), sin(1), pi() / 7, 1 + sqrt(3) * exp(2)]
ARGUMENTS = RATIONALS + NAMED


def proved(left, right) -> bool:
    """Is left = right proved, by the operator, and by algebra alone?"""
    if not (left == right and right == left and left <= right and left >= right):
        return False
    difference = subtract(exact(left) if isinstance(left, int) else left, exact(right) if isinstance(right, int) else right)
    return difference.value == 0 if isinstance(difference, Exact) else prove_equal(difference, fmpq(0))


# -- functions and their equations
@pytest.mark.parametrize(("a", "b"), list(combinations(ARGUMENTS, 2)))
def test_exp_of_a_sum(a, b):
    assert proved(exp(a) * exp(b), exp(a + b))
    assert proved(exp(a) / exp(b), exp(a - b))


@pytest.mark.parametrize(("a", "n"), list(product(ARGUMENTS, (2, 3, 7, -1, -4))))
def test_exp_of_a_multiple(a, n):
    assert proved(exp(a) ** n, exp(n * a))


@pytest.mark.parametrize(("a", "b"), list(combinations([*POSITIVE, sqrt(2), exp(-1), 1 + sqrt(3), pi()], 2)))
def test_log_of_a_product(a, b):
    assert proved(log(a * b), log(a) + log(b))
    assert proved(log(a / b), log(a) - log(b))


@pytest.mark.parametrize("a", [*POSITIVE, sqrt(2), exp(-1), pi(), 1 + pi(), exp(2) + 1])
@pytest.mark.parametrize("b", [exact(5), log(3)])
def test_log_of_powers(a, b):
    assert proved(log(a**3 * sqrt(b)), 3 * log(a) + log(b) / 2)
    assert proved(log(a**-2), -2 * log(a))


def test_log_of_a_power_of_a_sum_with_a_root():
    assert proved(log((1 + sqrt(3)) ** 3), 3 * log(1 + sqrt(3)))


@pytest.mark.parametrize("x", ARGUMENTS)
def test_log_undoes_exp(x):
    assert proved(log(exp(x)), x)
    assert proved(log(exp(x) * exp(x)), 2 * x)


@pytest.mark.parametrize("x", POSITIVE)
def test_exp_undoes_log(x):
    assert proved(exp(log(x)), x)


@pytest.mark.parametrize("x", ARGUMENTS)
def test_sine_and_cosine(x):
    assert proved(sin(x) ** 2 + cos(x) ** 2, 1)
    assert proved((sin(x) + cos(x)) ** 2 + (sin(x) - cos(x)) ** 2, 2)
    assert proved(sin(x) ** 4 - cos(x) ** 4, sin(x) ** 2 - cos(x) ** 2)


@pytest.mark.parametrize("x", ARGUMENTS)
def test_odd_and_even_functions(x):
    assert proved(sin(-x), -sin(x))
    assert proved(cos(-x), cos(x))
    assert proved(tanh(-x), -tanh(x))
    assert proved(erf(-x) + erf(x), 0)


@pytest.mark.parametrize("x", ARGUMENTS)
def test_erfc_is_what_erf_lacks(x):
    assert proved(erf(x) + erfc(x), 1)
    assert proved(erfc(x) + erfc(-x), 2)


@pytest.mark.parametrize("x", ARGUMENTS)
def test_tanh_in_exponentials(x):
    assert proved(tanh(x), (exp(x) - exp(-x)) / (exp(x) + exp(-x)))
    assert proved(tanh(x), 2 / (1 + exp(-2 * x)) - 1)
    assert proved(1 - tanh(x) ** 2, 4 / (exp(x) + exp(-x)) ** 2)
    assert proved(tanh(2 * x), 2 * tanh(x) / (1 + tanh(x) ** 2))


@pytest.mark.parametrize(
    ("value", "rational"),
    [
        (sin(pi()), 0),
        (cos(pi()), -1),
        (sin(pi() / 2), 1),
        (cos(5 * pi() / 2), 0),
        (cos(100 * pi()), 1),
        (sin(pi() / 6), Fraction(1, 2)),
        (cos(pi() / 3), Fraction(1, 2)),
        (cos(2 * pi() / 3), Fraction(-1, 2)),
        (sin(-7 * pi() / 6), Fraction(1, 2)),
    ],
)
def test_sine_and_cosine_of_parts_of_a_turn(value, rational):
    assert isinstance(value, Exact)
    assert value == rational


# -- roots
@pytest.mark.parametrize("n", [2, 3, 5, 8, 12, 45, 10**12 + 1, Fraction(2, 3), Fraction(7, 50)])
def test_the_square_of_a_root(n):
    assert proved(sqrt(exact(n)) ** 2, exact(n))
    assert proved(sqrt(exact(n)) * sqrt(exact(n)), exact(n))
    assert proved(1 / sqrt(exact(n)), sqrt(exact(n)) / exact(n))


@pytest.mark.parametrize(("a", "b"), list(combinations([2, 3, 5, 6, 7, 11], 2)))
def test_roots_of_two_integers(a, b):
    assert proved(sqrt(a) * sqrt(b), sqrt(a * b))
    assert proved(1 / (sqrt(b) + sqrt(a)), (sqrt(b) - sqrt(a)) / (b - a))
    assert proved(sqrt(a + b + 2 * sqrt(a * b)), sqrt(a) + sqrt(b))
    assert proved(sqrt(a + b - 2 * sqrt(a * b)), sqrt(b) - sqrt(a))


@pytest.mark.parametrize("degree", [3, 4, 5, 12])
def test_higher_roots(degree):
    r = exact(2) ** Fraction(1, degree)
    assert proved(r**degree, 2)
    assert proved(r * exact(8) ** Fraction(1, degree), exact(16) ** Fraction(1, degree))
    assert proved(exact(2) ** Fraction(3, degree), r**3)
    assert proved(1 / r, r ** (degree - 1) / 2)


def test_roots_within_roots():
    assert proved(sqrt(3 + 2 * sqrt(2)), 1 + sqrt(2))
    assert proved(sqrt(2 + sqrt(3)), (sqrt(6) + sqrt(2)) / 2)
    assert proved(sqrt(9 + 4 * sqrt(5)), 2 + sqrt(5))
    assert proved(sqrt(5 + 2 * sqrt(6)) - sqrt(5 - 2 * sqrt(6)), 2 * sqrt(2))
    assert proved(sqrt(1 + 2 * exp(1) + exp(2)), 1 + exp(1))


@pytest.mark.parametrize("x", [x for x in ARGUMENTS if x != 0])
def test_the_root_of_a_square_is_the_absolute_value(x):
    assert proved(sqrt(x**2), abs(x))
    assert proved(sqrt((exp(x) - 1) ** 2), abs(exp(x) - 1))


@pytest.mark.parametrize("n", range(1, 13))
def test_a_unit_and_its_conjugate(n):
    """(1+√2)^n + (1-√2)^n is an integer, with the recurrence of Pell."""
    pell = [2, 2]
    while len(pell) <= n:
        pell.append(2 * pell[-1] + pell[-2])
    assert proved((1 + sqrt(2)) ** n + (1 - sqrt(2)) ** n, pell[n])


@pytest.mark.parametrize("x", RATIONALS)
def test_the_root_of_an_exponential(x):
    assert proved(sqrt(exp(2 * x)), exp(x))
    assert proved(sqrt(exp(x)), exp(x / 2))


def test_the_root_of_a_root_of_e():
    assert proved(sqrt(exp(exact("1/2"))) ** 2, exp(exact("1/2")))


def test_the_root_of_a_product_with_long_coefficients():
    v, w = from_float(0.3), from_float(0.7)
    assert proved(sqrt((1 + v * pi()) * (1 + w * pi())) ** 2, (1 + v * pi()) * (1 + w * pi()))


# -- what a transformer computes
@pytest.mark.parametrize("n", range(1, 13))
@pytest.mark.parametrize("score", [exact("0.3"), sqrt(2)])
def test_softmax_of_equal_scores(score, n):
    weights = [exp(score) for _ in range(n)]
    for weight in weights:
        assert proved(weight / total(weights), exact(Fraction(1, n)))


@pytest.mark.parametrize("scores", [(1, 2), (0, 1, 2), ("0.5", "-0.25", 3, 1), (sqrt(2), 1, log(3)), (pi(), -pi(), 1)])
def test_softmax_sums_to_one_and_does_not_see_a_shift(scores):
    scores = [s if isinstance(s, Named) else exact(s) for s in scores]
    weights = [exp(s) for s in scores]
    shifted = [exp(s - scores[0] + 5) for s in scores]
    parts = [w / total(weights) for w in weights]
    assert proved(total(parts), 1)
    for part, w in zip(parts, shifted, strict=True):
        assert proved(part, w / total(shifted))


@pytest.mark.parametrize(("a", "b"), list(combinations([exp(1), sqrt(5), pi(), 1 + sin(1), log(7)], 2)))
def test_two_parts_of_a_whole(a, b):
    assert proved(a / (a + b) + b / (a + b), 1)
    assert proved(1 / (1 + b / a), a / (a + b))


@pytest.mark.parametrize(("a", "b"), [("1", "3"), ("-0.7", "0.2"), ("5", "-2/3"), (sqrt(2), "1"), (exp(1), log(2)), (pi(), exp(2))])
def test_layer_norm_in_two_dimensions_is_a_sign(a, b):
    """Of two different numbers, one lies a standard deviation above their mean and one below."""
    a, b = (x if isinstance(x, Named) else exact(x) for x in (a, b))
    mean = (a + b) / 2
    variance = ((a - mean) ** 2 + (b - mean) ** 2) / 2
    side = (a - b).sign()
    assert proved((a - mean) / sqrt(variance), side)
    assert proved((b - mean) / sqrt(variance), -side)


@pytest.mark.parametrize("row", [("1", "2", "4"), ("0.3", "-0.1", "2", "5"), (sqrt(2), "1", "3")])
def test_layer_norm_has_mean_zero_and_variance_one(row):
    row = [x if isinstance(x, Named) else exact(x) for x in row]
    mean = total(row) / len(row)
    deviation = sqrt(total((x - mean) ** 2 for x in row) / len(row))
    normed = [(x - mean) / deviation for x in row]
    assert proved(total(normed), 0)
    assert proved(total(x**2 for x in normed), len(row))


@pytest.mark.parametrize("x", ARGUMENTS)
def test_the_sigmoid_and_its_mirror_image(x):
    assert proved(1 / (1 + exp(-x)) + 1 / (1 + exp(x)), 1)
    assert proved(1 / (1 + exp(-x)), (1 + tanh(x / 2)) / 2)


# -- sums that collapse
@pytest.mark.parametrize("n", [2, 3, 5, 8, 12])
def test_telescoping_sums(n):
    assert proved(total(sqrt(k + 1) - sqrt(k) for k in range(1, n)), sqrt(n) - 1)
    assert proved(total(1 / (sqrt(k) + sqrt(k + 1)) for k in range(1, n)), sqrt(n) - 1)
    assert proved(total(log(exact(Fraction(k + 1, k))) for k in range(1, n)), log(n))


@pytest.mark.parametrize("n", [3, 6, 10])
def test_a_geometric_sum(n):
    for q in (exp(1), sqrt(3), pi()):
        assert proved(total([exact(1), *(q**k for k in range(1, n))]), (q**n - 1) / (q - 1))


def test_proved_accepts_no_falsehood():
    """The judge of this file is itself put to the test."""
    assert not proved(sqrt(2), sqrt(2) + exact("1e-60"))
    assert not proved(exact(1), exact(2))
