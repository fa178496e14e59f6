"""Worked examples of our own, computed in floats by their formulas, printed as textbooks print them, and some spoilt on the way."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from checking.published import attention, claim, steps
from exactformer.checking import CheckReport, Verdict, check_text

X = [["0.5", "-1", "2"], ["1.25", "0.75", "-0.5"], ["-0.25", "1.5", "1"]]
ROWS = np.array(X, dtype=float)


def printed(values: Any, decimals: int = 4) -> Any:
    return [printed(value, decimals) for value in values] if np.ndim(values) else f"{values:.{decimals}f}"


def softmax(values: Any) -> Any:
    powers = np.exp(values)
    return powers / powers.sum(-1, keepdims=True)


def verdicts(text: str) -> dict[str, int]:
    return dict(Counter(str(finding.verdict) for finding in check_text(text, "mine.toml").findings))


def test_softmax_gelu_and_layer_norm() -> None:
    x = ROWS[0]
    gelu = [v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x]
    norm = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
    text = claim(operation="softmax", of=X[0], values=printed(softmax(x)))
    text += claim(operation="gelu_tanh", of=X[0], values=printed(gelu, 6))
    text += claim(operation="layer_norm", name="out", of=X[0], epsilon="1e-5", values=printed(norm))
    text += claim(operation="variance", of="out", value=printed(norm.var(), 6))
    assert verdicts(text) == {"right": 10}


def test_what_is_cut_off_and_what_is_wrong() -> None:
    std = math.sqrt(5)  # of 1, 3, 5, 7
    told = check_text(claim(operation="std", of=[1, 3, 5, 7], value=f"{std:.6f}"[:4])).findings[-1]  # 2.23, of 2.236068
    assert (told.printed, told.verdict, told.more) == ("2.23", Verdict.TRUNCATED, "2.2361")
    spoilt = printed(softmax(ROWS[0])[::-1])  # the largest first
    assert verdicts(claim(operation="softmax", of=X[0], values=spoilt))["wrong"] >= 2


def head(slip: float = 0.0, carried: bool = True) -> CheckReport:
    """One head over the rows of X, every step printed. A slip in one product is carried on, as printed, or is not."""
    products = ROWS @ ROWS.T
    products[1, 2] += slip
    carry = (lambda values: np.round(values, 4)) if slip and carried else lambda values: values
    scores = carry((products if carried else ROWS @ ROWS.T) / math.sqrt(3))
    pattern = carry(softmax(scores))
    numbers = {"products": products, "scaled": scores, "weights": pattern, "z": pattern @ ROWS}
    text = attention(X, "sqrt") + steps(
        {name: printed(values) for name, values in numbers.items()}, products="qk", scaled="scores", weights="pattern", z="z"
    )
    return check_text(text, "head.toml")


def test_a_head_is_right_to_the_last_digit() -> None:
    report = head()
    assert report.status == 0
    assert report.counts[Verdict.RIGHT] == 36


def test_the_first_wrong_number_and_what_follows_from_it() -> None:
    report = head(slip=0.5)
    first = report.first_wrong
    assert first is not None
    assert (first.subject, first.carried_on) == ("blocks.0.attn.qk", False)
    found = {finding.place: finding for finding in report.findings if finding.verdict == Verdict.WRONG}
    assert found["blocks.0.attn.scores[0, 1, 2]"].carried_on
    assert all(finding.carried_on for place, finding in found.items() if "qk" not in place)
    assert {place.split("[")[1][:4] for place in found if "pattern" in place} == {"0, 1"}  # of that row alone


def test_a_slip_that_is_not_carried_on() -> None:
    wrong = [finding for finding in head(slip=0.5, carried=False).findings if finding.verdict == Verdict.WRONG]
    assert [finding.subject for finding in wrong] == ["blocks.0.attn.qk"]


def test_a_third_is_meant_exactly() -> None:
    same = [["1", "2", "-1"]] * 3
    text = attention(same, "sqrt") + claim(step="blocks.0.attn.pattern", row=2, values=["1/3", "1/3", "1/3"])
    assert check_text(text).status == 0
    assert check_text(text.replace('"1/3"', '"333/1000"')).counts[Verdict.WRONG] == 3
