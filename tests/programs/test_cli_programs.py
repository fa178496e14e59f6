"""Programs on the command line: by name, and in a file of one's own."""

from __future__ import annotations

from pathlib import Path

import cli_runs

OWN = """
from exactformer.programs import aggregate, indices, program, select, tokens

first = program(aggregate(select(indices, 0, "=="), tokens), ["x", "y"], name="first")
number = 3
"""


def test_a_program_is_proved_by_its_name_with_its_leaks() -> None:
    done = cli_runs.run("prove", "histogram", "--length", "2", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "PROVED: 12 sequences proved" in done.stdout
    assert "blocks.0, head 0 (count) leaks at most" in done.stdout


def test_a_weak_one_is_refuted_at_a_position() -> None:
    done = cli_runs.run("prove", "histogram", "--length", "3", "--strength", "1", "--workers", "1")
    assert done.returncode == 1, done.stderr
    assert "refuted: at position 3 of BOS a a b it says 2, where 1 is demanded" in done.stdout
    assert "Its trace: exactformer trace histogram --strength 1 --length 3" in done.stdout


def test_strengths_are_searched() -> None:
    done = cli_runs.run("prove", "histogram", "--length", "3", "--strength", "search", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "histogram: the smallest integer strength" in done.stdout


def test_hard_attention_is_exact() -> None:
    done = cli_runs.run("prove", "fraction", "--length", "2", "--hard", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "arithmetic exact" in done.stdout
    assert "leaks" not in done.stdout


def test_a_program_of_a_file_is_run_and_proved(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN, encoding="utf-8")
    done = cli_runs.run("prove", f"{file}:first", "--length", "2", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "PROVED: 6 sequences proved" in done.stdout
    assert "has no function third" in cli_runs.refused("prove", f"{file}:third", "--length", "2")
    assert "has no function number" in cli_runs.refused("prove", f"{file}:number", "--length", "2")
    assert "there is no such file" in cli_runs.refused("trace", "nowhere.py:first")
    assert "a program says itself what it is about" in cli_runs.refused("prove", f"{file}:first", "--length", "2", "--steps", "2")


def test_a_program_is_traced_and_written_as_a_worksheet(tmp_path: Path) -> None:
    traced = cli_runs.run("trace", "histogram", "--tokens", "BOS a b a", "--hard")
    assert traced.returncode == 0, traced.stderr
    written = cli_runs.run("examples", "histogram")
    assert written.returncode == 0
    sheet = tmp_path / "histogram.toml"
    sheet.write_text(written.stdout, encoding="utf-8")
    done = cli_runs.run("trace", str(sheet), "--tokens", "BOS a b a", "--hard")
    assert done.stdout == traced.stdout
    assert "A program, compiled" in cli_runs.run("examples").stdout
