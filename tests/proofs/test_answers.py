"""Answers that a journal holds: none is taken that no model could have given, whatever its checksum says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import exactformer as xf
from exactformer.model import Config, Model, Weights
from exactformer.proofs import Sequences, prove
from exactformer.proofs.answers import AnswerError, bounds, read, reason
from exactformer.proofs.cases import Case
from exactformer.proofs.journal import JournalError, _seal

VOCABULARY = ("a", "b", "c")
WON = {"token": "b", "proved": True, "ties": ["c"], "logits": {"a": ["1", "1"], "b": ["2.5", "2.6"], "c": ["2.4", "2.55"]}}
NONE = {"token": None, "proved": False, "why": "undecided"}
FLOAT = {"token": "b", "proved": False, "ties": [], "logits": {"a": None, "b": None, "c": None}}
WIDE = tuple(f"t{n}" for n in range(65))
LED = {"token": "t7", "proved": True, "ties": [], "lead": "0.25"}


@pytest.mark.parametrize(
    ("said", "steps", "vocabulary", "arithmetic"),
    [
        ([WON], 1, VOCABULARY, "exact"),
        ([WON, WON], 2, VOCABULARY, "arb"),
        ([WON, NONE], 3, VOCABULARY, "certified"),
        ([NONE], 2, VOCABULARY, "exact"),
        ([NONE | {"proved": True}], 1, VOCABULARY, "exact"),  # proved to be undefined
        ([WON | {"logits": dict.fromkeys(VOCABULARY)}], 1, VOCABULARY, "exact"),
        ([FLOAT], 1, VOCABULARY, "float32"),
        ([LED], 1, WIDE, "certified"),
        ([LED | {"ties": ["t9"], "lead": None}], 1, WIDE, "exact"),
    ],
)
def test_what_models_say_is_read(said: Any, steps: int, vocabulary: Any, arithmetic: str) -> None:
    answers = read(said, steps, vocabulary, arithmetic)
    assert [(a.token, a.proved, a.ties) for a in answers] == [(a["token"], a["proved"], tuple(a.get("ties", ()))) for a in said]


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        ([], 1), ({}, 1), (None, 1), ([[]], 1), ([{}], 1), ("b", 1), ([WON, WON], 1), ([WON], 2), ([NONE, WON], 2),
        ([NONE, NONE], 2), ([WON, WON], 3), ([None], 1), ([True], 1),
    ],
)  # fmt: skip
def test_lists_that_are_no_answers(said: Any, steps: int) -> None:
    with pytest.raises(AnswerError):
        read(said, steps, VOCABULARY, "exact")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"token": "z"}, "a token that is not among the outputs"),
        ({"token": 1}, "a token that is not among the outputs"),
        ({"token": "a", "ties": []}, "'b' is larger than the winner 'a'"),
        ({"token": "a", "ties": ["b"]}, "'b' cannot tie with the winner 'a'"),
        ({"token": None}, "names no token, and not just why"),
        ({"proved": 1}, "does not say whether it is proved"),
        ({"proved": None}, "does not say whether it is proved"),
        ({"proved": False}, "names a token that is not proved"),
        ({"ties": "c"}, "ties that are not a list"),
        ({"ties": ["c", "c"]}, "order of the outputs"),
        ({"ties": ["b"]}, "order of the outputs"),
        ({"ties": ["a"]}, "order of the outputs"),
        ({"ties": [["c"]]}, "a token that is not among the outputs"),
        ({"logits": {}}, "not the logits of all tokens"),
        ({"logits": None}, "not the logits of all tokens"),
        ({"logits": WON["logits"] | {"z": ["1", "1"]}}, "not the logits of all tokens"),  # type: ignore[operator]
        ({"logits": WON["logits"] | {"a": ["1", "0"]}}, "the wrong way round"),  # type: ignore[operator]
        ({"logits": WON["logits"] | {"a": ["1"]}}, "not between two decimals"),  # type: ignore[operator]
        ({"logits": WON["logits"] | {"a": [1, 1]}}, "not between two decimals"),  # type: ignore[operator]
        ({"logits": WON["logits"] | {"a": ["1/3", "1/2"]}}, "not between two decimals"),  # type: ignore[operator]
        ({"logits": WON["logits"] | {"a": ["nan", "nan"]}}, "not between two decimals"),  # type: ignore[operator]
        ({"logits": WON["logits"] | {"a": ["-1e99999999999", "1"]}}, "not between two decimals"),  # type: ignore[operator]
        ({"logits": WON["logits"] | {"a": ["9" * 5000, "9" * 5000]}}, "not between two decimals"),  # type: ignore[operator]
        ({"lead": "3"}, "other fields than token, proved, ties and logits"),
    ],
)
def test_answers_that_no_model_gives(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(AnswerError, match=f"^answer 0: .*{problem}"):
        read([WON | change], 1, VOCABULARY, "exact")


@pytest.mark.parametrize(
    ("said", "vocabulary", "arithmetic", "problem"),
    [
        (FLOAT | {"proved": True}, VOCABULARY, "float64", "in an arithmetic that proves nothing"),
        (NONE | {"proved": True}, VOCABULARY, "float32", "in an arithmetic that proves nothing"),
        (NONE | {"why": "two\nlines"}, VOCABULARY, "exact", "not one line of text"),
        (NONE | {"why": "\x1b[2J"}, VOCABULARY, "exact", "not one line of text"),
        (NONE | {"why": "x" * 501}, VOCABULARY, "exact", "not one line of text"),
        (NONE | {"why": None}, VOCABULARY, "exact", "not one line of text"),
        (LED | {"lead": 1}, WIDE, "arb", "a lead that is not a decimal"),
        (LED | {"ties": ["t8"]}, WIDE, "arb", "a lead that is not a decimal"),
        (WON, WIDE, "arb", "other fields than token, proved, ties and lead"),
    ],
)
def test_more_answers_that_no_model_gives(said: Any, vocabulary: Any, arithmetic: str, problem: str) -> None:
    with pytest.raises(AnswerError, match=problem):
        read([said], 1, vocabulary, arithmetic)


def test_reasons_and_bounds_are_written_so_that_they_can_be_read() -> None:
    for why in ("", "a\nb", "\x1b[2J", "x" * 2000, "ε is 0"):
        assert read([NONE | {"why": reason(why)}], 1, VOCABULARY, "exact")[0].why == reason(why)
    assert bounds("1e-44", "2e-44") == ["1e-44", "2e-44"]
    assert bounds("1e9999999", "2e9999999") is None


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "certified", "float64"])
def test_what_a_case_computes_can_be_read_back(arithmetic: str) -> None:
    induction, capstone = xf.load("induction").model, xf.load("capstone").model
    wide = Model(
        Config(vocabulary=WIDE, dim=2, blocks=0, norm="none", mask="causal", scale="none"),
        Weights(W_E=xf.array([[n, 1] for n in range(65)])),
    )
    for model, tokens, steps in ((induction, ("a", "b"), 2), (capstone, ("c",), 1), (wide, ("t3",), 2)):
        said = json.loads(json.dumps(Case(model, arithmetic, steps)(tokens)))
        answers = read(said, steps, model.config.vocabulary, arithmetic)
        assert [answer.token for answer in answers] == [each["token"] for each in said]
        if model is wide and arithmetic != "float64":
            assert all(0 <= true - answer.lead < 1e-9 for true, answer in zip((3, 64), answers, strict=True))  # type: ignore[operator]


def renewed(path: Path, change: Callable[[int, Any], Any]) -> None:
    """The journal with every answer changed, and checksums that fit: what a forger leaves."""
    header, *lines = path.read_bytes().splitlines(keepends=True)
    checksum, text = json.loads(header)[0].encode(), [header]
    for line in lines:
        _, index, answers = json.loads(line)
        checksum, line = _seal(checksum, f"{index},{json.dumps(change(index, answers))}".encode())
        text.append(line)
    path.write_bytes(b"".join(text))


@pytest.mark.parametrize(
    "change",
    [
        lambda index, answers: [],
        lambda index, answers: [answers[0] | {"token": "a", "ties": []}],
        lambda index, answers: [{"token": "a", "proved": True, "ties": [], "logits": {"a": ["1", "1"]}}],
        lambda index, answers: answers * 2,
    ],
)
def test_a_forged_journal_of_impossible_answers_is_refused_in_one_line(tmp_path: Path, change: Any) -> None:
    model, journal, domain = xf.load("induction").model, tmp_path / "journal", Sequences(("a", "b"), 2)

    def false(tokens: Any) -> str:
        """always a"""
        return "a"

    assert prove(model, domain, false, journal=journal, workers=1).verdict == "refuted"
    renewed(journal, change)
    before = journal.read_bytes()
    with pytest.raises(JournalError, match=rf"^{journal}: line \d, case \d: .*; delete it, or give another --journal$"):
        prove(model, domain, false, journal=journal, workers=1)
    assert journal.read_bytes() == before


def test_leads_of_large_vocabularies_are_proved_for_all_other_tokens() -> None:
    rows = [[n % 7, n // 7] for n in range(65)]
    model = Model(Config(vocabulary=WIDE, dim=2, blocks=0, norm="none", mask="causal", scale="none"), Weights(W_E=xf.array(rows)))
    model = replace(model, weights=replace(model.weights, b_U=xf.array([f"{n}/128" for n in range(65)])))
    for arithmetic in ("exact", "arb", "certified"):
        for start in (1, 8, 40, 64):
            logits = [sum(a * b for a, b in zip(rows[start], row, strict=True)) + n / 128 for n, row in enumerate(rows)]
            (answer,) = read(Case(model, arithmetic)([WIDE[start]]), 1, WIDE, arithmetic)
            first, second = sorted(logits)[:-3:-1]
            assert answer.token == WIDE[logits.index(first)]
            assert 0 <= first - second - answer.lead < 1e-9  # type: ignore[operator]
