"""Numbers far beyond floats, and far below them: what is decidable is decided, and the rest is undecided at once."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from exactformer.numbers import Undecided, exact, exp, log
from exactformer.numbers.digits import ball_bounds, ball_digits, decimal_bounds, fixed_decimals
from exactformer.numbers.enclosure import ball
from exactformer.numbers.nearness import nearly

mpmath = pytest.importorskip("mpmath")


@pytest.mark.parametrize("power", [10**6, -(10**6), 10**9, -(10**9), 10**15 + 1, -(10**30), 10**100])
@pytest.mark.parametrize("n", [1, 5, 30])
def test_digits_agree_with_mpmath(power: int, n: int) -> None:
    with mpmath.workdps(220):
        head, exponent = mpmath.nstr(mpmath.exp(power), n, strip_zeros=False).split("e")
    wanted = f"{head.removesuffix('.')}e{int(exponent)}"
    assert exp(power).digits(n) == wanted
    assert (-exp(power)).digits(n) == f"-{wanted}"
    assert nearly(exp(power), n) == wanted


def test_a_carry_changes_the_exponent() -> None:
    x = 10**400_000 * (exact(10) - exp(-(10**5)))
    assert x.digits(4) == "1.000e400001"


def test_floats() -> None:
    for tiny in (exp(-(10**9)), exp(-exp(30)), exp(-(10**5000))):
        assert tiny.to_float() == 0.0
        assert math.copysign(1, tiny.to_float()) == 1.0
        assert math.copysign(1, (-tiny).to_float()) == -1.0
    assert exp(exact("-745.13")).to_float() == 5e-324  # more than half of the least float
    assert exp(exact("-745.14")).to_float() == 0.0
    for huge in (exp(10**9), -exp(10**6)):
        with pytest.raises(OverflowError, match="is beyond the range of a float"):
            huge.to_float()


def test_comparisons_and_logarithms() -> None:
    tiny = exp(-(10**9))
    assert tiny > 0
    assert tiny < exp(-(10**9) + 1)
    assert exp(10**9) < exp(10**9) + tiny
    assert log(exp(10**9)) == 10**9
    assert log(2 * tiny).digits(12) == "-999999999.307"
    assert (exp(10**9) / (1 + exp(10**9))).digits(5) == "1.0000"
    assert (exp(10**9) - exp(10**9 - 1)).digits(5) == "5.0588e434294481"


def test_decimals_after_the_point() -> None:
    assert fixed_decimals(exp(-(10**9)), 3) == "0.000"
    assert fixed_decimals(-exp(-(10**9)), 0) == "0"


def test_balls() -> None:
    assert ball_digits(ball(exp(10**7), 100), 10) == "6.592232535e4342944"


QUESTIONS: dict[str, Callable[[], Any]] = {
    "digits of a tower": lambda: exp(exp(exp(30))).digits(5),
    "the float of a tower": lambda: exp(exp(exp(30))).to_float(),
    "digits of a power of thousands of digits": lambda: exp(10**5000).digits(3),
    "decimals of what has millions of them": lambda: fixed_decimals(exp(10**9), 2),
    "fractions around": lambda: exp(10**9).enclosure(),
    "decimals that are read back as fractions": lambda: decimal_bounds(exp(-(10**9)), 4),
    "the same of a ball": lambda: ball_bounds(ball(exp(10**9), 100), 4),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_not_decided_takes_neither_time_nor_memory(question: str) -> None:
    start = time.process_time()
    tracemalloc.start()
    with pytest.raises(Undecided):
        QUESTIONS[question]()
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert time.process_time() - start < 2


def test_a_sign_that_was_not_found_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from exactformer.numbers import decide

    x = exp(1) - exp(1 + exp(-(10**1000)))
    tries = []
    monkeypatch.setattr(decide, "prove_equal", lambda *args: tries.append(args) or False)
    for _ in range(3):
        with pytest.raises(Undecided, match="the sign of"):
            x.sign()
    assert len(tries) == 1
