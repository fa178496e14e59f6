"""Some 2,900 false claims of equality, many of them true to a hundred decimals. None is ever proved, and each is refuted."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import pytest
from flint import fmpq
from twins import as_fraction, mp, samples

from exactformer.numbers import Exact, Named, cos, dot, erf, exact, exp, log, pi, sin, sqrt, tanh
from exactformer.numbers.decide import prove_equal
from exactformer.numbers.field import subtract


def refuted(x, claim) -> bool:
    """Is `x == claim` denied, and left without a proof?"""
    claimed = exact(claim) if isinstance(claim, int | Fraction) else claim
    difference = subtract(x, claimed)  # a node of its own: the comparison tells the proof nothing
    proved = isinstance(difference, Named) and prove_equal(difference, fmpq(0))
    if isinstance(x, Named) and isinstance(claimed, Exact):
        proved = proved or prove_equal(x, claimed.value)
    return not proved and (x == claim) is False and (claim == x) is False and (x != claim) is True


KNOWN = {
    "π": (pi(), +mp.pi),
    "e": (exp(1), +mp.e),
    "e²": (exp(2), mp.e**2),
    "√2": (sqrt(2), mp.sqrt(2)),
    "√3+√5": (sqrt(3) + sqrt(5), mp.sqrt(3) + mp.sqrt(5)),
    "2^(1/3)": (exact(2) ** Fraction(1, 3), mp.cbrt(2)),
    "log 2": (log(2), mp.log(2)),
    "log 10": (log(10), mp.log(10)),
    "sin 1": (sin(1), mp.sin(1)),
    "cos 1": (cos(1), mp.cos(1)),
    "tanh 1": (tanh(1), mp.tanh(1)),
    "erf 1": (erf(1), mp.erf(1)),
    "π²": (pi() ** 2, mp.pi**2),
    "e^π": (exp(pi()), mp.exp(mp.pi)),
    "e/(1+e)": (exp(1) / (1 + exp(1)), mp.e / (1 + mp.e)),
    "√(1-1/e)": (sqrt(1 - exp(-1)), mp.sqrt(1 - 1 / mp.e)),
    "log 3/log 2": (log(3) / log(2), mp.log(3) / mp.log(2)),
    "sin 1·cos 1": (sin(1) * cos(1), mp.sin(1) * mp.cos(1)),
    "the golden ratio": ((1 + sqrt(5)) / 2, mp.phi + 0),
    "√π·erf(1/2)": (sqrt(pi()) * erf(exact("1/2")), mp.sqrt(mp.pi) * mp.erf(mp.mpf(1) / 2)),
}


def convergents(value: Fraction):
    """The best rational approximations: the continued fraction, cut off later and later."""
    before, here = (0, 1), (1, 0)
    while True:
        whole, rest = divmod(value.numerator, value.denominator)
        before, here = here, (whole * here[0] + before[0], whole * here[1] + before[1])
        yield Fraction(*here)
        if rest == 0:
            return
        value = Fraction(value.denominator, rest)


@pytest.mark.parametrize("name", KNOWN)
def test_no_convergent_is_taken_for_the_number(name):
    """60 convergents each, the last with dozens of digits."""
    number, value = KNOWN[name]
    close = list(islice(convergents(as_fraction(value)), 60))
    assert abs(close[-1] - as_fraction(value)) < Fraction(1, 10**24)
    assert all(refuted(number, claim) for claim in close)


@pytest.mark.parametrize("decimals", [20, 40, 100, 200])
@pytest.mark.parametrize("name", KNOWN)
def test_no_decimal_is_taken_for_the_number(name, decimals):
    number, value = KNOWN[name]
    floor = as_fraction(value * mp.mpf(10) ** decimals).__floor__()
    assert refuted(number, Fraction(floor, 10**decimals))
    assert refuted(number, Fraction(floor + 1, 10**decimals))


@pytest.mark.parametrize("hair", ["1e-40", "-1e-100"])
def test_a_number_moved_by_a_hair_is_another_number(hair):
    """Moved before and after something is computed from it that would give it back."""
    for x in samples(100, seed=20):
        assert refuted(x.number + exact(hair), x.number)
        assert refuted(x.number * (1 + exact(hair)), x.number)
        assert refuted((x.number + exact(hair)) ** 2, x.number**2)


@pytest.mark.parametrize("hair", [exp(-100), sin(exact("1e-60")), sqrt(exact("1e-81")), 1 - tanh(90), log(1 + exact("1e-70"))])
def test_a_named_hair_is_not_overlooked(hair):
    for x in samples(25, seed=21):
        assert refuted(x.number + hair, x.number)


IDENTITIES_GONE_WRONG = {
    "e^a·e^b": lambda x, d: (exp(x) * exp(1 + d), exp(x + 1)),
    "log of a product": lambda x, d: (log(exp(x) + 1) + log(2 + d), log(2 * exp(x) + 2)),
    "sin²+cos²": lambda x, d: (sin(x) ** 2 + cos(x) ** 2 + d, exact(1)),
    "sin²+cos² of two angles": lambda x, d: (sin(x) ** 2 + cos(x + d) ** 2, exact(1)),
    "√ of a square": lambda x, d: (sqrt((x + d) ** 2), abs(x)),
    "a root of roots": lambda x, d: (sqrt(3 + 2 * sqrt(2 + d)) + x, 1 + sqrt(2) + x),
    "softmax sums to 1": lambda x, d: (exp(x) / (exp(x) + 1) + (1 + d) / (exp(x) + 1), exact(1)),
    "tanh in exponentials": lambda x, d: (tanh(x), (exp(2 * x) - 1) / (exp(2 * x) + 1 + d)),
    "erf is odd": lambda x, d: (erf(x + d) + erf(-x), exact(0)),
    "x/x": lambda x, d: ((exp(x) + d) / exp(x), exact(1)),
}


@pytest.mark.parametrize("identity", IDENTITIES_GONE_WRONG)
def test_an_identity_that_is_off_by_a_hair_is_refuted(identity):
    arguments = [x.number for x in samples(60, depth=2, seed=22) if 0 < abs(x.value) < 20][:25]
    assert len(arguments) == 25
    for x in arguments:
        for hair in (exact("1e-40"), exact("-1e-100")):
            left, right = IDENTITIES_GONE_WRONG[identity](x, hair)
            assert refuted(left, right)


@pytest.mark.parametrize(("a", "b"), [(1, 2), (2, 3), (3, 5), (5, 7)])
def test_the_conjugate_of_an_identity_is_no_identity(a, b):
    """√(a+b+2√(ab)) = √a+√b is proved by squaring both sides, and squares forget a sign."""
    left = sqrt(a + b + 2 * sqrt(a * b))
    for first, second in ((-1, -1), (-1, 1), (1, -1)):
        assert refuted(left, first * sqrt(a) + second * sqrt(b))
    assert refuted(sqrt(a + b - 2 * sqrt(a * b)), sqrt(a) - sqrt(b))


ALIKE = {
    "a constant": (pi() + 1, pi() + 2),
    "a coefficient": (2 * pi() + exp(1), 3 * pi() + exp(1)),
    "the order of coefficients": (2 * pi() + exp(1), pi() + 2 * exp(1)),
    "a denominator": (pi() / 3, pi() / 5),
    "a rational argument": (sin(2), sin(3)),
    "a function": (sin(2), cos(2)),
    "an exponent": (pi() ** 2, pi() ** 3),
    "the degree of a root": (exact(2) ** Fraction(1, 3), exact(2) ** Fraction(1, 5)),
    "what is divided by what": (pi() / exp(1), exp(1) / pi()),
    "what is multiplied with what": (dot([pi(), exp(1)], [sqrt(2), log(2)]), dot([pi(), exp(1)], [log(2), sqrt(2)])),
    "a hair": (pi() + exp(-100), pi()),
}


@pytest.mark.parametrize("difference", ALIKE)
def test_a_difference_deep_down_is_not_overlooked(difference):
    """Two towers that are built alike but for their ground; a proof looks at the top of them first."""
    left, right = ALIKE[difference]
    for function in (
        sin,
        lambda x: sqrt(2 + x),
        lambda x: x + pi() / 9,
        lambda x: exp(x) / 9,
        lambda x: 1 / (3 + x * x),
        tanh,
        cos,
    ):
        left, right = function(left), function(right)
        assert refuted(left, right)


NEAR_MISSES: list[tuple[str, Named, object]] = [
    *((f"e^(π√{d})", exp(pi() * sqrt(d)), round(mp.exp(mp.pi * mp.sqrt(d)))) for d in (22, 37, 43, 58, 67, 148, 163, 232, 652)),
    ("Ramanujan's 640320³+744", exp(pi() * sqrt(163)), 640320**3 + 744),
    ("π from log 640320", log(exact(640320**3 + 744)) / sqrt(163), pi()),
    ("e^π-π", exp(pi()) - pi(), 20),
    ("22π⁴", 22 * pi() ** 4, 2143),
    ("π⁴+π⁵", pi() ** 4 + pi() ** 5, exp(6)),
    ("√2+√3", sqrt(2) + sqrt(3), pi()),
    ("355/113", pi(), Fraction(355, 113)),
    ("sin 11", sin(11), -1),
    ("cos 355", cos(355), -1),
    ("sin 344", sin(344), -1),
    ("sin 245850922", sin(245850922), sin(pi() * 78256779 - 245850922 + exact("1e-30"))),
    ("e^6-π⁵-π⁴", exp(6) - pi() ** 4 - pi() ** 5, Fraction(1, 56597)),
    ("163/log 163", 163 / log(163), 32),
    ("tanh π", (1 + tanh(pi())) / 2, Fraction(1072, 1074)),
    ("erf 10", erf(10), 1),
    ("tanh 200", tanh(200), 1),
    ("√ sums of Graham", sqrt(10) + sqrt(11), sqrt(5) + sqrt(18)),
    ("three √ against three", sqrt(5) + sqrt(6) + sqrt(18), sqrt(4) + sqrt(12) + sqrt(12)),
    ("cube roots", exact(5) ** Fraction(1, 3) + exact(7) ** Fraction(1, 3), exact("3.622907")),
]  # fmt: skip


@pytest.mark.parametrize(("x", "claim"), [case[1:] for case in NEAR_MISSES], ids=[case[0] for case in NEAR_MISSES])
def test_a_famous_near_miss_is_refuted(x, claim):
    assert refuted(x, claim)


@pytest.mark.parametrize("base", [1 + sqrt(2), 2 + sqrt(3), (3 + sqrt(5)) / 2, (1 + sqrt(5)) / 2])
def test_powers_of_a_unit_are_no_integers(base):
    """(1+√2)^n with its conjugate is an integer, so that alone it comes as close to one as one likes."""
    for n in range(5, 200, 3):
        x = base**n
        assert refuted(x, round(x.enclosure(900).low))


def test_refuted_accepts_no_truth():
    """The judge of this file is itself put to the test."""
    assert not refuted(sqrt(3 + 2 * sqrt(2)), 1 + sqrt(2))
    assert not refuted(log(exp(1) * exp(1)), 2)
