"""docs/checking.md passes its own check, and what it quotes is what is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cli_runs
from exactformer.checking import Verdict, check_files
from exactformer.checking.printed import read_any
from exactformer.lessons import check_text
from exactformer.worksheets.reader import WorksheetProblems

PAGE = Path(__file__).parents[2] / "docs" / "checking.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_right() -> None:
    report = check_text(TEXT, "checking.md")
    assert len(report.findings) > 50
    assert {finding.verdict for finding in report.findings if not finding.excused} == {Verdict.RIGHT}
    assert [finding.printed for finding in report.findings if finding.excused] == ["0.30000000000000004", "0.26", "0.74"]


def test_numbers_are_read_as_the_page_says() -> None:
    """The first column of the table of ways to write them."""
    (table,) = re.findall(r"## How numbers may be written\n(.*?)\n`--fix`", TEXT, re.DOTALL)
    ways = [way for row in table.splitlines() for way in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    assert len(ways) > 15
    for way in ways:
        read_any(way)


def test_pieces_of_markdown_are_right() -> None:
    """What the page shows as source is right too: after its first model, and with any digit changed it is not."""
    pieces = re.findall(r"````markdown\n(.*?)````", TEXT, re.DOTALL)
    model = re.search(r"```toml exactformer\n.*?```\n", TEXT, re.DOTALL)
    assert model is not None
    for piece in pieces:
        report = check_text(model[0] + piece, "piece.md")
        assert report.findings
        assert report.status == 0
        assert check_text(model[0] + piece.replace("0.", "0.9"), "piece.md").status == 1


def test_the_page_quotes_the_lesson() -> None:
    quoted = re.findall(r"```text\n(attention:.*?)```", TEXT, re.DOTALL)[0]
    said = check_files(["attention"]).report.splitlines()
    assert set(quoted.splitlines()) <= set(said)


def test_the_baseline_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (commands,) = re.findall(r"```text\n(exactformer check docs/ .*?)```", TEXT, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/mine.toml").write_text(
        '[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["3"]\n[[claims]]\noperation = "exp"\nof = [0]\nvalues = ["2"]\n'
    )
    assert cli_runs.run("check", "docs/").returncode == 1
    for line in commands.splitlines():
        assert cli_runs.run(*line.split()[1:]).returncode == 0


def test_worksheets_that_are_nearly_marked_are_told_together() -> None:
    nearly = "```toml exactfromer\n[model]\n```\n"
    claims = '```toml exactformer\n[[claims]]\noperation = "softmx"\nof = [1]\nvalues = ["1"]\n```\n'
    with pytest.raises(WorksheetProblems) as refused:
        check_text(nearly + claims + nearly, "p.md")
    assert [problem.split(": ")[0] for problem in refused.value.problems] == ["p.md:1", "p.md:2", "p.md:6", "p.md:10", "p.md:11"]
