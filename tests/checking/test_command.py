"""Many files, one report, one status."""

from __future__ import annotations

import json
from pathlib import Path

from exactformer.checking import run

RIGHT = '[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["2.72"]\n'
TRUNCATED = RIGHT.replace("2.72", "2.71")
WRONG = RIGHT.replace("2.72", "2.8")


def written(folder: Path, **texts: str) -> list[Path]:
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return [folder / f"{name}.toml" for name in texts]


def test_statuses(tmp_path: Path) -> None:
    right, cut, wrong, broken = written(tmp_path, right=RIGHT, cut=TRUNCATED, wrong=WRONG, broken="[[")
    assert run([right, cut])[1] == 0
    assert run([right, wrong, cut])[1] == 1
    assert run([wrong, broken, right])[1] == 2
    assert run([tmp_path / "absent.toml"])[1] == 2
    assert run([tmp_path])[1] == 2
    assert run([])[1] == 0


def test_text(tmp_path: Path) -> None:
    right, cut, broken = written(tmp_path, right=RIGHT, cut=TRUNCATED, broken="[[")
    out, _ = run([right, cut, broken])
    assert out.splitlines()[:3] == [
        f"{right}: 1 number: 1 right",
        f"{cut}:4: exp[0]: 2.71 is truncated: 2.72 (2.7183) is cut off, not rounded",
        f"{cut}: 1 number: 1 truncated",
    ]
    assert out.splitlines()[3].startswith(f"{broken}: is not TOML")
    assert out.splitlines()[4] == "3 files, 2 numbers: 2 fine, 1 not"


def test_json(tmp_path: Path) -> None:
    wrong, broken = written(tmp_path, wrong=WRONG, broken="[[")
    out, status = run([wrong, broken], json_format=True)
    document = json.loads(out)
    assert (status, document["format"]) == (2, "exactformer check 1")
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
        }
    ]
    assert first["first_wrong"] == {"subject": "exp", "index": [0], "line": 4}
    assert second["status"] == 2
    assert "is not TOML" in second["error"]


def test_a_fix_that_fails_leaves_the_file(tmp_path: Path) -> None:
    undefined = '[[claims]]\noperation = "layer_norm"\nof = [2, 2]\nepsilon = 0\nvalues = ["0.0", "0.0"]\n'
    (file,) = written(tmp_path, undefined=undefined + WRONG)
    out, status = run([file], fix=True)
    assert status == 2
    assert "cannot be put right" in out
    assert file.read_text(encoding="utf-8") == undefined + WRONG


def test_a_lesson_is_not_rewritten() -> None:
    assert run(["attention"], fix=True)[1] == 2
