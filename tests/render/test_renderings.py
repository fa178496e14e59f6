"""One trace, many renderings: what each shows, and that nothing from a worksheet breaks out of it."""

from __future__ import annotations

import json
import random
import re
from html.parser import HTMLParser
from typing import Any

import pytest

import exactformer as xf
from exactformer import painting
from exactformer.render import html, latex, markdown, text
from exactformer.render import json as as_json
from exactformer.trace import Trace, run
from random_models import random_model, random_tokens

HOSTILE = ("<script>alert(1)</script>", "a|b`c", "\\end{document}", "x_1 & 50%", "*bold*")


@pytest.fixture(scope="module")
def capstone() -> Trace:
    return xf.load("capstone").trace("a b")


@pytest.fixture(scope="module")
def hostile() -> Trace:
    source = random_model(
        random.Random(7), vocabulary=HOSTILE, dims=(2,), blocks=1, unembedding="tied", norm="none", final_norm=False, mlp=0
    )
    return run(source, HOSTILE[:3], title="<b>T</b> $x$ | `y`")


def test_text_tells_kinds_apart_without_colour(capstone: Trace) -> None:
    shown = text.render(capstone)
    assert "\x1b" not in shown
    assert "~ [1/(1+e), e/(1+e)]" in shown
    assert "= [e^1/(e^1+e^2), e^2/(e^1+e^2)]" in shown
    assert "≈ [0.268941421370, 0.731058578630]" in shown
    assert "(1*, -1*)" in shown
    assert "[1, -inf]" in shown
    assert "ahead of c by 1 (proved)" in shown
    assert shown.index("position 0") < shown.index("position 1")


def test_text_in_colour_says_the_same(capstone: Trace) -> None:
    coloured = text.render(capstone, paint=painting.coloured)
    assert "\x1b[36m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == text.render(capstone)


def test_text_gives_the_reason_of_what_is_undefined() -> None:
    shown = text.render(xf.load("capstone").trace("c a"))
    assert "(undefined, undefined)" in shown
    assert shown.count("blocks.0.ln1 at position 0: the variance is 0 and ε is 0") == 2  # where it happens, and at the token


def test_text_keeps_to_the_width() -> None:
    model = random_model(
        random.Random(4), dims=(8,), norm="none", final_norm=False, positions="none", mlp=8, activation="relu", blocks=1
    )
    for line in text.render(run(model, random_tokens(random.Random(4), model, 3)), width=100).splitlines()[6:]:
        assert len(line) <= 100 or ", " not in line.strip()


def test_stopped_positions_stop_in_every_rendering() -> None:
    stopped = xf.load("capstone").trace("a b", stop_at_named=True)
    shown = text.render(stopped)
    assert shown.rstrip().splitlines()[-3].split()[:3] == ["stop", "stops", "at"]
    document = as_json.document(stopped)
    after = next(s for s in document["steps"] if s["name"] == "blocks.0.resid_mid")
    assert after["values"][0] is not None
    assert after["values"][1] is None
    assert document["output"][1] == {"position": 1, "token": None, "proved": False, "stopped": "blocks.0.attn.pattern"}
    assert "ln1" not in markdown.render(stopped).split("## Position 1")[1]


def test_json_has_the_documented_shape(capstone: Trace) -> None:
    document = json.loads(as_json.render(capstone, digits=6))
    assert document["tokens"] == ["a", "b"]
    step = next(s for s in document["steps"] if s["name"] == "blocks.0.attn.pattern")
    assert (step["op"], step["reads"], step["shape"]) == ("softmax", ["blocks.0.attn.masked"], [1, 2, 2])
    assert step["values"][0][0] == [
        {"status": "exact", "text": "1", "recovered": False},
        {"status": "exact", "text": "0", "recovered": False},
    ]
    assert step["values"][0][1][1] == {
        "status": "named", "text": "e/(1+e)", "written": "e^2/(e^1+e^2)", "low": "0.731058", "high": "0.731059",
    }  # fmt: skip
    masked = next(s for s in document["steps"] if s["name"] == "blocks.0.attn.masked")
    assert masked["values"][0][0][1] == {"status": "masked", "text": "-inf"}
    margin = document["output"][1]["margin"]
    assert (margin["status"], margin["text"], margin["recovered"]) == ("exact", "1", True)
    assert document["model"]["weights"]["W_pos"] == [["0", "0"], ["1", "0"]]


def test_json_of_undefined_values() -> None:
    document = as_json.document(xf.load("capstone").trace("c"))
    assert document["output"] == [{"position": 0, "token": None, "proved": True, "why": document["output"][0]["why"]}]
    value = next(s for s in document["steps"] if s["name"] == "logits")["values"][0][0]
    assert value["status"] == "undefined"
    assert "variance is 0" in value["why"]


def test_json_of_floats(capstone: Trace) -> None:
    document = as_json.document(xf.load("capstone").trace("a b", "float32"))
    assert document["steps"][0]["values"][0][0] == {"status": "float", "text": "1.0"}
    json.dumps(document, allow_nan=False)


def test_latex_is_balanced_and_escaped(capstone: Trace, hostile: Trace) -> None:
    assert r"\frac{e}{1+e}" in latex.render(capstone)
    for pass_ in (capstone, hostile):
        document = latex.render(pass_)
        assert document.count("\\end{document}") == 1
        assert document.count(r"\begin{longtable}") == document.count(r"\end{longtable}") == len(pass_.tokens) + 1
        bare = document.replace(r"\{", "").replace(r"\}", "")
        assert bare.count("{") == bare.count("}")
        assert bare.replace(r"\$", "").count("$") % 2 == 0


def test_markdown_tables_have_three_columns(capstone: Trace, hostile: Trace) -> None:
    for pass_ in (capstone, hostile):
        rows = [line for line in markdown.render(pass_).splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3, 4}  # weights; steps


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


def test_html_escapes_everything_from_a_worksheet(hostile: Trace) -> None:
    parser = Tags()
    parser.feed(html.fragment(hostile))
    assert "script" not in parser.seen
    assert "b" not in parser.seen
    assert parser.seen.count("table") == 4  # weights, and a table a position


def test_notebooks(capstone: Trace) -> None:
    assert capstone._repr_html_().startswith('<div class="exactformer">')
    assert xf.exp(1)._repr_latex_() == "$e$"
    assert (1 / (1 + xf.exp(1)))._repr_latex_() == r"$\frac{1}{1+e}$"
    assert str(capstone) == text.render(capstone)


RAW = ("`<img src=x onerror=alert(1)>", "a`b", "\u202eesrever", "``")


@pytest.fixture(scope="module")
def raw() -> Trace:
    source = random_model(
        random.Random(7), vocabulary=RAW, dims=(2,), blocks=1, unembedding="tied", norm="none", final_norm=False, mlp=0
    )
    return run(source, RAW, title="T")


def outside_code(line: str) -> str:
    """What is left of a line of Markdown without its spans of code: runs of as many backticks, and what is between them."""
    return re.sub(r"(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)", "", line)


def test_no_token_leaves_its_span_of_code(raw: Trace) -> None:
    document = markdown.render(raw)
    assert all("<img" not in outside_code(line).replace("\\<img", "") for line in document.splitlines())
    assert "## Position 1: ``a`b``" in document
    assert "## Position 3: ``` `` ```" in document


@pytest.mark.parametrize("render", [text.render, markdown.render, latex.render, html.fragment])
def test_no_token_turns_a_line_round(raw: Trace, render: Any) -> None:
    assert "\u202e" not in render(raw)
    assert "u202eesrever" in render(raw)
