"""Closed forms as text and LaTeX: the examples of the documentation, and what a reader would take the formula for."""

from __future__ import annotations

from fractions import Fraction

import pytest
from read_back import evaluate, evaluate_latex
from twins import mp, samples

from exactformer.numbers import cos, erf, exact, exp, log, pi, sin, sqrt, tanh, total
from exactformer.numbers.definitions import Symbols

ENOUGH = mp.mpf(10) ** -300


@pytest.mark.parametrize(
    ("x", "simplified", "written", "latex"),
    [
        (exp(1) / (exp(1) + exp(2)), "1/(1+e)", "e^1/(e^1+e^2)", r"\frac{1}{1+e}"),
        (exact("3/10"), "3/10", "3/10", r"\frac{3}{10}"),
        (exact("-3/10"), "-3/10", "-3/10", r"-\frac{3}{10}"),
        (sqrt(8), "2·√2", "2·√2", r"2\,\sqrt{2}"),
        (sqrt(exact("2/3")), "√(2/3)", "√(2/3)", r"\sqrt{\frac{2}{3}}"),
        (1 / sqrt(2), "1/√2", "1/√2", r"\frac{1}{\sqrt{2}}"),
        (sqrt(2) * sqrt(2), "2", "√2·√2", "2"),
        (log(exp(exp(2))), "e^2", "e^2", "e^{2}"),
        (exp(exact("1/2")), "e^(1/2)", "e^(1/2)", "e^{1/2}"),
        (exp(-1), "1/e", "e^(-1)", r"\frac{1}{e}"),
        (exp(sqrt(2)), "exp(√2)", "exp(√2)", r"e^{\sqrt{2}}"),
        (2 * pi(), "2·π", "2·π", r"2\,\pi"),
        (pi() ** 2, "π^2", "π^2", r"\pi^{2}"),
        (erf(1), "erf(1)", "erf(1)", r"\operatorname{erf}\left(1\right)"),
        (sin(1) - 1, "sin(1)-1", "sin(1)-1", r"\sin\left(1\right)-1"),
        (sqrt(3 + 2 * sqrt(2)), "√(3+2·√2)", "√(3+2·√2)", r"\sqrt{3+2\,\sqrt{2}}"),
        (-sqrt(2), "-√2", "-√2", r"-\sqrt{2}"),
        (exact(2) ** Fraction(1, 3), "2^(1/3)", "2^(1/3)", "2^{1/3}"),
    ],
)  # fmt: skip
def test_examples(x, simplified, written, latex):
    assert (str(x), x.written, x.latex) == (simplified, written, latex)


def test_a_representation_names_the_kind():
    assert repr(exact("1/3")) == "exact('1/3')"
    assert repr(sqrt(2)) == "<√2>"
    assert sqrt(2)._repr_latex_() == r"$\sqrt{2}$"


def test_a_long_literal_in_a_form_keeps_its_digits():
    assert str(exact("12345678901234567890") + sqrt(2)) == "12345678901234567890+√2"


def readings(x):
    """The values of the four formulas of a number as a reader computes them; what is cut short to digits is left out."""
    for text in (str(x), x.written):
        if "≈" not in text:
            yield evaluate(text)
    for text in (x.latex, x.written_latex):
        if "approx" not in text:
            yield evaluate_latex(text)


def reads_as(x, value) -> bool:
    return all(abs(read - value) < ENOUGH * (1 + abs(value)) for read in readings(x))


