"""Counting by sets of inputs on the command line: text, JSON, a page; what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cli_runs import Done, refused, run

SHEET = """
title = "One head"
[model]
vocabulary = ["0", "1", "2", "3"]
dim = 4
blocks = 1
norm = "none"
mask = "causal"
scale = "sqrt"
positions = "none"
unembedding = "own"
[weights]
W_E = "drawn 1 by 1/8"
W_U = "drawn 2 by 1/8"
[[weights.blocks]]
attn = { W_Q = "drawn 3 by 1/8", W_K = "drawn 4 by 1/8", W_V = "drawn 5 by 1/8" }
[input]
tokens = "0 1"
"""


@pytest.fixture
def sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "head.toml"
    path.write_text(SHEET, encoding="utf-8")
    return str(path)


def by_sets(sheet: str, rule: str, domain: str, *more: str) -> Done:
    done = run("prove", sheet, "--rule", rule, "--domain", domain, "--count", "--sets", "--workers", "1", *more)
    assert done.returncode in (0, 3), done.stderr
    return done


def test_sets_say_what_single_inputs_say(sheet: str) -> None:
    asked = ("--rule", "max", "--domain", "vocabulary^4", "--count", "--format", "json", "--workers", "1")
    every, found = (json.loads(run("prove", sheet, *asked, *more).stdout) for more in ((), ("--sets",)))
    assert found["counts"] == every["counts"]
    assert found["accuracy"] == every["accuracy"]
    assert every["sets"] is None
    assert isinstance(found["sets"], int)
    assert found["loss"] is None
    assert all(max(wrong["tokens"]) == wrong["right"][0] != wrong["token"] for wrong in found["failures"])


@pytest.mark.parametrize("rule", ["max", "min", "first"])
def test_the_wrong_inputs_of_sets_in_a_file(sheet: str, rule: str, tmp_path: Path) -> None:
    """They are those that are found one by one."""
    asked = ("--rule", rule, "--domain", "vocabulary^4", "--count", "--workers", "1", "--wrong")
    rows = []
    for name, more in (("every.csv", ()), ("sets.csv", ("--sets",))):
        assert run("prove", sheet, *asked, str(tmp_path / name), *more).returncode == 0
        with (tmp_path / name).open() as file:
            rows.append([(row["input"], row["demanded"], row["answer"], row["verdict"]) for row in csv.DictReader(file)])
    assert rows[0] == rows[1]
    assert rows[0]


def test_too_many_wrong_inputs_are_not_written(sheet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "wrong.csv"
    asked = ("prove", sheet, "--rule", "max", "--count", "--sets", "--workers", "1", "--wrong", str(file), "--domain")
    with monkeypatch.context() as patch:
        patch.setattr("exactformer.proofs.theorem.MOST_LISTED", 5)
        assert refused(*asked, "vocabulary^4").startswith("--wrong: more than 5 inputs are proved wrong: leave it out")
    assert "counted by sums" in refused(*asked, "vocabulary^8", "--budget", "1")
    assert not file.exists()


def test_a_domain_that_nobody_goes_through(sheet: str) -> None:
    text = by_sets(sheet, "max", "vocabulary^40", "--budget", "50").stdout
    assert f"of {4**40:,}" in text
    assert "sets of inputs looked at: " in text
    assert "accuracy: " in text
    assert "sets of inputs looked at" in by_sets(sheet, "last", "vocabulary^3", "--format", "html").stdout


def test_what_does_not_go_with_sets_is_refused(sheet: str, tmp_path: Path) -> None:
    def said(rule: str, *more: str, source: str = sheet) -> str:
        return refused("prove", source, "--rule", rule, "--domain", "vocabulary^3", *more)

    assert said("max", "--sets") == "--sets: goes with --count"
    assert said("max", "--count", "--budget", "9") == "--budget: goes with --sets"
    assert "rules max, min, first, last" in said("majority", "--count", "--sets")
    several = "sets of inputs are for rules that demand one token after an input: this one demands 3"
    assert said("sorted", "--count", "--sets") == f"{several}; without --sets, inputs are counted one by one"
    blocks = "this one has 2 blocks; without --sets, inputs are counted one by one"
    assert said("max", "--count", "--sets", source="adder").endswith(blocks)
    assert "are counted" not in refused("prove", sheet, "--rule", "sorted", "--domain", "vocabulary^25", "--count", "--sets")
    listed = said("max", "--arithmetic", "exact", "--wrong", str(tmp_path / "wrong.csv"))
    assert listed == "arithmetic exact: a list of the wrong inputs goes with the arithmetic certified"


def test_without_sets_it_is_refused_by_its_number(sheet: str) -> None:
    asked = ("prove", sheet, "--domain", "vocabulary^25", "--count", "--rule")
    number = f"there are {4**25:,} inputs: too many to go through one by one"
    assert refused(*asked, "max").strip().endswith(f"{number}; --count --sets proves whole sets of them at once")
    assert refused(*asked, "sorted").strip().endswith(number)
    said = refused("prove", "largest-of-ten", "--count")
    assert f"there are {64**10:,} inputs" in said
    assert "--sets" in said
    assert "too many to go through" in refused("prove", sheet, "--length", "22", "--pattern", "0.0 previous >= 0.9")
