"""A pass of a model to walk through: every number that is shown encloses that of the exact network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

from exactformer.messages import Refused
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.arithmetics.exact import MASKED
from exactformer.trace import run
from exactformer.web import walking
from exactformer.web.certified_worker import Prover
from exactformer.worksheets import load
from web.models import gpt2_folder

IDS = "3 4 5"


@pytest.fixture(scope="module")
def prover(tmp_path_factory: pytest.TempPathFactory) -> Prover:
    return Prover(str(gpt2_folder(tmp_path_factory.mktemp("models") / "walked")), lambda state: None)


def entries(step: Any) -> list[Any]:
    return list(np.asarray(step.values[...], dtype=object).ravel())


def test_every_step_encloses_that_of_arb(prover: Prover) -> None:
    trace = prover._trace(None, IDS)
    peer = run(prover.model, trace.tokens, ops=ArbArithmetic(300))
    assert [step.name for step in trace.steps] == [step.name for step in peer.steps]
    for step, other in zip(trace.steps[:-1], peer.steps[:-1], strict=True):
        for x, y in zip(entries(step), entries(other), strict=True):
            assert (x is MASKED and y is MASKED) or x.overlaps(y), step.name
    logits = entries(trace["logits"])
    assert all(float(x.rad()) < 1e-11 for x in logits)
    assert trace.token(2) == peer.token(2)


def test_numbers_are_digits_with_both_ends(prover: Prover) -> None:
    outline = prover.passed(ids=IDS)
    assert (outline["tokens"], outline["breaks"], "values" in outline) == (["#3", "#4", "#5"], [], False)
    assert {step["name"] for step in outline["steps"]} > {
        "embed",
        "blocks.1.attn.pattern",
        "ln_final.out",
        "logits",
        "probs",
        "token",
    }
    found = prover.number("logits", [2, 7], ids=IDS)
    assert found["value"]["status"] == "ball"
    assert float(found["low"]) <= float(found["digits"]) <= float(found["high"])
    row = prover.values(["logits"], ids=IDS, start=2, end=3, left=7, right=9)["values"]["logits"][0]
    assert len(row) == 2
    assert row[0]["low"][:6] == found["low"][:6]


def test_weights_are_points(prover: Prover) -> None:
    weight = prover.model.weights.blocks[0].attn.W_Q
    found = prover.number("blocks.0.attn.W_Q", [0, 1, 2], digits=30, ids=IDS)
    assert arb(found["value"]["text"]).overlaps(arb(float(weight[0, 1, 2])))
    assert found["value"]["status"] == "ball"


def test_what_the_mask_hides_is_hidden(prover: Prover) -> None:
    rows = prover.values(["blocks.0.attn.masked"], ids=IDS)["values"]["blocks.0.attn.masked"][0]
    assert [[x["status"] for x in row] for row in rows][:2] == [["ball", "masked", "masked"], ["ball", "ball", "masked"]]
    shades = prover.shades("blocks.0.attn.masked", 1, ids=IDS)["shades"]
    assert shades[0][1:] == ["hidden", "hidden"]
    assert shades[2][0] == pytest.approx(float(prover.number("blocks.0.attn.masked", [1, 2, 0], ids=IDS)["digits"]), rel=1e-3)


def test_a_distribution_of_the_model(prover: Prover) -> None:
    found = prover.distribution(2, "7/10", 5, None, ids=IDS)
    assert (found["kept"], found["proved"], found["size"]) == (5, True, 40)
    assert sum(float(token["probability"]["low"]) for token in found["tokens"][:5]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("task", "given", "line"),
    [
        ("number", {"step": "nothing", "index": [0]}, "step: there is no step 'nothing'"),
        ("number", {"step": "logits", "index": [0, 40]}, "index: [0, 40] is no entry of logits, which is 3 × 40"),
        ("shades", {"step": "blocks.0.attn.pattern", "head": 9}, "head: 9 is none of 0 to "),
        ("values", {"steps": ["wpe"]}, "step: there is no step 'wpe'"),
        ("distribution", {"position": 3}, "position: 3 is none of 0 to 2"),
        ("passed", {"ids": "3 400"}, "position 1: "),
    ],
)
def test_what_is_not_there_is_one_line(prover: Prover, task: str, given: dict[str, Any], line: str) -> None:
    with pytest.raises(Refused) as told:
        getattr(prover, task)(**{"ids": IDS} | given)
    assert line in str(told.value)


def test_a_pass_that_is_too_large_to_keep_is_refused(prover: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_MOST", 500)
    with pytest.raises(Refused, match="more than 500 numbers: give a shorter prompt"):
        prover.passed(ids="6 7")


def test_a_pass_with_shared_heads_is_traced() -> None:
    """Keys that several heads read stand in the trace once for each of them; they were missing, and the trace ended in a defect."""
    sheet = load("llama")
    trace, peer = sheet.trace(arithmetic="certified"), sheet.trace(arithmetic="arb")
    for name in ("blocks.0.attn.shared_k", "blocks.0.attn.shared_v", "blocks.0.attn.scores"):
        pairs = zip(entries(trace[name]), entries(peer[name]), strict=True)
        assert all(x.overlaps(y) for x, y in pairs)


def test_the_built_in_model_is_offered_with_its_prompt(tmp_path: Path) -> None:
    said: dict[str, Any] = {}
    Prover("stories", said.update)
    assert (said["state"], said["input"], said["text"]) == ("ready", "Once upon a time", True)
