"""No wrong number is called right and no right one wrong, over random models, entries and decimals."""

from __future__ import annotations

import random

import numpy as np
import pytest

from checking.random_claims import claimed_number, model
from exactformer.checking import Finding, Verdict, check_text
from exactformer.checking.printed import read
from exactformer.checking.verdicts import judge
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Undefined, exact, exp, sqrt
from exactformer.worksheets import loads


def claimed(seed: int, change: bool) -> tuple[Finding, ...]:
    """Claims for every entry of a random model: rounded, or with one digit changed."""
    chance = random.Random(seed)
    text = model(chance)
    for step in loads(text).trace().steps:
        if step.op == "argmax":
            continue
        for index in [tuple(i) for i in np.ndindex(*step.shape)]:
            x = step.values[index]
            if x is MASKED or isinstance(x, Undefined):
                continue
            number = claimed_number(x, chance, change)
            if number is not None:
                text += f'[[claims]]\nstep = "{step.name}"\nindex = {list(index)}\nvalue = "{number}"\n'
    return check_text(text).findings


@pytest.mark.parametrize("seed", range(4))
def test_right_claims(seed: int) -> None:
    findings = claimed(seed, change=False)
    assert len(findings) > 125
    assert {finding.verdict for finding in findings} == {Verdict.RIGHT}


@pytest.mark.parametrize("seed", range(4))
def test_wrong_claims(seed: int) -> None:
    findings = claimed(seed, change=True)
    assert len(findings) > 125
    assert not {finding.verdict for finding in findings} & {Verdict.RIGHT, Verdict.UNDECIDED}


@pytest.mark.parametrize(
    ("x", "number", "verdict"),
    [
        (exact("0.0025"), "0.003", "right"),  # half-way, up
        (exact("0.0025"), "0.002", "right"),  # half-way, to even
        (exact("-0.0025"), "-0.003", "right"),
        (exact("0.00251"), "0.002", "truncated"),
        (exact("-0.0029"), "-0.002", "truncated"),
        (exact("-0.0021"), "-0.003", "last digit off"),
        (exact("0.5"), "0.51", "last digit off"),
        (exact("0.5"), "0.52", "wrong"),
        (exact("0.9"), "0", "truncated"),
        (exact("-0.9"), "-0", "truncated"),
        (exact("0.4"), "0", "right"),
        (exact("-0.4"), "0.4", "wrong"),
        (sqrt(2), "1.4142135623730950488016887242096980785696718753769", "right"),
        (sqrt(2), "1.4142135623730950488016887242096980785696718753770", "last digit off"),
        (sqrt(2), "14e-1", "right"),
        (exp(-(10**6)), "0.000", "right"),
        (exp(-(10**6)), "0.001", "last digit off"),
        (1 - exp(-(10**4)), "1", "right"),
        (1 - exp(-(10**4)), "0.99", "truncated"),
        (exact("1/3"), "1/3", "right"),
        (exact("1/3"), "0.333", "right"),
        (sqrt(2), "7/5", "wrong"),
        (MASKED, "-inf", "right"),
        (MASKED, "0", "wrong"),
        (exact(0), "-inf", "wrong"),
        (Undefined("no reason"), "0", "wrong"),
        (Undefined("who knows", undecided=True), "0", "undecided"),
    ],
)
def test_edges(x: object, number: str, verdict: str) -> None:
    assert judge(x, read(number)) == verdict


@pytest.mark.parametrize(("power", "true"), [("10000", "≈ 8.80682e4342"), ("-1e9999", "0.0"), ("1e9", "≈ 8.00298e434294481")])
def test_far_out(power: str, true: str) -> None:
    (finding,) = check_text(f'[[claims]]\noperation = "exp"\nof = ["{power}"]\nvalues = ["0.5"]\n').findings
    assert finding.verdict is Verdict.WRONG
    assert finding.true.startswith(true)


def test_what_is_too_large_to_compare_is_undecided() -> None:
    report = check_text('[[claims]]\noperation = "exp"\nof = ["1e9999"]\nvalues = ["0.5"]\n')
    assert (report.findings[0].verdict, report.status) == (Verdict.UNDECIDED, 3)


def test_an_equality_that_cannot_be_proved_is_undecided() -> None:
    x = exact(1) + exp(-exp(exp(9)))  # so near to 1 that no enclosure tells them apart
    assert judge(x, read("1/1")) in (Verdict.UNDECIDED, Verdict.WRONG)
    assert judge(x, read("1.0")) is Verdict.RIGHT
