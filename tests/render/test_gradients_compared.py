"""A pass and its gradient with and without a mistake: text, Markdown and JSON say the same."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

import exactformer as xf
from exactformer.model.breaking import broken
from exactformer.render import comparison
from exactformer.render import json as as_json
from exactformer.trace import Trace, gradient
from exactformer.worksheets import example_text

FIELDS = {"name", "op", "title", "formula", "reads", "shape", "values"}


def pair(text: str, *mistakes: str) -> tuple[Trace, Trace]:
    sheet = xf.loads(text)
    return sheet.trace(), replace(sheet, model=broken(sheet.model, mistakes)).trace()


@pytest.fixture(scope="module")
def lesson() -> tuple[Trace, Trace, tuple[str, ...], comparison.Pair]:
    right, wrong = pair(example_text("length4"), "no-scale")
    upstream = xf.array([[0] * 4] * 3 + [[1] * 4])
    return right, wrong, ("no-scale",), (gradient(right, upstream=upstream), gradient(wrong, upstream=upstream))


def test_json_has_the_documented_shape(lesson: tuple[Trace, Trace, tuple[str, ...], comparison.Pair]) -> None:
    right, wrong, mistakes, gradients = lesson
    document = json.loads(comparison.as_json_text(right, wrong, mistakes, gradients, 6))
    assert list(document) == ["format", "title", "arithmetic", "tokens", "targets", "mistakes", "pass", "gradient"]
    assert document["mistakes"][0]["name"] == "no-scale"
    assert "1/2" in document["mistakes"][0]["effect"]
    assert document["pass"]["first"] == "blocks.0.attn.scores"
    steps = {step["name"]: step for step in document["pass"]["steps"]}
    assert list(steps) == [step.name for step in right.steps]
    for step in (*document["pass"]["steps"], *document["gradient"]["steps"]):
        assert list(step) == ["name", "equal", "first", "right", "broken"]
        for side in ("right", "broken"):
            assert step[side] is None or set(step[side]) - {"remarks"} == FIELDS
    assert (steps["embed"]["equal"], steps["embed"]["first"]) == (True, None)
    scores = steps["blocks.0.attn.scores"]
    assert (scores["equal"], scores["first"]) == (False, [0, 0, 0])
    assert scores["right"] == as_json.step(right["blocks.0.attn.scores"], 6)
    assert scores["broken"] == as_json.step(wrong["blocks.0.attn.scores"], 6)
    assert (steps["blocks.0.attn.qk"]["equal"], steps["blocks.0.attn.qk"]["broken"]) == (False, None)


def test_without_a_gradient() -> None:
    right, wrong = pair(example_text("capstone"), "no-mask")
    assert comparison.document(right, wrong, ["no-mask"], None)["gradient"] is None
    assert "The gradient" not in comparison.markdown(right, wrong, ["no-mask"], None)
    assert "the gradient" not in comparison.text(right, wrong, ["no-mask"], None)


def test_nothing_differs() -> None:
    right, wrong = pair(example_text("length4"), "swapped-qk")  # W_Q = W_K there
    assert comparison.document(right, wrong, ["swapped-qk"], None)["pass"]["first"] is None
    assert "No step differs." in comparison.markdown(right, wrong, ["swapped-qk"], None)
    assert "  no step differs\n" in comparison.text(right, wrong, ["swapped-qk"], None)


def test_markdown_and_text_say_the_same_of_every_step(lesson: tuple[Trace, Trace, tuple[str, ...], comparison.Pair]) -> None:
    text, markdown = (render(*lesson, 6) for render in (comparison.text, comparison.markdown))
    rows = re.findall(r"^\| `(\S+)` \| (.+) \|$", markdown, re.MULTILINE)
    told = re.findall(r"^  (\S*\.\S+|embed) +(.+)$", text, re.MULTILINE)
    assert [(name, said.replace("\\", "")) for name, said in rows] == told
    assert len(rows) > 20
    assert "First to differ: `blocks.0.attn.scores`." in markdown


def test_a_worksheet_cannot_break_out_of_markdown() -> None:
    hostile = example_text("capstone").replace('"a"', '"a|`<b>"').replace('tokens = "a b"', 'tokens = "a|`<b> b"')
    right, wrong = pair(hostile.replace("The whole transformer", "<i>T</i> | `x`"), "no-mask")
    shown = comparison.markdown(right, wrong, ["no-mask"], None)
    assert shown.startswith(r"# \<i\>T\</i\> \| \`x\`, by hand")
    table = [line for line in shown.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in table)
    assert "Tokens ``a|`<b> b``" in shown
