"""POST /api/answer: what is said of an answer, hints one at a time, and what is refused."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from children import PATIENCE
from web.serving import Serving

SHARE = "blocks.0.attn.pattern[0, 1, 0]"


def ask(server: Serving, **body: Any) -> httpx.Response:
    asked = {"source": {"example": "capstone"}, "cell": SHARE, **body}
    return httpx.post(f"{server.address}/api/answer", json=asked, timeout=PATIENCE)


def test_an_answer_is_judged(server: Serving) -> None:
    found = ask(server, answer="e/(e + e^2)").json()
    assert found["question"].startswith(f"What is {SHARE}")
    assert found["judgement"]["kind"] == "simpler"
    assert found["judgement"]["right"] is True
    assert found["hints"] == found["derivation"] == []
    assert ask(server, answer="1/3").json()["judgement"]["slip"] == "softmax-without-e"
    assert ask(server, answer="0.27", decimals=2).json()["judgement"]["kind"] == "decimals"


def test_hints_come_one_at_a_time_and_then_the_derivation(server: Serving) -> None:
    found = [ask(server, hints=n).json() for n in range(5)]
    assert [len(each["hints"]) for each in found] == [0, 1, 2, 3, 3]
    assert [each["last"] for each in found] == [False, False, False, True, True]
    assert [bool(each["derivation"]) for each in found] == [False, False, False, False, True]
    assert found[0]["judgement"] is None


def test_changed_sources_and_gradients_are_asked_about_too(server: Serving) -> None:
    source = {"example": "capstone", "edits": ["tokens=b a"]}
    assert ask(server, source=source, cell="blocks.0.attn.scores[0, 1, 0]", answer="0").status_code == 200
    found = ask(server, cell="grad.logits[1, 0]", hints=1, answer="x").json()
    assert found["judgement"]["kind"] == "unreadable"
    assert found["hints"][0].startswith("Gradient: ∂logits")


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ({"cell": "embed[9, 9]"}, 422, "embed[9, 9]: there is no such entry"),
        ({"cell": "x"}, 422, "'x' does not name a number"),
        ({"source": {"example": "capstone", "arithmetic": "float64"}}, 422, "to be exact, not float64"),
        ({"answer": "1" * 4001}, 400, "answer: has 4,001 characters, more than 4,000"),
        ({"hints": 99}, 400, "hints: is more than 20"),
        ({"decimals": 0}, 400, "decimals: is less than 1"),
        ({"reveal": 1}, 400, "'reveal' is not known here"),
    ],
)
def test_refusals(server: Serving, body: dict[str, Any], status: int, problem: str) -> None:
    answer = ask(server, **body)
    assert answer.status_code == status
    assert problem in answer.json()["error"]


def test_hostile_answers_are_answered_soon(server: Serving) -> None:
    ask(server)
    start = time.monotonic()
    for text in (
        "9^9^9^9",
        "e^e^e^e^e^e",
        "(" * 499,
        "(1+e)^1000",
        "<script>alert(1)</script>",
        "1/(exp(pi*sqrt(163))-262537412640768744)",
    ):
        found = ask(server, answer=text)
        assert found.status_code == 200
        assert found.json()["judgement"]["right"] is False
    assert time.monotonic() - start < PATIENCE
