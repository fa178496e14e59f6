"""The page in one file: what it holds, and that nothing from a worksheet breaks out of it. Browsers open it in tests/web."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from html.parser import HTMLParser
from typing import Any

import pytest

import exactformer as xf
from exactformer.numbers import Named, definitions, formula
from exactformer.render import json as as_json
from exactformer.trace import Trace, run
from exactformer.web import single_file
from exactformer.web.single_file import joined
from random_models import random_model

HOSTILE = ("</script><script>alert(1)</script>", "<!--", "a&b", "\u2028", "x")


class Parts(HTMLParser):
    """The tags, and the texts of scripts and styles, as a browser takes them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.inside = False
        self.held: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.inside = tag in ("script", "style")
        if tag in ("script", "style", "meta"):
            self.held.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            tag, attrs, text = self.held[-1]
            self.held[-1] = (tag, attrs, text + data)

    def text(self, tag: str, **attrs: str) -> str:
        return next(text for name, there, text in self.held if name == tag and attrs.items() <= there.items())


def held(text: str) -> Any:
    return json.loads(Parts(text).text("script", id="held"))


@pytest.fixture(scope="module")
def capstone() -> Trace:
    return xf.load("capstone").trace("a b")


@pytest.fixture(scope="module")
def hostile() -> Trace:
    model = random_model(random.Random(7), vocabulary=HOSTILE, dims=(2,), blocks=1, norm="none", final_norm=False, mlp=0)
    return run(model, HOSTILE[:3], title="</title><b>T</b>")


def test_it_holds_the_numbers_of_the_trace(capstone: Trace) -> None:
    found = held(single_file.render(capstone, 20))
    document = as_json.document(capstone, 20)
    assert {step["name"]: step["values"] for step in document["steps"]}.items() <= found["pass"]["values"].items()
    opened = found["opened"][found["numbers"]["blocks.0.attn.pattern[0,1,0]"]]
    assert (opened["simplified"], opened["written"], len(opened["digits"])) == ("1/(1+e)", "e^1/(e^1+e^2)", 52)


def test_it_needs_nothing_else(capstone: Trace) -> None:
    text = single_file.render(capstone)
    assert not re.search(r"<(?:link|img|iframe)|\ssrc=|@import|url\((?!#)", text)
    assert len(text.encode()) < 275_000
    assert "leftout_module" not in text  # nor any other view that asks a server
    assert "theory_module" not in text


def test_its_policy_names_its_script_and_its_style(capstone: Trace, hostile: Trace) -> None:
    for trace in (capstone, hostile):
        parts = Parts(single_file.render(trace))
        policy = next(attrs["content"] for tag, attrs, _ in parts.held if tag == "meta" and "http-equiv" in attrs) or ""
        for text in (parts.text("script", type="module"), parts.text("style")):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_nothing_breaks_out(hostile: Trace) -> None:
    text = single_file.render(hostile)
    parts = Parts(text)
    assert parts.tags.count("script") == 2
    assert "b" not in parts.tags
    assert held(text)["pass"]["tokens"] == list(HOSTILE[:3])
    assert held(text)["pass"]["title"] == hostile.title


def test_modules_are_joined_each_once_and_in_order() -> None:
    script = joined("main.js")
    assert not re.search(r"^(?:import|export) ", script, re.MULTILINE)
    modules = re.findall(r"^const (\w+)_module = \(\(\) => \{$", script, re.MULTILINE)
    assert modules[0] == "dom"
    assert modules[-1] == "main"
    assert len(modules) == len(set(modules))
    for match in re.finditer(r"^const \{[^}]*\} = (\w+)_module;$", script, re.MULTILINE):
        assert script.index(f"const {match[1]}_module = ") < match.start()


def test_floats_and_undefined_numbers_have_their_page() -> None:
    capstone, length4 = xf.load("capstone"), xf.load("length4")
    for trace in (capstone.trace("c a"), capstone.trace("a b", "float64"), length4.trace(arithmetic="arb")):
        assert held(single_file.render(trace))["pass"]["tokens"] == list(trace.tokens)


def test_numbers_of_a_pass_are_put_into_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of two blocks took thirty times as long as their text: every number was defined from the ground up."""
    model = random_model(
        random.Random(1), dims=(4,), blocks=2, length=4, vocabulary=tuple("abcd"), heads=2, mask="causal", norm="pre", mlp=4,
        activation="relu", positions="table", scale="sqrt", unembedding="tied", residual=True,
    )  # fmt: skip
    written: list[Any] = []
    text = formula.text

    def counted(form: Any) -> str:
        written.append(form)
        return text(form)

    monkeypatch.setattr(definitions.formula, "text", counted)
    trace = run(model, tuple("abca"))
    single_file.render(trace)
    named = sum(isinstance(value, Named) for step in trace.steps for value in step.values.flat)
    assert 0 < len(written) < 3 * named  # and not forty definitions for each
