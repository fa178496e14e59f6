"""Every command in the documentation works as printed, and every worksheet in it can be traced."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cli_runs
import exactformer as xf
from children import PATIENCE

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}


def blocks(kind: str) -> list[tuple[str, str]]:
    return [(name, found) for name, text in TEXTS.items() for found in re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, *args = shlex.split(command)
    assert program == "exactformer"
    main = [sys.executable, "-c", "from exactformer.cli import main; main()"]
    return subprocess.run([*main, *args], capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=folder)


@pytest.mark.parametrize(("page", "block"), blocks("console"))
def test_console_blocks_print_what_they_show(page: str, block: str, tmp_path: Path) -> None:
    command, *expected = block.removeprefix("$ ").rstrip("\n").split("\n")
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    pattern = ".*?".join(re.escape(part) for part in ("\n" + "\n".join(expected) + "\n").split("\n...\n"))
    assert re.search(pattern, "\n" + done.stdout, re.DOTALL), page


@pytest.mark.parametrize(("page", "sheet"), blocks("toml"))
def test_worksheets_in_the_documentation_work(page: str, sheet: str) -> None:
    assert xf.loads(sheet, page).trace().decided


def indented() -> list[str]:
    return sorted({line.strip() for text in TEXTS.values() for line in text.splitlines() if line.startswith("    exactformer ")})


def marked(line: str) -> Any:
    """A whole site takes a minute."""
    return pytest.param(line, marks=[pytest.mark.large] if line.startswith("exactformer site") else [])


@pytest.mark.parametrize("line", [marked(line) for line in indented()])
def test_indented_commands_work(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(blocks("toml")[-1][1], encoding="utf-8")
    command, _, otherwise = line.partition("#")[0].partition("||")
    done = cli_runs.run(*shlex.split(command)[1:])
    assert done.returncode == (1 if "test $? -eq 1" in otherwise else 0), done.stderr


def test_there_are_commands_to_try() -> None:
    assert len(indented()) > 40


def test_the_count_of_certify_has_one_spelling() -> None:
    for name, text in TEXTS.items():
        assert not re.findall(r"^ *exactformer certify .*--tokens \d+", text, re.MULTILINE), name


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(((?!http)[^)#]+)\)", TEXTS[page.name]):
            assert (page.parent / target).exists(), (page.name, target)
