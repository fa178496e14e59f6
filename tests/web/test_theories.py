"""What the page proves of heads: what the command line says of the same question, in the same words; refusals name their field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli_runs import run
from exactformer.messages import Refused
from exactformer.web import tasks

INDUCTION = {"example": "induction", "edits": ["tokens=a b a"]}


def asked(task: str, source: dict[str, Any] = INDUCTION, **question: Any) -> dict[str, Any]:
    return tasks.run(task, {"source": source, **question})


def said(*command: str) -> str:
    return run(*command).stdout


def test_an_ablation_is_that_of_the_command(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "a b a"}\n{"prompt": "c b a"}\n')
    command = ("explain", "induction", "--tokens", "a b a")
    for how in ("zero", "mean", "from b c b"):
        part = f"blocks.1.attn.head.0={how}"
        options = ("--ablate", part, *(("--over", str(prompts)) if how == "mean" else ()))
        found = asked("ablate", position=2, parts=[part], prompts=["a b a", "c b a"])
        told, sizes = found.pop("told"), found.pop("sizes")
        assert found["before"].pop("near") == "100 - 7.44e-42"
        found["change"].pop("near", None)
        assert found == json.loads(said(*command, *options, "--format", "json"))
        assert told in said(*command, *options)
        assert sizes["before"] == pytest.approx(100)
        assert sizes["change"] == pytest.approx(sizes["after"] - sizes["before"])


def test_the_lead_may_be_over_a_token_of_choice() -> None:
    found = asked("ablate", position=2, parts=["blocks.1.attn.head.0=zero"], over="c")
    assert (found["token"], found["over"], found["sign"]) == ("b", "c", -1)


def test_floats_prove_no_change() -> None:
    found = asked("ablate", INDUCTION | {"arithmetic": "float64"}, position=2, parts=["blocks.0.attn.head.0=zero"])
    assert found["told"].endswith("falls, in floats")


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ({"parts": []}, "no part is given: write NAME=zero"),
        ({"parts": ["blocks.1.attn.head.0=mean"]}, "prompts: give the prompts of the mean, one a line"),
        ({"parts": ["blocks.1.attn.head.0=mean"], "prompts": ["a", "z"]}, "prompts: line 2: word 1 of the text, 'z', is not"),
        ({"parts": ["blocks.1.attn.head.0=from a"]}, "blocks.1.attn.head.0: 'a' has 1 token, the input 3: give as many"),
        ({"parts": ["blocks.1.attn.head.0=from a z a"]}, "blocks.1.attn.head.0: word 2 of the text, 'z', is not"),
        ({"parts": ["blocks.1.attn.head.3=zero"]}, "blocks.1.attn.head.3: there is no such head"),
        ({"parts": ["blocks.1.mlp=zero"]}, "blocks.1.mlp: there is no such MLP"),
        ({"parts": ["blocks.1.attn.head.0=zero"], "token": "b"}, "over: what a part does is measured by a lead"),
        ({"parts": ["blocks.1.attn.head.0=zero"], "position": 7}, "position 7: the input has the positions 0 to 2"),
    ],
)
def test_what_is_no_ablation_gets_one_line(question: dict[str, Any], line: str) -> None:
    with pytest.raises(Refused) as told:
        asked("ablate", **{"position": 2} | question)
    assert str(told.value).startswith(line)


@pytest.mark.parametrize(
    ("claim", "verdict"), [("0.0 previous >= 0.99", "proved"), ("1.0 previous >= 0.99", "refuted"), ("1.0 itself <= 0", "proved")]
)
def test_a_theorem_about_a_pattern_is_that_of_the_command(claim: str, verdict: str) -> None:
    found = asked("pattern", claim=claim, length=3)
    command = ("prove", "induction", "--length", "3", "--pattern", claim)
    text, report = said(*command), json.loads(said(*command, "--format", "json"))
    assert found["verdict"] == verdict
    assert {name: found[name] for name in report if name != "nearest"} == {k: v for k, v in report.items() if k != "nearest"}
    assert found["told"] in text
    if report["nearest"] is not None:
        assert report["nearest"].items() <= found["nearest"].items()
        where = "farthest beyond" if verdict == "refuted" else "nearest to"
        assert f"{where} the bound: {found['nearest']['weight']}, at position" in text


def test_the_weight_nearest_to_a_bound_can_be_looked_at() -> None:
    found = asked("pattern", claim="1.0 previous >= 0.99", length=4)
    near, edits = found["nearest"], ["tokens=" + " ".join(found["nearest"]["tokens"])]
    index = [found["head"], near["position"], near["read"]]
    value = asked("number", {"example": "induction", "edits": edits}, step=found["step"], index=index, digits=9)["value"]
    assert float(near["low"]) <= float(value.get("low") or value["text"]) <= float(near["high"])
    assert near["read"] == near["position"] - 1


def test_a_pattern_of_a_model_without_a_head() -> None:
    """Without the first head, the second finds nothing to match, and looks at both tokens before it alike."""
    claim = "1.0 2 back >= 1/2"
    found = asked("pattern", claim=claim, length=3, omitted=["blocks.0.attn.head.0"])
    ablated = ("--ablate", "blocks.0.attn.head.0=zero", "--format", "json")
    assert found["counts"] == json.loads(said("prove", "induction", "--length", "3", "--pattern", claim, *ablated))["counts"]
    assert (found["verdict"], asked("pattern", claim=claim, length=3)["verdict"]) == ("proved", "refuted")


@pytest.mark.parametrize(
    ("source", "question", "line"),
    [
        ("induction", {"claim": "0.0 before >= 1", "length": 3}, "claim: '0.0 before >= 1' is not a claim about a pattern"),
        ("induction", {"claim": "0.7 previous >= 1", "length": 3}, "claim: there is no head 0.7"),
        ("induction", {"claim": "0.0 previous >= x", "length": 3}, "claim: 'x' is not a number"),
        ("induction", {"claim": "0.0 previous >= 1", "length": 7}, "length: 7 positions are needed, the model has 6"),
        ("poster", {"claim": "0.0 previous >= 1", "length": 2}, "length: there are 2,525,816,"),
        (
            "induction",
            {"claim": "0.0 previous >= 1", "length": 3, "omitted": ["blocks.9.mlp"]},
            "blocks.9.mlp: there is no such MLP",
        ),
    ],
)
def test_what_is_no_claim_gets_one_line(source: str, question: dict[str, Any], line: str) -> None:
    with pytest.raises(Refused) as told:
        asked("pattern", {"example": source}, **question)
    assert str(told.value).startswith(line)


@pytest.mark.parametrize(
    ("claim", "omitted", "answer"),
    [
        ("everywhere", [], "proved"),
        ("fails", [], "refuted"),
        ("fails", ["blocks.0.attn.head.0"], "proved"),
        ("nowhere", ["blocks.0.attn.head.0"], "refuted"),
    ],
)
def test_claims_about_a_model_without_a_head(claim: str, omitted: list[str], answer: str) -> None:
    found = asked("theorem", length=3, claim=claim, omitted=omitted)
    assert found.get("answer", found["verdict"]) == answer
    ablated = [option for name in omitted for option in ("--ablate", f"{name}=zero")]
    text = said("prove", "induction", "--length", "3", "--claim", claim, *ablated)
    assert all(line in text for line in found["lines"])
    assert ("claim" in found) == (claim != "everywhere")
    if claim != "everywhere":
        assert f"Claim: {found['claim']}: {answer.upper()}" in text


def test_a_longer_circuit_keeps_its_changes() -> None:
    """It is built anew for longer inputs; what was changed in it is changed again."""
    source = {"example": "induction", "edits": ["blocks.0.attn.head.0=zero"]}
    assert asked("theorem", source, length=7)["verdict"] == "refuted"
    assert asked("theorem", {"example": "induction", "edits": ["scale=1/100"]}, length=7)["verdict"] == "refuted"


def test_circuits_have_their_sizes() -> None:
    table = asked("circuits", {"example": "capstone"})["heads"][0]["tables"][0]
    report = json.loads(said("circuits", "capstone", "--largest", "3", "--format", "json"))["circuits"][0]
    assert [table["sizes"][name] for name in ("largest", "smallest")] == [report["largest"], report["smallest"]]
    words = ["Frobenius norm", "largest row sum", "spectral norm"]
    assert table["sizes"]["norms"] == [[name, value] for name, value in zip(words, report["norms"].values(), strict=True)]
