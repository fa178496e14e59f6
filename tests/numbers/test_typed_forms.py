"""Closed forms as people type them: what they mean, what is refused and in which words, and that reading them ends."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest
from twins import mp

from exactformer.numbers import Exact, Undecided, closed_form, exact, exp, log, pi, sqrt
from exactformer.numbers.expression import LONGEST, expression, size

e = exp(1)
MEANT = {
    "e/(1+e)": e / (1 + e),
    "1/(1+1/e)": e / (1 + e),
    "1 / (1 + e^-1)": e / (1 + e),
    "sqrt(2)^2": exact(2),
    "√2²": exact(2),
    "√(2/3)": sqrt(exact("2/3")),
    "sin(pi)": exact(0),
    "2e": 2 * e,
    "2·3": exact(6),
    "2 × 3 ÷ 4": exact("3/2"),
    "3(1+e)": 3 + 3 * e,
    "(1+e)(1-e)": 1 - e * e,
    "-2^2": exact(-4),
    "2^3^2": exact(512),
    "2^-1": exact("1/2"),
    "2**3": exact(8),
    "e^-1/2": 1 / (2 * e),
    "−3/10": exact("-3/10"),
    "--1": exact(1),
    "exp(1)": e,
    "ln(e^2)": exact(2),
    "log(2)": log(2),
    "e⁻²": exp(-2),
    "2π": 2 * pi(),
    "1e-5": exact("1/100000"),
    "0.731": exact("0.731"),
    "2^(log(3)/log(2))": exact(3),
    "0^(1/2)": exact(0),
    "(-8)^3": exact(-512),
}
REFUSED = {
    "": "there is nothing to read",
    "1/2e": "can be read in two ways",
    "2e-1+e": "can be read in two ways",
    "0,731": "write a decimal point",
    "1 2": "follows another number",
    "(1+e": "a bracket is not closed",
    "1+": "ends too early",
    "1)": "is not expected there",
    "sqrt 2": "sqrt needs brackets",
    "x": "'x' is not known here: there are e, pi, exp",
    "eval(1)": "'eval' is not known here",
    "1/0": "divides by zero",
    "1/(sqrt(2)^2-2)": "divides by zero",
    "0^-1": "divides by zero",
    "log(0)": "has no logarithm",
    "sqrt(-1)": "is negative",
    "(-8)^(1/3)": "is negative",
    "10^10^9": "too large",
    "(1+e)^1000000": "a power beyond 1,000",
    "1E9999*1E9999*1E9999*1E9999": "more than 100,000 bits",
    "(" * 60: "nested more than 40 deep",
    "1" * (LONGEST + 1): "longer than 500",
    "+".join(["1/e"] * 40): "more than 30 functions",
    "<script>": "'<' is not part of a number here",
    "１２": "is not part of a number here",
}


@pytest.mark.parametrize("text", MEANT)
def test_what_is_typed_is_what_is_meant(text: str) -> None:
    assert closed_form(text) == MEANT[text]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_number_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(ValueError) as refused:
        closed_form(text)
    assert REFUSED[text] in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_sizes_leave_out_brackets_and_products() -> None:
    assert [size(text) for text in ("e/(1+e)", "((e))/(1+e)", "2·e", "e²", "√2")] == [5, 5, 2, 3, 2]
    assert expression("1/(1+1/e)").size > expression("e/(1+e)").size


def _drawn(rng: random.Random, depth: int) -> tuple[str, str]:
    """The same form for our reader, and for mpmath as Python would write it."""
    if depth == 0:
        leaf = rng.choice((str(rng.randint(1, 9)), "e", "pi", "0.5"))
        return leaf, {"e": "mp.e", "pi": "mp.pi"}.get(leaf, f"mp.mpf({leaf!r})")
    a, b = _drawn(rng, depth - 1), _drawn(rng, rng.randrange(depth))
    sign = rng.choice("+-*/^")
    if sign == "^":
        k = rng.choice((2, 3, -1))
        return f"({a[0]})^{k}", f"(({a[1]})**{k})"
    function = rng.choice(("", "", "sqrt", "exp", "sin"))
    if function == "sqrt":
        return f"sqrt(({a[0]})^2)", f"mp.sqrt(({a[1]})**2)"
    if function:
        return f"{function}(1/(1+({a[0]})^2))", f"mp.{function}(1/(1+({a[1]})**2))"
    return f"({a[0]}){sign}({b[0]})", f"(({a[1]}){sign}({b[1]}))"


def test_drawn_forms_have_the_digits_that_mpmath_finds() -> None:
    tried = 0
    for n in range(60):
        ours, theirs = _drawn(random.Random(n), 3)
        try:
            found = expression(ours).value
        except ValueError:  # a division by zero
            continue
        value = eval(theirs, {"mp": mp})  # noqa: S307 - our own text
        low, high = (found.fraction, found.fraction) if isinstance(found, Exact) else found.enclosure(200)
        slack = mp.mpf(10) ** -45 * (1 + abs(value))
        assert mp.mpf(low.numerator) / low.denominator - slack <= value <= mp.mpf(high.numerator) / high.denominator + slack, ours
        tried += 1
    assert tried > 50


def test_reading_ends_whatever_is_typed() -> None:
    hostile = (
        "e^e^e^e^e^e",
        "9^9^9^9",
        "e^(10^9)",
        "((((e+1)^1000+1)^1000+1)^1000+1)^1000",
        "1/(" * 39 + "e" + ")" * 39,
        "sin(10^300)",
    )
    start = time.process_time()
    for text in hostile:
        with suppress(ValueError, Undecided):
            closed_form(text)
    assert time.process_time() - start < 20
