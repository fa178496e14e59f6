"""Folders, patterns, standard input; strictness, known slips; reports for other programs; all problems at once."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import cli_runs
from exactformer.lessons import check_files
from exactformer.messages import Problems

CLAIM = '[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["{}"]\n'
RIGHT, CUT, WRONG = (CLAIM.format(number) for number in ("2.72", "2.71", "2.9"))
PAGE = "# Page\n\n```toml exactformer\n" + WRONG + "```\n"


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like those of real projects."""
    files = {
        "docs/wrong.md": PAGE,
        "docs/deep/er/right.toml": RIGHT,
        "docs/plain.md": "# Exactly nothing of ours\n",
        "docs/other.toml": "[project]\nname = 'x'\n",
        "docs/odd.ipynb": '{"nbformat": 3}',
        "docs/image.png": "exactformer",
        "docs/.hidden/wrong.md": PAGE,
        "docs/node_modules/x/wrong.md": PAGE,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("names", [["docs"], ["docs/**/*"], ["docs/*.md", "docs/deep"], ["docs", "docs/wrong.md"]])
def test_folders_and_patterns(docs: Path, names: list[str]) -> None:
    checked = check_files(names)
    assert checked.status == 1
    assert [line.split(":")[0] for line in checked.report.splitlines() if " number: " in line] in (
        ["docs/deep/er/right.toml", "docs/wrong.md"],
        ["docs/wrong.md", "docs/deep/er/right.toml"],
    )
    assert checked.report.endswith("2 files, 2 numbers: 1 fine, 1 not\n")


def test_a_pattern_that_matches_nothing(docs: Path) -> None:
    checked = check_files(["docs/*.rst"])
    assert (checked.status, len(checked.problems)) == (2, 1)
    assert "matches no file" in checked.problems[0]


def test_a_near_miss_in_a_folder_is_told(docs: Path) -> None:
    Path("docs/near.md").write_text("```toml exactfromer\n[[claims]]\n```\n", encoding="utf-8")
    assert (
        "docs/near.md:1: 'toml exactfromer' is nearly a worksheet: did you mean toml exactformer?" in check_files(["docs"]).problems
    )


@pytest.mark.parametrize(("text", "status"), [(RIGHT, 0), (WRONG, 1), (PAGE, 1), ("[[", 2)])
def test_standard_input(text: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    checked = check_files(["-"])
    assert checked.status == status
    assert all(line.startswith("standard input:") for line in (checked.report or checked.problems[0]).splitlines())


def test_standard_input_is_not_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(WRONG.encode())))
    assert check_files(["-"], fix=True).problems == ("standard input: cannot be rewritten",)


def test_strict(tmp_path: Path) -> None:
    for text, usual, strict in ((RIGHT, 0, 0), (CUT, 0, 1), ("", 0, 1), (WRONG, 1, 1)):
        path = tmp_path / "a.toml"
        path.write_text(text, encoding="utf-8")
        assert (check_files([path]).status, check_files([path], strict=True).status) == (usual, strict)


def test_known_slips_do_not_fail_and_stay(docs: Path) -> None:
    written = check_files(["docs"], write_baseline=Path("docs/known.json"))
    assert written.status == 0
    assert check_files(["docs"], baseline=Path("docs/known.json")).status == 0
    page = Path("docs/wrong.md")
    page.write_text("# moved down\n\n" + PAGE + "```toml\n" + WRONG.replace("2.9", "2.8") + "```\n", encoding="utf-8")
    checked = check_files(["docs"], baseline=Path("docs/known.json"))
    assert checked.status == 1
    assert "docs/wrong.md:15: exp[0]: 2.8 is last digit off" in checked.report
    assert "of these 1 known" in checked.report
    assert check_files(["docs"], fix=True, baseline=Path("docs/known.json")).status == 0
    assert page.read_text(encoding="utf-8").count("2.9") == 1
    page.write_text(page.read_text(encoding="utf-8").replace("2.9", "2.7"), encoding="utf-8")
    assert "1 known slip is no longer there" in check_files(["docs"], baseline=Path("docs/known.json")).report


@pytest.mark.parametrize(
    "text", ["{", "{}", '{"format": "x", "known": []}', '{"format": "exactformer baseline 1", "known": [{"file": 1}]}']
)
def test_a_baseline_that_cannot_be_read(docs: Path, text: str) -> None:
    Path("known.json").write_text(text, encoding="utf-8")
    done = cli_runs.run("check", "docs", "--baseline", "known.json")
    assert done.returncode == 2
    assert done.stderr.startswith("exactformer: known.json: ")
    assert done.stderr.count("\n") == 1


def test_annotations(docs: Path) -> None:
    Path("docs/bad.toml").write_text("\n" + CLAIM.replace("exp", "exq").format(1), encoding="utf-8")
    lines = check_files(["docs"], form="github").report.splitlines()
    assert lines[0] == (
        "::error file=docs/wrong.md,line=7,title=exactformer: wrong::exp[0]: 2.9 is wrong: 2.7 (2.718); a new error"
    )
    assert lines[1].startswith("::error file=docs/bad.toml,line=3,title=exactformer: not-read::claims.0.operation is 'exq'")
    Path("docs/bad.toml").write_text(CUT, encoding="utf-8")
    assert check_files(["docs/bad.toml"], form="github").report.startswith("::notice ")
    assert check_files(["docs/bad.toml"], form="github", strict=True).report.startswith("::error ")


