"""A lesson as plain data for the page: known tags alone, whatever a stranger writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from exactformer.lessons import built, page, read
from lessons.sheets import EVERYTHING

USE = "<!-- exactformer: use capstone -->\n\n"
TAGS = {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "hr", "li", "math", "number", "ol", "p", "pre", "s", "span",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul", "view",
}  # fmt: skip


def nodes(tree: Any) -> Iterator[list[Any]]:
    for node in tree:
        if isinstance(node, list):
            yield node
            yield from nodes(node[2:])


def texts(tree: Any) -> str:
    return "".join(node if isinstance(node, str) else texts(node[2:]) for node in tree)


def tree(text: str) -> list[Any]:
    found: list[Any] = page(read(USE + text))["tree"]
    return found


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <b onclick='x'>b</b>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,x)",
        "![x](https://example.org/x.png)",
        "<https://example.org>",
        "&lt;script&gt;",
        "[a]: javascript:x\n\n[a]",
    ],
)
def test_strangers_get_no_markup_through(text: str) -> None:
    found = list(nodes(tree(text)))
    assert {node[0] for node in found} <= TAGS
    for node in found:
        assert set(node[1]) <= {"href", "lesson", "n", "start"}
        assert node[1].get("href", "https://").startswith(("http://", "https://"))


def test_raw_html_is_shown_as_it_is_written() -> None:
    assert texts(tree("<script>alert(1)</script>")) == "<script>alert(1)</script>"


def test_links_lead_to_the_web_or_to_lessons() -> None:
    assert [node[1] for node in nodes(tree("[a](https://example.org) [b](four-tokens.md)")) if node[0] == "a"] == [
        {"href": "https://example.org"},
        {"lesson": "four-tokens"},
    ]


def test_plain_formulas_are_formulas_and_others_code() -> None:
    found = [
        node
        for node in nodes(tree("$\\frac{1}{1+e}$, $e^{2}$ and $\\int_0^1 x$, but 5$ and 6$, `$x$`"))
        if node[0] in ("math", "code")
    ]
    assert found == [["math", {}, "((1)/(1+e))"], ["math", {}, "e^(2)"], ["code", {}, "\\int_0^1 x"], ["code", {}, "$x$"]]


def test_every_view_and_number_is_there_once() -> None:
    data = page(read(built(read(EVERYTHING))))
    found = list(nodes(data["tree"]))
    assert [node[1]["n"] for node in found if node[0] == "view"] == list(range(len(data["views"])))
    assert [view["kind"] for view in data["views"]] == ["step", "number", "claim", "break", "exercise"]
    assert sorted(node[1]["n"] for node in found if node[0] == "number") == list(range(len(data["numbers"])))
    assert "exactformer" not in texts(data["tree"])  # neither comments nor what is written for plain readers
    assert "0.2689" not in texts(data["tree"])


def test_the_answer_of_an_exercise_is_nowhere() -> None:
    text = USE + "> What is it?\n> <!-- exactformer: exercise blocks.0.attn.pattern[0, 1, 0] -->\n"
    assert "1/(1+e)" not in built(read(text))
    assert "1/(1+e)" not in str(page(read(text)))


def test_views_in_a_quotation_are_in_it() -> None:
    (quote,) = [node for node in tree("> Ask\n> <!-- exactformer: exercise logits[1, 0] -->\n") if node[0] == "blockquote"]
    assert [node[0] for node in quote[2:]] == ["p", "view"]


def test_passes_are_as_the_api_takes_them() -> None:
    data = page(
        read('<!-- exactformer: use capstone tokens "b a" backward target "a a" -->\n<!-- exactformer: step grad.embed -->\n')
    )
    assert data["passes"] == [
        {"example": "capstone", "edits": ["tokens=b a"], "breaks": [], "arithmetic": "exact", "target": "a a"},
    ]  # fmt: skip


def test_the_page_has_the_minus_sign_of_print() -> None:
    """Whatever sign a teacher typed; code stays as it is, and so does what is no number."""
    one = "<!-- exactformer: blocks.0.attn.masked[0, 0, 1] -->"
    table = "<!-- exactformer: blocks.0.attn.masked -->\n| -a | b |\n|-|-|\n| 1 | -inf |\n| 1 | 1 |\n"
    found = tree(f"It is {one}-∞, not-so, `-1` {one}`-inf`\n\n{table}")
    assert texts(found[:1]) == "It is −∞, not-so, -1 -inf"
    assert "−inf" in texts(found[1:])
    assert "-a" in texts(found[1:])
