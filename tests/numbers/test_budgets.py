"""Numbers made to be hard. Every question about them ends soon, with an answer or with a refusal that is documented."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import pytest

from children import PATIENCE
from exactformer.numbers import (
    Budget,
    Named,
    Number,
    Undecided,
    compare,
    cos,
    erf,
    exact,
    exp,
    log,
    pi,
    sign,
    sin,
    sqrt,
    tanh,
    total,
)

SECONDS = 3.0  # of processor time for one question; most take milliseconds

SHOWN: dict[str, Callable[[Number], object]] = {  # always answered
    "str": str,
    "repr": repr,
    "written": lambda x: x.written,
    "latex": lambda x: x.latex,
    "written_latex": lambda x: x.written_latex,
    "definitions": lambda x: x.definitions,
}
DECIDED: dict[str, Callable[[Number], object]] = {  # answered or undecided
    "sign": lambda x: x.sign(),
    "equal to 0": lambda x: x == 0,
    "equal to its double": lambda x: x == 2 * x,
    "equal to itself, built again": lambda x: x + 1 == 1 + x,
    "less than 1": lambda x: x < 1,
    "digits": lambda x: x.digits(30),
    "enclosure": lambda x: x.enclosure(200),
    "reciprocal": lambda x: 1 / x,
    "square root": lambda x: sqrt(abs(x)),
    "logarithm": lambda x: log(abs(x)),
    "exponential": exp,
}


def repeated(step: Callable[[Number], Number], x: Number, times: int) -> Number:
    for _ in range(times):
        x = step(x)
    return x


HARD: dict[str, Callable[[], Number]] = {
    "a tower of 5 exps": lambda: repeated(exp, exp(1), 4),
    "a tower of 40 exps": lambda: repeated(exp, exp(1), 39),
    "sine of a tower": lambda: sin(repeated(exp, exp(1), 5)),
    "tanh of a tower": lambda: tanh(repeated(exp, exp(1), 5)),
    "a graph of 2,000 nodes": lambda: repeated(lambda x: sqrt(1 + x * x) + sin(x), exp(1), 400),
    "a fraction continued 300 times": lambda: repeated(lambda x: 1 + 1 / x, pi(), 300),
    "a chain of 100,000 sums": lambda: repeated(lambda x: x + 1, exp(1), 100_000),
    "a chain of 20,000 sines": lambda: repeated(sin, exp(1), 20_000),
    "50 squarings": lambda: repeated(lambda x: x * x, 1 + sqrt(2), 50),
    "roots within roots, 500 deep": lambda: repeated(lambda x: sqrt(1 + x), exact(2), 500),
    "logs within logs, 300 deep": lambda: repeated(lambda x: log(2 + x), exact(2), 300),
    "a large power of a sum": lambda: (1 + sqrt(2)) ** 10**18,
    "a large power below 1": lambda: (sqrt(2) - 1) ** 10**18,
    "a large power of e": lambda: exp(1) ** 10**15,
    "e to a large power": lambda: exp(exact(10) ** 15),
    "e to a small power": lambda: exp(exact("1e-3000")),
    "a root of high degree": lambda: exact(3) ** Fraction(1, 10**9),
    "3,000 square roots": lambda: total(sqrt(exact(n)) for n in range(2, 3002)),
    "300 exponentials over 300 logarithms": lambda: (
        total(exp(exact(Fraction(1, n))) for n in range(2, 302)) / total(log(n) for n in range(2, 302))
    ),
    "a product of 60 sums": lambda: repeated(lambda x: x * (x + pi()) / (1 + x * x), sqrt(3), 60),
    "a polynomial in 30 quantities": lambda: total(log(exact(p)) for p in range(2, 32)) ** 40,
}


@pytest.mark.parametrize("name", HARD)
def test_every_question_ends(name):
    x = HARD[name]()
    assert isinstance(x, Named)
    for question, ask in {**SHOWN, **DECIDED, "float": Number.to_float}.items():
        refusals = () if question in SHOWN else (Undecided, OverflowError) if question == "float" else (Undecided,)
        start = time.thread_time()
        with suppress(*refusals):
            ask(x)
        assert time.thread_time() - start < SECONDS, question
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_a_hard_number_still_has_its_digits():
    assert repeated(lambda x: sqrt(1 + x), exact(2), 500).digits(30) == ((1 + sqrt(5)) / 2).digits(30)
    assert repeated(lambda x: x + 1, exp(1), 2_000).digits(12) == "2002.71828183"
    assert total(sqrt(exact(n)) for n in range(2, 3002)).digits(10) == "109625.4719"


def test_a_long_form_is_shown_by_its_digits():
    x = repeated(lambda x: sqrt(1 + x), exact(2), 500)
    assert str(x) == "≈ 1.61803398875"
    assert x.latex == r"\approx 1.61803398875"
    assert repr(x) == "<≈ 1.61803398875>"


@pytest.mark.parametrize("power", [10**20, -(10**20), 10**7])
def test_a_rational_power_that_would_fill_memory_is_refused(power):
    with pytest.raises(ValueError, match="too large"):
        exact(3) ** power


def test_a_budget_bounds_the_bits_of_a_question():
    x = sqrt(2) + sin(1 + exact("1e-200")) - sin(1)
    with pytest.raises(Undecided) as answer:
        compare(x, sqrt(2), Budget(bits=500))
    assert answer.value.bits == Budget(bits=500).ladder[-1] <= 500
    assert compare(x, sqrt(2)) == 1


@pytest.mark.parametrize("budget", [Budget(nodes=3), Budget(work=3), Budget(terms=1)])
def test_a_proof_that_exceeds_its_budget_is_undecided(budget):
    hidden = total([sin(1) ** 2, cos(1) ** 2, erf(1) * pi() / erf(1), -pi(), exact(-1)])  # 0, and not asked for so far
    with pytest.raises(Undecided):
        sign(hidden, budget)


def test_the_default_budget_suffices_for_that_proof():
    assert sign(total([sin(1) ** 2, cos(1) ** 2, erf(1) * pi() / erf(1), -pi(), exact(-1)])) == 0


def test_a_proof_with_too_many_quantities_is_undecided():
    def hidden() -> Number:
        return total([*(log(p) for p in (2, 3, 5, 7, 11, 13, 17, 19)), -log(9_699_690)])

    with pytest.raises(Undecided):
        sign(hidden(), Budget(generators=6))
    assert sign(hidden(), Budget(generators=14)) == 0


# -- questions that could take the whole process with them
def ends(code: str, seconds: int = 6) -> str:
    """What `code` prints in a process of its own, with 4 GB and so much processor time; the name of a documented refusal."""
    prelude = f"""
