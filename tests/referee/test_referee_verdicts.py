"""Verdicts against a second opinion, and planted faults: a seeded sample of `python -m benchmarks.trials referees`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.trials.referees import control_trials, fault_trial

import exactformer as xf
from exactformer.referee import Judgements, OutputsError


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_changed_rows_land_in_their_verdicts(seed: int) -> None:
    counts, failed = control_trials(seed, 200)
    assert not failed
    assert counts["right"] > 20
    assert counts["wrong"] > 20
    assert not counts["undecided"]


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_planted_fault_is_found_at_its_step(seed: int) -> None:
    _, where, found, without = fault_trial(seed)
    assert found == where
    assert without is None


def test_equal_columns_tie_truly_and_are_never_wrong() -> None:
    model = xf.loads(TIED).model
    report = xf.judge(model, {"first": np.array([1.0, 0, 0]), "second": np.array([0, 1.0, 0]), "third": np.array([0, 0, 1.0])}, [0])
    verdicts = {record["engine"]: record["verdict"] for record in report.records if record["position"] is not None}
    assert verdicts == {"first": "true tie", "second": "true tie", "third": "wrong"}


TIED = """
[model]
vocabulary = ["a", "b", "c"]
dim = 2
blocks = 1
norm = "none"
mask = "causal"
scale = "sqrt"
positions = "none"
unembedding = "own"
[weights]
W_E = [["1", "1/2"], ["1/3", "1"], ["1", "0"]]
W_U = [["1", "1", "0"], ["0", "0", "-1"]]
[[weights.blocks]]
attn = { W_Q = "identity", W_K = "identity", W_V = "identity" }
[input]
tokens = ["a"]
"""


def rows(report: Judgements, engine: str) -> list[dict[str, Any]]:
    return [record for record in report.records if record["engine"] == engine and record["position"] is not None]


def test_outputs_that_are_all_zero_are_wrong_even_where_the_first_token_is_right() -> None:
    report = xf.judge(xf.load("capstone"), {"zero": np.zeros(3, np.float32)}, [0, 1])
    assert rows(report, "zero")[0]["true_token"] == 0
    assert rows(report, "zero")[0]["verdict"] == "wrong"
    assert report.verdict() is False


def test_nan_is_wrong_and_infinity_is_a_number_far_off() -> None:
    nan, infinite = np.array([np.nan, 0, 0], np.float32), np.array([np.inf, 0, 0], np.float32)
    report = xf.judge(xf.load("capstone"), {"nan": nan, "inf": infinite}, [0, 1])
    assert rows(report, "nan")[0]["verdict"] == "wrong"
    assert rows(report, "inf")[0]["verdict"] == "right"
    assert rows(report, "inf")[0]["error"][1] is None  # not bounded
    assert report.first_steps("inf") == {"logits": 1}


def test_a_right_token_with_wrong_numbers_is_told() -> None:
    report = xf.judge(xf.load("capstone"), {"loud": np.array([30.0, 1, 1], np.float32)}, [0, 1])
    assert report.verdict() is True
    assert report.first_steps("loud") == {"logits": 1}
    assert "every token is right, but its numbers are farther off than careful floats: from logits on" in str(report)


def test_quantised_engines_are_not_excused_by_rounding() -> None:
    """A near tie stays one; what would be rounding's is wrong."""
    model = xf.loads(TIED.replace('["0", "0", "-1"]', '["0", "1/1000000", "-1"]')).model
    other = np.array([1.0, 0, 0], np.float16)
    plain = xf.judge(model, {"it": other}, [0], dtype="float16")
    (record,) = rows(plain, "it")
    assert record["verdict"] in ("near tie", "wrong by rounding")
    quantised = xf.judge(model, {"it": other}, [0], dtype="float16", quantised=["it"])
    (again,) = rows(quantised, "it")
    assert again["verdict"] == ("near tie" if record["verdict"] == "near tie" else "wrong")


@pytest.mark.parametrize(
    ("outputs", "ids", "line"),
    [
        ({"it": np.zeros(4, np.float32)}, [0, 1], "it: prompt 0: logits: have the shape 1 × 4, where the model says 3 tokens"),
        ({"it": np.zeros((1, 2, 3, 3), np.float32)}, [0, 1], "it: prompt 0: "),
        ({"it": np.zeros(3, np.float32)}, [0, 7], "it: prompt 0: "),
        ({"it": np.zeros(3, np.float32)}, None, "it: ids: are missing"),
        ({"it": np.zeros(3, np.complex64)}, [0, 1], "it: dtype: say which format was computed in; the arrays hold complex64"),
        ({"it": {"logprobs": np.ones(3, np.float32)}}, [0, 1], "it: prompt 0: logprobs: one is 1, where a logarithm"),
        ({"it": {"tokens": np.array([9])}}, [0, 1], "it: prompt 0: tokens: 9 is not one of 3"),
        ({"it": {"blocks.0.nothing": np.zeros((2, 2), np.float32)}}, [0, 1], "it: blocks.0.nothing: is not a step of this model"),
        ({"it": {"embed": np.zeros((5, 9), np.float32)}}, [0, 1], "it: embed: has the shape 5 × 9, where the step has 2 × 2"),
        ({}, [0, 1], "there are no outputs"),
    ],
)  # fmt: skip
def test_outputs_that_do_not_fit_get_one_line(outputs: dict[str, Any], ids: list[int] | None, line: str) -> None:
    with pytest.raises(OutputsError) as error:
        xf.judge(xf.load("capstone"), outputs, ids)
    assert line in str(error.value)
    assert "\n" not in str(error.value)
