"""The class of docs/exercises.md is graded as printed there."""

from __future__ import annotations

import re
from pathlib import Path

from cli_runs import run

PAGE = (Path(__file__).parents[2] / "docs" / "exercises.md").read_text(encoding="utf-8")


def test_the_class_is_graded_as_printed(tmp_path: Path) -> None:
    table, printed = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    key, answers = tmp_path / "key.toml", tmp_path / "answers.csv"
    answers.write_text(table, encoding="utf-8")
    cells = ("--cell", "blocks.0.attn.pattern[0, 1, 0]", "--cell", "blocks.0.ln2.std[1, 0]")
    assert run("exercise", "capstone", *cells, "--key", str(key)).returncode == 0
    done = run("grade", str(key), str(answers))
    assert (done.stdout, done.returncode) == (printed, 1)
