"""The page that the README shows: checked, it says what the README says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli_runs import run

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_slip_is_found_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (page,) = re.findall(r"```markdown\n(.*?)```", README, re.DOTALL)
    Path("page.md").write_text(page, encoding="utf-8")
    found = run("check", "page.md")
    assert found.returncode == 1
    assert f"```text\n{found.stdout}```" in README
    assert run("check", "page.md", "--fix").returncode == 0
    assert Path("page.md").read_text(encoding="utf-8") == page.replace("0.37", "0.73")
