"""Counting on the command line: text, JSON, a page; rules, domains, positions, and a table of all that is wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cli_runs import refused, run
from sorter import sorter


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(sorter(tmp_path / "sorter"))


def prove(model: str, *args: str) -> tuple[int, str]:
    done = run("prove", model, *args, "--workers", "1")
    assert done.stderr == "" or done.returncode == 0, done.stderr
    return done.returncode, done.stdout


def test_a_count_of_everything(model: str) -> None:
    status, text = prove(model, "--rule", "sorted", "--length", "3", "--count")
    assert status == 0
    assert "right      27 of 27" in text
    assert "accuracy: 1.0" in text
    assert "least lead of a right answer: at least" in text
    assert "mean cross-entropy: " in text
    assert "leads of right answers, by powers of two:" in text


def test_json_and_the_page(model: str) -> None:
    status, text = prove(model, "--rule", "max", "--domain", "0..2^3", "--count", "--format", "json")
    document = json.loads(text)
    assert status == 0
    assert document["format"] == "exactformer count 1"
    assert document["counts"]["proved"] + document["counts"]["refuted"] == document["sequences"] == 27
    low, high = (float(document["loss"][end]) for end in ("low", "high"))
    assert 0 < low <= high < low * 1.001
    assert sum(document["leads"]["right"].values()) == document["counts"]["proved"]
    _, page = prove(model, "--rule", "max", "--domain", "0..2^3", "--count", "--format", "html")
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "<script" not in page


def test_everything_that_is_wrong_in_a_file(model: str, tmp_path: Path) -> None:
    """The sorter's first output is the smallest letter: it is not the largest wherever letters differ."""
    file = tmp_path / "wrong.csv"
    status, text = prove(model, "--rule", "max", "--domain", "0..2^3", "--wrong", str(file))
    assert status == 1
    rows = list(csv.DictReader(file.open()))
    expected = [f"{a} {b} {c}" for a in "012" for b in "012" for c in "012" if not a == b == c]
    assert [row["input"] for row in rows] == expected
    assert all(row["demanded"] == max(row["input"].split()) and row["answer"] == min(row["input"].split()) for row in rows)
    assert all(float(row["lead"]) > 0 and row["verdict"] == "refuted" for row in rows)
    assert "REFUTED" in text


def test_tokens_that_were_fed_back_are_marked(model: str, tmp_path: Path) -> None:
    """The sorter sorts, so a rule that copies is wrong at once, or after some of its own tokens."""
    file = tmp_path / "wrong.csv"
    prove(model, "--rule", "copy", "--domain", "0..2^3", "--count", "--wrong", str(file))
    rows = {row["input"]: row for row in csv.DictReader(file.open())}
    assert (rows["1 2 0"]["fed back"], rows["1 2 0"]["answer"]) == ("", "0")
    assert (rows["0 2 1"]["fed back"], rows["0 2 1"]["demanded"], rows["0 2 1"]["answer"]) == ("0", "2", "1")
    _, text = prove(model, "--rule", "copy", "--domain", "0 2 1", "--count")
    assert "wrong: 0 2 1, then its own 0: says 1, not 2" in text
    _, text = prove(model, "--rule", "copy", "--domain", "0 2 1")
    assert "after 0 2 1, then its own 0, it says 1, where 2 is demanded" in text


def test_tables_functions_and_lists(model: str, tmp_path: Path) -> None:
    table, inputs, rules = tmp_path / "rule.csv", tmp_path / "inputs.txt", tmp_path / "rules.py"
    table.write_text("input,answer\n2 1 0,0 1 2\n1 1 0,0 1 1\n")
    assert prove(model, "--rule", str(table), "--count")[1].count("2 of 2") == 1
    inputs.write_text("2 1 0\n0 0 1\n")
    rules.write_text("def least(tokens):\n    '''the smallest'''\n    return min(tokens[:3])\n")
    status, text = prove(model, "--rule", f"{rules}:least", "--domain", str(inputs))
    assert status == 0
    assert "for each of 2 inputs" in text
    assert "the smallest" in text
    assert prove(model, "--rule", "min", "--domain", "{0 2}^3", "--arithmetic", "arb")[0] == 0


def test_answers_at_positions(model: str) -> None:
    """The last position of an input says the smallest letter; what earlier ones say is not what was sorted."""
    status, text = prove(model, "--rule", "min", "--domain", "0..2^3", "--positions", "2")
    assert status == 0
    assert "the model's answer at position 2 is the smallest token" in " ".join(text.split())


def test_journals_of_batches(model: str, tmp_path: Path) -> None:
    journal = str(tmp_path / "journal")
    first = prove(model, "--rule", "sorted", "--length", "3", "--count", "--journal", journal)[1]
    again = run("prove", model, "--rule", "sorted", "--length", "3", "--count", "--workers", "1", "--journal", journal)
    assert "resuming: 27 of 27 cases" in again.stderr
    assert [line for line in again.stdout.splitlines() if "arithmetic:" not in line] == [
        line for line in first.splitlines() if "arithmetic:" not in line
    ]
    other = refused("prove", model, "--rule", "copy", "--length", "3", "--count", "--workers", "1", "--journal", journal)
    assert "was judged by another rule" in other


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--rule", "max"], "--length: is missing"),
        (["--rule", "max", "--domain", "digits"], "domain 'digits': '3' is not a token of the model"),
        (["--rule", "mux", "--domain", "0..2"], "rule 'mux'"),
        (["--rule", "max", "--length", "2", "--domain", "0..2"], "--length: does not go with --domain"),
        (["--rule", "max", "--domain", "0..2", "--format", "html"], "--format html: goes with --count"),
        (["--rule", "max", "--domain", "0..2^9"], "--domain: 9 positions are needed, the model has 5"),
        (["--rule", "max", "--domain", "0..2", "--steps", "2"], "--steps: this rule says itself"),
        (["--rule", "max", "--domain", "0..2", "--positions", "1"], "--positions 1: give positions of every input"),
        (["--rule", "max", "--domain", "0..2", "--positions", "x"], "--positions x: give numbers"),
        (["--rule", "max", "--length", "2", "--positions", "all"], "--positions all: inputs of one length"),
        (["--rule", "max", "--domain", "0..2", "--count", "--arithmetic", "arb"], "--count: goes with --arithmetic certified"),
        (["--rule", "max", "--domain", "0..2", "--wrong", "nowhere/w.csv"], "nowhere/w.csv: there is no such folder"),
        (["--rule", "no.csv"], "no.csv: there is no such file"),
        (["--rule", "no.py:f", "--domain", "0..2"], "no.py: there is no such file"),
        (["--rule", "relative", "--length", "2", "--count"], "--count: does not go with --rule relative"),
        (["--schedule", "flash", "--count"], "--count: does not go with --schedule"),
    ],
)
def test_bad_usage(model: str, args: list[str], problem: str) -> None:
    assert problem in refused("prove", model, *args)