@pytest.mark.parametrize(
    ("x", "value"),
    [
        (1 / (1 / pi() + 1), 1 / (1 / mp.pi + 1)),
        (sqrt(2) ** 3 / 5, mp.sqrt(8) / 5),
        ((1 - sqrt(2)) ** 3, (1 - mp.sqrt(2)) ** 3),
        (1 - (1 - (1 - pi())), 1 - mp.pi),
        (pi() / (2 / exp(1)), mp.pi * mp.e / 2),
        ((pi() - 4) * (exp(1) - 3), (mp.pi - 4) * (mp.e - 3)),
        (tanh(sqrt(log(2))), mp.tanh(mp.sqrt(mp.log(2)))),
        (cos(-pi() / 7 - 1), mp.cos(mp.pi / 7 + 1)),
        (total([exp(1), -exp(2), exact(3)]), mp.e - mp.e**2 + 3),
        (exp(-pi()) / 3 - log(2) / 7, mp.exp(-mp.pi) / 3 - mp.log(2) / 7),
        (sqrt(exact("2/3")) * -sqrt(5), -mp.sqrt(mp.mpf(10) / 3)),
        (exact(2) ** Fraction(-2, 3), mp.cbrt(2) ** -2),
    ],
)
def test_a_formula_means_the_number(x, value):
    assert reads_as(x, value)


@pytest.mark.parametrize(
    ("x", "value"),
    [
        (-(exp(1) + 1), -mp.e - 1),
        (-(exp(1) - pi()), mp.pi - mp.e),
        (1 / -(1 + pi()), -1 / (1 + mp.pi)),
        (sqrt(-(1 - pi())), mp.sqrt(mp.pi - 1)),
        (exp(1) * -(-2 * pi()), 2 * mp.e * mp.pi),
    ],
)
def test_the_negative_of_a_sum_means_the_number(x, value):
    assert reads_as(x, value)


@pytest.mark.parametrize("depth", [3, 4])
def test_formulas_of_random_numbers_mean_the_numbers(depth):
    for x in samples(150, depth=depth, seed=40 + depth):
        assert reads_as(x.number, x.value), x.number.written


@pytest.mark.parametrize(
    "x",
    [
        tanh(tanh(log(exact("3/5")))) * (exp(3) ** 2 + exp(tanh(pi()))),
        (log(sqrt(exact("3/2"))) + tanh(sin(exact("-3/4"))) + 1 / pi() ** 2) ** 3,
    ],
)
def test_a_form_that_is_too_much_work_to_simplify_is_shown_as_written(x):
    assert str(x) == x.written


def test_the_simplified_form_is_not_longer_than_the_written_one():
    for x in samples(200, depth=4, seed=50):
        if "≈" not in x.number.written:
            assert len(str(x.number)) <= len(x.number.written)


# -- long forms
def long_form(times: int):
    x, value = exp(1), +mp.e
    for _ in range(times):
        x, value = x + 1 / x, value + 1 / value
    return x, value


@pytest.mark.parametrize("times", [2, 6, 12, 20])
def test_definitions_put_together_are_the_number(times):
    x, value = long_form(times)
    symbols: dict[str, object] = {}
    for name, text in x.definitions.where:
        symbols[name] = evaluate(text, symbols)
    assert abs(evaluate(x.definitions.text, symbols) - value) < ENOUGH
    assert all(len(text) < 300 for _, text in x.definitions.where)


def test_numbers_that_share_their_symbols_are_defined_as_each_alone():
    numbers = [exp(1), exp(2)]
    for _ in range(50):
        numbers += [numbers[-1] + 1 / numbers[-1], exp(-numbers[-2]) + numbers[-1] / (2 + numbers[-2])]
    alone = [x.definitions for x in numbers]
    assert max(len(d.where) for d in alone) > 20
    assert alone[-1].where == ()  # there would be too many
    for order in (list(range(len(numbers))), list(reversed(range(len(numbers))))):
        symbols = Symbols()
        assert {i: symbols.define(numbers[i]) for i in order} == dict(enumerate(alone))


def test_definitions_of_a_short_form_are_the_form():
    assert (1 + sqrt(2)).definitions == ("1+√2", ())
    assert exact("1/3").definitions == ("1/3", ())


def test_a_long_form_is_shown_by_its_digits():
    x, value = long_form(40)
    assert str(x) == x.written == "≈ " + x.digits(12)
    assert x.latex == r"\approx " + x.digits(12)
    assert mp.nstr(value, 12) == x.digits(12)
