"""Reports of theorems: every number in them is that of the proof, in text and for other programs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest

import exactformer as xf
from exactformer.model.changing import with_weights
from exactformer.proofs import Lookup, Report, Sequences, prove
from exactformer.proofs.search import smallest_strengths
from exactformer.render import tables, theorems
from exactformer.worksheets import Worksheet


def proved(sheet: Worksheet, length: int) -> Report:
    domain = Sequences(sheet.model.config.vocabulary, length)
    return prove(sheet.model, domain, sheet.rule, circuit=sheet.circuit, workers=1)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def induction() -> Worksheet:
    return xf.load("induction")


@pytest.fixture(scope="module")
def damaged(induction: Worksheet) -> Worksheet:
    return replace(induction, model=with_weights(induction.model, ["blocks.1.attn.W_V[0,1,1]=0"]))


def test_one_of_a_kind_is_singular() -> None:
    model = xf.load("induction").model
    report = prove(model, [("a", "b", "a")], lambda tokens: "b", workers=1)
    assert report.statement.startswith("for the one input, ")
    assert theorems.counted(report) == "1 sequence proved, 0 sequences refuted, 0 sequences undecided"


def test_the_text_of_a_proof(induction: Worksheet) -> None:
    report = proved(induction, 3)
    text = theorems.text(report, induction)
    assert text.startswith("Theorem: for every sequence of 1 to 3 tokens over ! a b c, the model's next token is the token that\n")
    assert "8 cases computed, which stand for 84 sequences (interchangeable, proved: ! a b c)\n" in text
    assert "PROVED: 84 sequences proved, 0 sequences refuted, 0 sequences undecided\n" in text
    assert max(map(len, text.splitlines())) <= 132
    assert str(report) == text
    rows = {name: re.search(rf"^  {name} +(\d+)(?:  +([\d.]+)  +(.*))?", text, re.MULTILINE) for name in report.kinds}
    for name, kind in report.kinds.items():
        row = rows[name]
        assert row is not None
        assert int(row[1]) == kind.sequences
        if kind.margin is not None:
            assert Fraction(row[2]) <= kind.margin < Fraction(row[2]) + Fraction(1, 1000)  # rounded downwards
            assert tuple(row[3].split()) == kind.at


def test_the_least_lead_is_what_it_says(induction: Worksheet) -> None:
    for kind in proved(induction, 4).kinds.values():
        if kind.margin is not None:
            logits = dict(zip(induction.model.config.vocabulary, induction.trace(kind.at).logits[-1], strict=True))
            right = Lookup()(kind.at).right
            lead = max(logits.values()) - max(x for token, x in logits.items() if token not in right)
            assert 0 <= (lead - xf.exact(kind.margin)) < xf.exact("1e-8")


def test_a_refutation_shows_where_its_counterexample_looks_and_how_to_trace_it(damaged: Worksheet) -> None:
    report = proved(damaged, 3)
    text = theorems.text(report, damaged, ["exactformer", "trace", "my sheet.toml"])
    assert "REFUTED: " in text
    first = report.failures[0]
    assert f"  refuted: after {' '.join(first.tokens)} it says ! (tied with a, b, c), where a is demanded\n" in text
    assert f"After {' '.join(first.tokens)} the last position looks at:\n" in text
    assert text.endswith("Its trace: exactformer trace 'my sheet.toml' --tokens 'a !'\n")
    assert text.count("\n") < 40
    assert text.count("  refuted: after ") == len(report.failures) == 10
    assert "looks at" not in theorems.text(report)


def test_the_document_of_a_proof(induction: Worksheet) -> None:
    report = proved(induction, 3)
    document = json.loads(theorems.as_json_text(report, induction))
    assert (document["format"], document["verdict"]) == ("exactformer theorem 1", "proved")
    assert (document["cases"], document["sequences"], document["arithmetic"]) == (8, 84, "exact")
    assert document["interchangeable"] == [["!", "a", "b", "c"]]
    assert document["counts"] == report.counts
    assert document["failures"] == []
    assert list(document["kinds"]) == sorted(document["kinds"])
    for name, kind in report.kinds.items():
        told = document["kinds"][name]
        assert (told["sequences"], tuple(told["at"])) == (kind.sequences, kind.at)
        assert (told["least_lead"] is None) == (kind.margin is None)


def test_the_document_of_a_refutation_holds_traces(damaged: Worksheet) -> None:
    document = json.loads(theorems.as_json_text(proved(damaged, 2), damaged))
    assert document["interchangeable"] == [["!", "b", "c"]]
    assert len(document["failures"]) == document["counts"]["refuted"] == 4
    for failure in document["failures"]:
        trace = failure["trace"]
        assert trace["format"] == "exactformer trace 1"
        assert trace["tokens"] == failure["tokens"]
        assert trace["output"][-1]["token"] == failure["token"]
        assert trace["output"][-1]["ties"] == failure["ties"]
        assert failure["verdict"] == "refuted"
        assert failure["right"] == ["a"]


def test_the_table_of_strengths(induction: Worksheet) -> None:
    assert induction.circuit is not None
    found = list(smallest_strengths(induction.circuit, Lookup(), 3, workers=1))
    title, _, header, *rows = theorems.strengths(found, induction).splitlines()
    assert title.startswith("Induction heads, built by hand: the smallest integer strength")
    assert header.split() == ["strength", "cases", "with", "one", "less"]
    assert [row.split()[:2] for row in rows] == [["1", "0"], ["2", "0"], ["3", "1"]]
    assert rows[2].endswith("8 for 84  after ! a ! it says ! (tied with a), where a is demanded")


def test_tables_of_steps(induction: Worksheet) -> None:
    trace = induction.trace()
    for step in trace.steps:
        lines = tables.step(trace, step.name, None).splitlines()
        assert lines[0] == f"{step.name} = {step.formula}"
        assert len(lines) == 2 + len(trace.tokens)
        assert [line.split()[0] for line in lines[2:]] == list(trace.tokens)
    heads = tables.step(xf.load("context").trace(), "blocks.0.attn.pattern", 2)
    assert re.findall(r"^head \d$", heads, re.MULTILINE) == ["head 0", "head 1"]
    assert tables.step(trace, "probs", 3).splitlines()[1].split() == ["!", "a", "b", "c"]
    assert "previous:a" in tables.step(trace, "blocks.1.attn.q", 1)  # the names of what a query looks for


def test_decimals_of_every_arithmetic() -> None:
    assert tables.entry(xf.exact("2/3"), 2) == "0.67"
    for arithmetic in ("float64", "float32"):
        trace = xf.load("induction").trace(arithmetic=arithmetic)
        assert tables.step(trace, "logits", 2).splitlines()[3].split() == ["a", "100.00", "0.00", "0.00", "0.00"]
