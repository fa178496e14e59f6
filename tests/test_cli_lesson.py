"""exactformer lesson: new, build and list."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from exactformer.cli import commands
from exactformer.lessons import check_files, lessons
from exactformer.worksheets import example_text


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(commands, ["lesson", *arguments])
    return result.exit_code, result.output


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_lesson_is_built_and_right() -> None:
    status, said = run("new", "my-lesson")
    assert status == 0
    assert "exactformer lesson build my-lesson.md" in said
    assert Path("my-lesson.md").read_text(encoding="utf-8").splitlines()[4] == "# My lesson"
    assert check_files(["my-lesson.md"]).status == 0
    assert run("build", "--check", "my-lesson.md") == (0, "1 lesson is current\n")


def test_a_new_lesson_replaces_nothing() -> None:
    Path("mine.md").write_text("mine", encoding="utf-8")
    assert run("new", "mine.md") != 0
    assert Path("mine.md").read_text(encoding="utf-8") == "mine"
    assert run("new", "absent/mine")[0] != 0


def test_build_writes_all_files_or_none() -> None:
    good, bad = Path("good.md"), Path("bad.md")
    good.write_text("<!-- exactformer: use capstone -->\nIt is <!-- exactformer: embed[0, 0] -->?.\n", encoding="utf-8")
    bad.write_text("<!-- exactfromer: use capstone -->\n", encoding="utf-8")
    status, said = run("build", "good.md", "bad.md")
    assert status == 2
    assert "bad.md:1: 'exactfromer: use capstone' is nearly a directive" in said
    assert "?" in good.read_text(encoding="utf-8")
    assert run("build", "--check", "good.md") == (1, "good.md: would change\n")
    assert "?" in good.read_text(encoding="utf-8")
    good.chmod(0o640)
    assert run("build", "good.md") == (0, "good.md: built\n")
    assert "-->1." in good.read_text(encoding="utf-8")
    assert good.stat().st_mode & 0o777 == 0o640
    assert run("build", "good.md") == (0, "1 lesson is current\n")


def test_files_that_are_not_there_are_told() -> None:
    status, said = run("build", "absent.md")
    assert status == 2
    assert "absent.md: there is no such file" in said


def test_lessons_are_listed() -> None:
    status, said = run("list")
    assert status == 0
    assert all(name in said for name in lessons())


def test_what_a_language_lacks_is_listed() -> None:
    status, said = run("list", "--missing", "es")
    assert status == 0
    absent = [name for name in lessons() if name not in lessons("es")]
    assert [line for line in said.splitlines() if line.startswith("lesson ")] == [f"lesson {name}: is missing" for name in absent]
    assert run("list", "--missing", "xx")[0] != 0


def test_build_proves_claims() -> None:
    file = Path("claims.md")
    file.write_text("<!-- exactformer: use capstone -->\n\n<!-- exactformer: claim 1 > 2 -->\n", encoding="utf-8")
    wrong = "claims.md:3: 1 > 2: is wrong: 1 < 2\n1 lesson is current\n"
    assert run("build", "claims.md") == (1, wrong)
    assert run("build", "--check", "claims.md") == (1, wrong)
    equal = "sin(pi/5)^2 = (5-sqrt(5))/8"  # which digits cannot prove, and the algebra does not know
    file.write_text(f"<!-- exactformer: use capstone -->\n\n<!-- exactformer: claim {equal} -->\n", encoding="utf-8")
    status, said = run("build", "claims.md")
    assert status == 3
    assert "claims.md:3: " in said
    assert "is undecided" in said


def test_build_tells_what_it_writes_over_and_writes_it() -> None:
    file = Path("typed.md")
    text = "<!-- exactformer: use capstone -->\n\nIt is <!-- exactformer: embed[0, 0] -->2, <!-- exactformer: embed[0, 1] -->?.\n"
    file.write_text(text + "<!-- exactformer: claim 1 > 2 -->\n", encoding="utf-8")
    told = "typed.md:3: 2 → 1\ntyped.md:4: 1 > 2: is wrong: 1 < 2\n"
    assert run("build", "--check", "typed.md") == (1, told + "typed.md: would change\n")
    assert run("build", "typed.md") == (1, told + "typed.md: built\n")
    assert "-->1, <!-- exactformer: embed[0, 1] -->0." in file.read_text(encoding="utf-8")


def test_the_glossary_is_listed() -> None:
    status, said = run("glossary", "--language", "es")
    assert status == 0
    assert len(said.splitlines()) > 40
    assert "softmax" in run("glossary")[1]


def test_check_stands_beside_build() -> None:
    run("new", "my-lesson")
    assert run("check", "my-lesson.md")[0] == 0
    status, said = run("check", "nosuch.md")
    assert status == 2
    assert "nor a built-in lesson of that name (attention-exactly, " in said


def test_a_worksheet_is_no_lesson_to_build() -> None:
    Path("mine.toml").write_text(example_text("length4"), encoding="utf-8")
    status, said = run("build", "mine.toml")
    assert status == 2
    assert said == (
        "exactformer: mine.toml: is a worksheet, not a lesson: write <!-- exactformer: use mine.toml --> into a Markdown file "
        "beside it, and build that; exactformer check takes worksheets as they are\n"
    )
    Path("mine.md").write_text("<!-- exactformer: use mine.toml -->\n\nIt is <!-- exactformer: W_E[0, 0] -->?.\n", encoding="utf-8")
    assert run("build", "mine.md") == (0, "mine.md: built\n")  # what the message says


def test_a_built_in_lesson_is_built() -> None:
    status, said = run("build", "four-tokens")
    assert status == 2
    assert said == "exactformer: four-tokens: there is no such file, and the built-in lesson of that name is built already\n"