def test_sarif(docs: Path) -> None:
    checked = check_files(["docs"], form="sarif")
    (run,) = json.loads(checked.report)["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], result["level"], place["artifactLocation"]["uri"], place["region"]["startLine"]) == (
        "wrong", "error", "docs/wrong.md", 7,
    )  # fmt: skip
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["wrong"]


MANY = """[model]
vocabulary = ["a", "b"]
dim = 2
blocks = 1
norm = "nonne"
mask = "causal"
scale = "sqrt"
positions = "noone"
unembedding = "none"
colour = "red"
[weights]
W_E = [[1, 0], [0, 1]]
[input]
tokens = "a b"

[[claims]]
step = "embed"
values = [[1, 0], [0, 1]]

[[claims]]
operation = "softmaxx"
name = "w"
of = [1, 2]

[[claims]]
operation = "exp"
of = "w"
values = ["1.0"]

[[claims]]
operation = "exp"
of = [1, "x"]
values = ["1.0"]
"""


def problems(text: str, name: str = "mine.toml") -> list[str]:
    from exactformer.lessons import check_text

    with pytest.raises(Problems) as refused:
        check_text(text, name)
    return [line.split(" ")[0] + " " + line.split(" ")[1] for line in refused.value.problems]


def test_all_problems_of_a_file_at_once_each_with_its_line() -> None:
    assert problems(MANY) == [
        "mine.toml:5: model.norm", "mine.toml:8: model.positions", "mine.toml:10: model.colour",
        "mine.toml:21: claims.1.operation", "mine.toml:32: claims.3.of[1]:",
    ]  # fmt: skip
    model = MANY.replace("nonne", "none").replace("noone", "none").replace('colour = "red"\n', "")
    attn = "[[weights.blocks]]\n[weights.blocks.attn]\nW_Q = [[1]]\nW_K = 7\nW_V = 'identity'\n[input]"
    assert problems(model.replace("[input]", attn).replace("[[1, 0], [0, 1]]\n[[w", "7\n[[w")) == [
        "mine.toml:11: weights.W_E", "mine.toml:14: weights.blocks.0.attn.W_Q[0]", "mine.toml:15: weights.blocks.0.attn.W_K",
        "mine.toml:25: claims.1.operation", "mine.toml:36: claims.3.of[1]:",
    ]  # fmt: skip
    right = model.replace("[input]", "[[weights.blocks]]\nattn = { W_Q = 'identity', W_K = 'identity', W_V = 'identity' }\n[input]")
    assert problems(right) == ["mine.toml:22: claims.1.operation", "mine.toml:33: claims.3.of[1]:"]
    page = f"# Page\n\n```toml exactformer\n{right}```\n\n```toml exactformer\n[[claims]]\nstep = 'embd'\nvalue = 1\n```\n"
    assert problems(page, "p.md") == ["p.md:25: claims.1.operation", "p.md:36: claims.3.of[1]:", "p.md:42: claims.0.step"]


LESSON = '# L\n\n<!-- exactformer: use capstone -->\n\n<!-- exactformer: use capstone tokens "b a" as other -->\n'


def test_trace_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lesson.md").write_text(LESSON, encoding="utf-8")
    for which in ("1", "2", "other"):
        done = cli_runs.run("trace", f"lesson.md#{which}", "--step", "pattern")
        assert (done.returncode, "blocks.0.attn.pattern" in done.stdout) == (0, True)
    assert (
        cli_runs.run("trace", "lesson.md#2", "--step", "embed").stdout
        == cli_runs.run("trace", "lesson.md#other", "--step", "embed").stdout
    )
    done = cli_runs.run("trace", "lesson.md")
    assert (done.returncode, "has 2 passes: say which, as in lesson.md#1" in done.stderr) == (2, True)
    assert cli_runs.run("trace", "lesson.md#3").returncode == 2
    Path("lesson.md").write_text("# No pass\n", encoding="utf-8")
    assert "has no pass" in cli_runs.run("trace", "lesson.md").stderr
    assert "could be" in cli_runs.run("trace", "capstone", "--step", "out").stderr


@pytest.mark.parametrize("name", ["docs", "docs/", "./docs", "docs//", "./docs/wrong.md", "./docs/*.md"])
def test_files_are_named_as_other_programs_know_them(docs: Path, name: str) -> None:
    assert check_files([name], form="github").report.startswith("::error file=docs/wrong.md,line=")


def test_the_folder_that_one_is_in_names_files_alone(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(docs / "docs")
    sarif = json.loads(check_files(["."], form="sarif").report)
    (result,) = sarif["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "wrong.md"}
    assert check_files([".", "wrong.md", "./wrong.md"]).report.endswith("2 files, 2 numbers: 1 fine, 1 not\n")  # each once


def test_a_file_that_is_called_like_a_built_in_lesson(docs: Path) -> None:
    Path("attention").write_text(WRONG, encoding="utf-8")
    assert check_files(["attention"]).report.startswith("attention:53: ")
    assert check_files(["./attention"]).report.startswith("./attention:4: exp[0]: 2.9 is wrong")
