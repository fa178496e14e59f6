"""Many files, one report, one status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exactformer.checking import CheckReport, check_files, command
from exactformer.numbers import Undecided

RIGHT = '[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["2.72"]\n'
TRUNCATED = RIGHT.replace("2.72", "2.71")
WRONG = RIGHT.replace("2.72", "2.8")


def written(folder: Path, **texts: str) -> list[Path]:
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return [folder / f"{name}.toml" for name in texts]


def test_statuses(tmp_path: Path) -> None:
    right, cut, wrong, broken = written(tmp_path, right=RIGHT, cut=TRUNCATED, wrong=WRONG, broken="[[")
    assert check_files([right, cut]).status == 0
    assert check_files([right, wrong, cut]).status == 1
    assert check_files([wrong, broken, right]).status == 2
    assert check_files([tmp_path / "absent.toml"]).status == 2
    assert check_files([tmp_path]).status == 1  # a folder: of the files in it that claim something
    assert check_files([]).status == 0


def test_text(tmp_path: Path) -> None:
    right, cut, broken = written(tmp_path, right=RIGHT, cut=TRUNCATED, broken="[[")
    checked = check_files([broken, right, cut])
    assert checked.report.splitlines() == [
        f"{right}: 1 number: 1 right",
        f"{cut}:4: exp[0]: 2.71 is truncated: 2.72 (2.7183) is cut off, not rounded",
        f"{cut}: 1 number: 1 truncated",
        "3 files, 2 numbers: 2 fine, 1 not",
    ]
    (problem,) = checked.problems
    assert problem.startswith(f"{broken}:1: is not TOML")
    assert "\n" not in problem


def test_json(tmp_path: Path) -> None:
    wrong, broken = written(tmp_path, wrong=WRONG, broken="[[")
    out, problems, status = check_files([wrong, broken], form="json")
    document = json.loads(out)
    assert (status, problems, document["format"]) == (2, (), "exactformer check 1")
    first, second = document["files"]
    assert first["findings"] == [
        {
            "line": 4,
            "field": "claims.0.values[0]",
            "subject": "exp",
            "index": [0],
            "printed": "2.8",
            "verdict": "last digit off",
            "true": "2.7",
            "more": "2.718",
            "carried_on": False,
            "hint": "",
            "excused": "",
        }
    ]
    assert first["first_wrong"] == {"subject": "exp", "index": [0], "line": 4}
    assert second["status"] == 2
    assert "is not TOML" in second["error"]


def test_a_fix_that_fails_leaves_the_file(tmp_path: Path) -> None:
    undefined = '[[claims]]\noperation = "layer_norm"\nof = [2, 2]\nepsilon = 0\nvalues = ["0.0", "0.0"]\n'
    (file,) = written(tmp_path, undefined=undefined + WRONG)
    checked = check_files([file], fix=True)
    assert (checked.status, checked.report) == (2, "")
    assert "cannot be corrected" in checked.problems[0]
    assert file.read_text(encoding="utf-8") == undefined + WRONG


def test_a_lesson_is_not_rewritten() -> None:
    assert check_files(["attention"], fix=True).status == 2


def test_each_file_is_fixed_whatever_the_others_are(tmp_path: Path) -> None:
    broken, wrong = written(tmp_path, broken="[[", wrong=WRONG)
    checked = check_files([tmp_path / "absent.toml", broken, wrong], fix=True)
    assert (checked.status, len(checked.problems)) == (2, 2)
    assert f"{wrong}: 1 rewritten" in checked.report.splitlines()
    assert check_files([wrong]).status == 0


def test_what_cannot_be_decided_at_all_is_status_3_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = written(tmp_path, one=RIGHT, other=RIGHT)
    real = command.check_text

    def check(text: str, name: str) -> CheckReport:
        if name == str(one):
            raise Undecided("the sign of something", 64)
        return real(text, name)

    monkeypatch.setattr(command, "check_text", check)
    checked = check_files([one, other])
    assert checked.status == 3
    assert checked.problems[0].startswith(f"{one}: undecided")
    assert f"{other}: 1 number: 1 right" in checked.report
