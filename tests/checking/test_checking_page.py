"""docs/checking.md passes its own check, and what it quotes is what is said."""

from __future__ import annotations

import re
from pathlib import Path

from exactformer.checking import Verdict, check_file, check_files

PAGE = Path(__file__).parents[2] / "docs" / "checking.md"


def test_the_page_is_right() -> None:
    report = check_file(PAGE)
    assert len(report.findings) > 20
    assert {finding.verdict for finding in report.findings} == {Verdict.RIGHT}


def test_the_page_quotes_the_lesson() -> None:
    (quoted,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    said = check_files(["attention"]).report.splitlines()
    assert set(quoted.splitlines()) <= set(said)