import resource
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from fractions import Fraction
from exactformer.numbers import *
def answer(ask):
    try: print(ask())
    except (Undecided, ValueError, OverflowError) as refusal: print(type(refusal).__name__)
"""
    done = subprocess.run([sys.executable, "-c", prelude + code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-500:] or done.returncode
    return done.stdout


def test_deep_graphs_are_built_asked_and_forgotten_without_recursion():
    told = ends("""
x = exp(1)
for _ in range(100_000): x = sin(x)
answer(x.sign); answer(lambda: x == 2 * x); answer(lambda: x.digits(5)); answer(lambda: x.definitions.text)
del x
print("done")
""", seconds=15)  # fmt: skip
    assert told.split("\n") == ["1", "False", "0.0054766", "≈ 0.00547662392415", "done", ""]


@pytest.mark.parametrize("question", ["x == y", "str(x)", "tanh(1 / x)"])
def test_questions_about_repeated_squares_end(question):
    ends(f"""
x, y = sqrt(2) - 1, 1 / (1 + sqrt(2))
for _ in range(30): x, y = x**2, y**2
answer(lambda: {question})
""", seconds=3)  # fmt: skip


def test_a_huge_power_of_a_product_is_shown():
    assert "^1000000000000" in ends("answer(lambda: str((2 * exp(1)) ** 10**12))")


def test_a_chain_of_sums_near_a_rational_is_built_in_time():
    ends("""
x = 1 + exp(-200)
for n in range(3000): x = x + exp(-300 - n)
answer(x.sign)
""", seconds=4)  # fmt: skip


@pytest.mark.parametrize("number", ["exp(-exp(100))", "1 / exp(exact(10) ** 20)", "2 * exp(-(10**20))"])
def test_a_number_next_to_zero_beyond_all_measure_is_built(number):
    assert ends(f"answer(({number}).sign)") == "1\n"


def test_a_root_of_a_degree_beyond_64_bits_is_answered_or_undecided():
    with suppress(Undecided, ValueError):
        assert (exact(3) ** Fraction(1, 2**70)).sign() == 1


@pytest.mark.parametrize("x", [exact("1e5000"), exact("1e-5000"), exact(2) ** 20_000])
def test_a_long_rational_is_shown(x):
    for question in (str, repr):
        assert len(question(x)) > 0


def test_a_short_form_is_not_lost_to_long_coefficients():
    x = (1 + exact("1e80") * sqrt(2)) ** 64
    assert len(str(x)) < 100
