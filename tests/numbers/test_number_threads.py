"""Numbers in threads: the precision of python-flint is shared by the process, and is put back."""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import flint
import pytest
from twins import build, random_recipe, samples

from exactformer.numbers import cos, erf, exact, exp, log, pi, sin, sqrt, tanh, total

BUILD = [
    lambda: exp(sqrt(2)) / (1 + exp(sqrt(3))),
    lambda: log(1 + pi() ** 2),
    lambda: sin(exp(1)) * cos(sqrt(5)),
    lambda: tanh(log(3) / 7) - erf(exact("1/3")),
    lambda: total(sqrt(exact(n)) for n in range(2, 60)),
    lambda: sqrt(3 + 2 * sqrt(2)) - sqrt(2) + pi(),
    lambda: exp(-100) + exp(-50),
    lambda: 1 / (1 + exp(-pi())),
]
DIGITS = [5, 40, 300, 17, 120, 1000, 60, 700]


@pytest.fixture(autouse=True)
def _precision_is_left_as_it_was():
    before, interval = flint.ctx.prec, sys.getswitchinterval()
    flint.ctx.prec = 77
    sys.setswitchinterval(1e-6)  # threads take turns as often as they can
    yield
    sys.setswitchinterval(interval)
    after, flint.ctx.prec = flint.ctx.prec, before
    assert after == 77


def answers(x, n: int) -> list[object]:
    """Several questions in the order that spoils caches the most."""
    return [
        x.digits(n),
        x.sign(),
        x.digits(3),
        x.to_float(),
        str(x),
        x == 1,
        x.digits(n),
        x.enclosure(64).low <= x.enclosure(900).high,
    ]


def test_different_numbers_in_eight_threads():
    alone = [answers(make(), n) for make, n in zip(BUILD, DIGITS, strict=True)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            together = list(pool.map(lambda make, n: answers(make(), n), BUILD, DIGITS))
            assert together == alone


def test_one_number_in_eight_threads():
    alone = [[make().digits(n) for n in DIGITS] for make in BUILD]
    for make, expected in zip(BUILD, alone, strict=True):
        shared = make()
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(shared.digits, DIGITS)) == expected


def test_random_numbers_in_eight_threads():
    recipes = [random_recipe(random.Random(seed), 4) for seed in range(80)]
    alone = [build(recipe).number for recipe in recipes]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda recipe: build(recipe).number, recipes))
    assert [str(x) for x in together] == [str(x) for x in alone]
    assert all(x == y for x, y in zip(together, alone, strict=True))


def test_questions_leave_the_precision_alone():
    for x in samples(20, seed=30):
        x.number.digits(100)
        str(x.number)
        assert x.number != 0
        assert flint.ctx.prec == 77


def test_a_refusal_leaves_the_precision_alone():
    with pytest.raises(OverflowError):
        exp(800).to_float()
    with pytest.raises(ValueError, match="not positive"):
        log(-pi())
    assert flint.ctx.prec == 77


@pytest.mark.parametrize("precision", [2, 53, 5000])
def test_answers_do_not_depend_on_the_precision_that_is_set(precision):
    flint.ctx.prec = 77
    expected = [answers(make(), n) for make, n in zip(BUILD, DIGITS, strict=True)]
    flint.ctx.prec = precision
    assert [answers(make(), n) for make, n in zip(BUILD, DIGITS, strict=True)] == expected
    flint.ctx.prec = 77
