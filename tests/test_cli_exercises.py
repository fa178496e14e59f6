"""exactformer exercise and exactformer grade: what they print, their status, and one line for what is not right."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runs import refused, run
from exactformer.worksheets.worksheet import example_text

SHARE = "blocks.0.attn.pattern[0, 1, 0]"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.toml"
    done = run("exercise", "capstone", "--cell", SHARE, "--cell", "blocks.0.ln2.std[1, 0]", "--key", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# The whole transformer, by hand")
    return path


def table(folder: Path, *rows: str, header: str = "student,cell,answer") -> str:
    path = folder / "answers.csv"
    path.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return str(path)


def test_a_sheet_is_written_with_its_key(tmp_path: Path) -> None:
    sheet, key = tmp_path / "sheet.html", tmp_path / "key.toml"
    done = run("exercise", "capstone", "--seed", "7", "--format", "html", "-o", str(sheet), "--key", str(key))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sheet.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "script" not in sheet.read_text(encoding="utf-8")
    assert key.read_text(encoding="utf-8").startswith('format = "exactformer exercise 1"')


@pytest.mark.parametrize("form", ["markdown", "latex", "html", "moodle", "stack", "key"])
def test_every_form_is_the_same_each_time(form: str) -> None:
    first, again, other = (run("exercise", "capstone", "--format", form, "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert first == again != other
    assert len(first) > 300


def test_a_worksheet_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(example_text("length4"), encoding="utf-8")
    assert run("exercise", str(path), "--level", "1").stdout == run("exercise", "-", "--level", "1", stdin=path.read_bytes()).stdout
    assert "is the worksheet itself" in refused("exercise", str(path), "-o", str(path))
    assert "is the worksheet itself" in refused("exercise", str(path), "--key", str(path))


def test_options_without_effect_are_refused() -> None:
    assert "--level and --count have no effect" in refused("exercise", "capstone", "--cell", SHARE, "--level", "1")
    assert "holds them anyway" in refused("exercise", "capstone", "--format", "moodle", "--answers")
    assert "--vary has no effect" in refused("exercise", "capstone", "--tokens", "a b", "--vary", "cells")


def test_what_cannot_be_asked_is_refused_in_a_line(tmp_path: Path) -> None:
    assert "there is no such entry" in refused("exercise", "capstone", "--cell", "embed[9, 9]")
    assert "is a model in a folder" in refused("exercise", "stories")
    assert "there is no such file" in refused("exercise", str(tmp_path / "nothing.toml"))
    assert "'z'" in refused("exercise", "capstone", "--tokens", "a z")


@pytest.mark.large
def test_a_ball_cannot_be_asked() -> None:
    assert "guaranteed digits and no closed form" in refused("exercise", "poster", "--cell", "logits[0, 0]")


def test_grades(key: Path, tmp_path: Path) -> None:
    answers = table(tmp_path, "ana,1,1/(1+e)", "ana,2,3/2", "ben,1,e/(1+e)", f'ben,"{SHARE.replace("[0, 1, 0]", "")}[0,1,0]",0')
    line = refused("grade", str(key), answers)
    assert line.endswith("line 5: 'ben' has answered that in line 4 already")
    answers = table(tmp_path, "ana,1,1/(1+e)", "ana,2,3/2", "ben,1,0.27")
    done = run("grade", str(key), answers)
    assert done.returncode == 1
    assert done.stdout.startswith("ana: 2 of 2 right\n  1. " + SHARE + ": 1/(1+e): equal (proved)\n")
    assert "0.27: right as far as it goes: 2 decimals, but 3 decimals count" in done.stdout
    assert "no answer" in done.stdout
    assert run("grade", str(key), table(tmp_path, "ana,1,0.268", "ana,2,1.5")).returncode == 0
    for form in ("json", "csv", "markdown"):
        assert "ana" in run("grade", str(key), answers, "--format", form).stdout


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["ana,1"], "line 2: has 2 columns, not 3"),
        (["ana,1,1/2", "ben,9,1/2"], "line 3: '9' is not an exercise of the key: there are 1 to 2"),
        ([",1,1/2"], "line 2: has no student"),
        (['ana,1,"1/2', "x"], "is not a row of a CSV file"),
        (["ana,1,1/2", "", "ana,1,2"], "line 4: 'ana' has answered that in line 2 already"),
    ],
)
def test_bad_rows_are_named_by_their_line(key: Path, tmp_path: Path, rows: list[str], problem: str) -> None:
    assert problem in refused("grade", str(key), table(tmp_path, *rows))


def test_tables_and_keys_that_are_none(key: Path, tmp_path: Path) -> None:
    assert "line 1: has the columns 'name', 'cell' and 'answer'" in refused(
        "grade", str(key), table(tmp_path, header="name,cell,answer")
    )
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    assert "is empty: its first line is student,cell,answer" in refused("grade", str(key), str(empty))
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in refused("grade", str(key), str(binary))
    assert "is not TOML" in refused("grade", str(binary.with_name("answers.csv")), str(empty))
    assert "no such file" in refused("grade", str(tmp_path / "nothing"), str(empty)).lower()
