"""What shows itself: a short repr, a text, HTML whose texts are escaped, and plots."""

from __future__ import annotations

import random
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from exactformer.circuits.matrices import circuits
from exactformer.messages import NotInstalled
from exactformer.render import plots
from exactformer.trace import Trace, run
from random_models import random_model

HOSTILE = ("<script>alert(1)</script>", "<b>", "a&b", '"x')


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(html: str) -> set[str]:
    parser = Tags()
    parser.feed(html)
    assert parser.open == []
    return parser.seen


@pytest.fixture(scope="module")
def hostile() -> Trace:
    model = random_model(
        random.Random(5), vocabulary=HOSTILE, dims=(2,), blocks=1, unembedding="tied", norm="none", final_norm=False, mlp=0
    )
    return run(model, HOSTILE[:3], title="<script>")


def shown(trace: Trace) -> dict[str, Any]:
    gradient = xf.gradient(trace, trace.tokens)
    return {
        "trace": trace,
        "step": trace["pattern"],
        "logits": trace["logits"],
        "gradient": gradient,
        "of a weight": gradient["attn.W_Q"],
        "model": trace.model,
        "circuit": next(iter(circuits(trace.model, 0, 0, {}))),
        "certificate": xf.certify(trace.model, [0, 1]),
        "report": xf.prove(trace.model, xf.Sequences(trace.model.config.vocabulary[:2], 1), lambda tokens: {HOSTILE[0]}, workers=1),
    }


def test_nothing_breaks_out(hostile: Trace) -> None:
    for name, thing in shown(hostile).items():
        assert checked(thing._repr_html_()) <= {
            "div",
            "style",
            "h1",
            "h2",
            "p",
            "table",
            "tr",
            "td",
            "th",
            "span",
            "code",
            "br",
            "strong",
            "ul",
            "li",
            "svg",
            "figure",
            "figcaption",
            "line",
            "text",
            "polyline",
            "circle",
            "title",
        }, name
        assert len(repr(thing)) < 300, name
        assert str(thing) != repr(thing), name


def test_reports_show_themselves() -> None:
    claims = '[[claims]]\noperation = "softmax"\nof = [0, 1]\nvalues = ["0.27", "<b>"]\n'
    report = xf.check_text(claims.replace('"<b>"', '"0.74"'))
    assert checked(report._repr_html_()) >= {"table", "td"}
    assert str(report).splitlines()[0].endswith("0.74 is last digit off: 0.73 (0.7311); a new error")
    assert "1 right, 1 last digit off" in repr(report)
    model = xf.load("capstone").model
    certificate = xf.certify(model, [0, 1])
    assert "token 1: #0, proved" in str(certificate)
    assert repr(certificate.verify(model)) == "<every claim is confirmed>"


def test_a_checkpoint_is_a_line() -> None:
    folder = xf.load("stories").origin
    assert folder is not None
    opened = xf.open_checkpoint(folder.folder)
    assert repr(opened) == "<checkpoint 'stories': <model: 64 dimensions, 5 blocks, 4 heads, 966 tokens, 289,088 weights>>"
    for thing in (opened, xf.load("stories")):
        assert len(repr(thing)) < 300
        assert "float32, taken exactly" in thing._repr_html_()
    for thing in (opened.model.config, opened.model.weights, opened.model.weights.blocks[0], opened.model.weights.blocks[0].attn):
        assert len(repr(thing)) < 400


def test_a_long_pass_shows_its_end() -> None:
    sheet = xf.load("stories")
    trace = sheet.trace(prompt="Once upon a time there was a little girl who had a dog", arithmetic="float64")
    html = trace._repr_html_()
    assert f"the last of {len(trace.tokens)} positions" in html
    assert len(html) < 1_000_000
    assert "the first 14 × 32 of 14 × 966" in trace["logits"]._repr_html_()


def test_tables_have_the_names_of_tokens() -> None:
    html = xf.load("capstone").trace()["pattern"]._repr_html_()
    assert "<th>a</th><th>b</th>" in html
    assert '<span class="named">e/(1+e)</span><br><span class="more">≈ 0.731058578630</span>' in html


def test_plots(hostile: Trace) -> None:
    pytest.importorskip("matplotlib")
    figure = xf.load("capstone").trace().plot("pattern")
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axis.texts] == ["1.00", "0.00", "0.27", "0.73"]
    assert np.array_equal(axis.images[0].get_array(), xf.load("capstone").trace()["pattern"].to_numpy()[0])
    for name in ("masked", "logits", "embed"):
        assert hostile.plot(name).axes
    two = xf.load("context").trace()
    assert len(two["blocks.0.attn.pattern"].plot().axes) > len(two["blocks.0.attn.pattern"].plot(head=1).axes) == 1
    with pytest.raises(xf.Refused, match="there is no head 7"):
        two["blocks.0.attn.pattern"].plot(head=7)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_without_matplotlib_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    plots._figure.cache_clear()
    with pytest.raises(NotInstalled, match=r"^plots need matplotlib: pip install 'exactformer\[plot\]'"):
        xf.load("capstone").trace()["pattern"].plot()
    plots._figure.cache_clear()
