"""No wrong number is called right and no right one wrong, over random models, entries and decimals."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import numpy as np
import pytest

from exactformer.checking import Finding, Verdict, check_text
from exactformer.checking.printed import read
from exactformer.checking.verdicts import judge
from exactformer.model.exact_arithmetic import MASKED
from exactformer.numbers import Exact, Named, Undefined, exact, exp, sqrt
from exactformer.worksheets import loads

MODEL = """
[model]
vocabulary = ["a", "b", "c"]
dim = 2
blocks = 1
norm = "pre"
epsilon = 1e-5
mask = "causal"
scale = "sqrt"
positions = "none"
mlp = 3
activation = "gelu"
unembedding = "tied"
[weights]
W_E = {W_E}
[[weights.blocks]]
attn = {{ W_Q = {W_Q}, W_K = "identity", W_V = "2 identity" }}
mlp = {{ W_in = {W_in}, W_out = {W_out} }}
[input]
tokens = "a b c"
"""


def model(chance: random.Random) -> str:
    def matrix(rows: int, columns: int) -> str:
        return json.dumps([[f"{chance.randint(-200, 200) / 100:.2f}" for _ in range(columns)] for _ in range(rows)])

    return MODEL.format(W_E=matrix(3, 2), W_Q=matrix(2, 2), W_in=matrix(2, 3), W_out=matrix(3, 2))


def middle(x: Exact | Named) -> Fraction:
    """The value, to far more places than are printed here."""
    return x.fraction if isinstance(x, Exact) else sum(x.enclosure(300)) / 2


def printed(units: int, decimals: int) -> str:
    digits = str(abs(units)).zfill(decimals + 1)
    body = digits[:-decimals] + "." + digits[-decimals:] if decimals else digits
    return ("-" if units < 0 else "") + body


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
            decimals = chance.randint(1, 8)
            value, unit = middle(x), Fraction(1, 10**decimals)
            number = printed(round(value / unit), decimals)
            if change:
                place = chance.choice([n for n, c in enumerate(number) if c.isdigit()])
                digit = chance.choice([d for d in "0123456789" if d != number[place]])
                number = number[:place] + digit + number[place + 1 :]
                if abs(Fraction(number) - value) <= unit / 2:  # a half-way case, whose other side is right as well
                    continue
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


@pytest.mark.parametrize(("power", "true"), [("10000", "≈ 8.80682e4342"), ("-1e9999", "0.0"), ("1e9", "a number whose")])
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
