"""The reader of lessons is strict: what is nearly a directive, or does not fit, is told with its line and what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from exactformer.checking.pages.markdown import scan
from exactformer.lessons import Bound, LessonError, Use, View, built, check_text, read

USE = "<!-- exactformer: use capstone -->\n"
SCORES = "blocks.0.attn.scores"
TABLE4 = f"<!-- exactformer: {SCORES} -->\n| at | a | b | c |\n|-|-|-|-|\n" + "".join(
    f"| {name} | 1 | 2 | 3 |\n" for name in "wxyz"
)


def problems(text: str, folder: Path | None = None) -> list[str]:
    with pytest.raises(LessonError) as refused:
        built(read(text, "l.md", folder))
    return list(refused.value.problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n<!-- exactfromer: use capstone -->", "l.md:2: 'exactfromer: use capstone' is nearly a directive: did you mean exact"),
        ("<!-- exactformer use capstone -->", "is nearly a directive: write exactformer: with a colon"),
        ("<!-- Exactformer: use capstone -->", "did you mean exactformer?"),
        ("<!-- exactformer: use capstone", "l.md:1: the comment is not closed"),
        ("```toml exactfromer\n[model]\n```\n", "is nearly a worksheet: did you mean toml exactformer?"),
        ("<!-- exactformer: use capston -->", "there is no example 'capston': did you mean capstone?"),
        ("<!-- exactformer: use stories -->", "stories is a built-in model"),
        ("<!-- exactformer: use capstone token \"a b\" -->", "'token' is not understood here: did you mean tokens?"),
        ("<!-- exactformer: use capstone tokens a -->", "tokens is followed by a text in quotes"),
        ("<!-- exactformer: use capstone tokens \"a z\" -->", "tokens: "),
        ("<!-- exactformer: use capstone target \"a b\" -->", "target goes with backward"),
        ("a <!-- exactformer: embed[0, 0] -->1", "l.md:1: embed[0, 0]: no pass is named above it"),
        (USE + "a <!-- exactformer: embed[0, 0] -->", "nothing follows the comment"),
        (USE + "a <!-- exactformer: embed[0, 0] -->**1", "** is opened behind the comment and not closed"),
        (USE + "a <!-- exactformer: embed[0, 7] -->1", "embed is 2 × 2, counted from 0: there is no 7 at place 2"),
        (USE + "a <!-- exactformer: embed[0, x] -->1", "an index is written as whole numbers from 0 in brackets"),
        (USE + "a <!-- exactformer: embed -->1", "is 2 × 2 numbers: write the comment on a line of its own"),
        (USE + "a <!-- exactformer: embed[0] -->(1, 2, 3)", "is 2 numbers, but there are 3 numbers behind it"),
        (USE + "a <!-- exactformer: grad.embed[0, 0] -->1", "the pass is used without backward"),
        (USE + "<!-- exactformer: embed -->\n\nprose\n", "is bound to the table, matrix or code block that follows"),
        (USE + "<!-- exactformer: embed -->\n| a |\n|---|\n| 1 |\n", "is 2 × 2 numbers, but the table has 1 row of 1"),
        (USE + "<!-- exactformer: embed -->\n| a | b |\n| 1 | 2 |\n", "what follows is no table"),
        (USE + "<!-- exactformer: embed[0, 0] -->\n| a | b |\n|---|---|\n| 1 | 2 |\n", "is one number"),
        (USE + "<!-- exactformer: embed -->\n```\n1 2 3\n```\n", "is 2 × 2 numbers, but the code has 1 row of 3"),
        (USE + "<!-- exactformer: stp embed -->", "did you mean step?"),
        (USE + "<!-- exactformer: step -->", "step: the name of a step is missing"),
        (USE + "<!-- exactformer: step embed at x -->", "at is followed by a whole number"),
        (USE + "<!-- exactformer: step embed at 9 -->", "there is no position 9 in embed"),
        (USE + "<!-- exactformer: step embed at 1 at 0 -->", "at is given twice"),
        (USE + "<!-- exactformer: picture blocks.0.attn.pattern head 3 -->", "there is no head 3"),
        (USE + "<!-- exactformer: number embed -->", "is 2 × 2 numbers, not one: say which, as in embed[0, 0]"),
        (USE + "<!-- exactformer: number embed[0, 0] digits 9999 -->", "up to 1,000"),
        (USE + "<!-- exactformer: break no-msk from embed -->", "there is no mistake 'no-msk': did you mean no-mask?"),
        (USE + "<!-- exactformer: break no-mask embed -->", "write from and the name of a step"),
        (USE + "<!-- exactformer: claim embed -->", "is not understood: write STEP[i] = 1/2"),
        (USE + "<!-- exactformer: claim embed[0, 0] is nice -->", "'nice' is not known"),
        (USE + "<!-- exactformer: exercise embed[5, 5] -->", "embed is 2 × 2"),
        (USE + "a <!-- exactformer: step embed -->", "step stands on a line of its own"),
        (USE + "<!-- /exactformer -->", "nothing is open here"),
        ("---\nsumary: x\n---\n# T\n", "l.md:2: 'sumary: x' is no field of the front matter: did you mean summary?"),
        ("---\nlanguage: Spanish\n---\n", "language is 'Spanish'"),
        ("a\ue000b", "U+E000 is not a character of a text"),
    ],
)  # fmt: skip
def test_problems_name_the_line_and_what_was_meant(text: str, said: str) -> None:
    assert any(said in problem for problem in problems(text)), problems(text)
    assert all(problem.startswith("l.md:") for problem in problems(text))


def test_all_problems_are_told_at_once() -> None:
    found = problems("<!-- exactfromer: x -->\n\n<!-- exactformer: stp embed -->\n<!-- /exactformer -->\n")
    assert [problem.split(":")[1] for problem in found] == ["1", "3"]


def test_comments_in_code_are_examples() -> None:
    text = "`<!-- exactformer: use x -->`\n\n```\n<!-- exactformer: nonsense -->\n```\n\n~~~~\n```\n<!-- exactfromer -->\n~~~~\n"
    assert [type(each).__name__ for each in scan(text)] == ["Fence", "Fence"]
    assert read(text).blocks[0].span == (0, len(text))  # type: ignore[union-attr]


def test_ordinary_comments_are_left_alone() -> None:
    assert [type(block) for block in read("<!-- a note --> text <!-- example: b -->").blocks] != [View]
    assert check_text("<!-- a note -->\n", "page.md").findings == ()


def test_a_lesson_has_its_blocks_in_order() -> None:
    text = USE + "Say <!-- exactformer: embed[0, 0] -->1.\n\n<!-- exactformer: step embed -->\n"
    kinds = [type(block).__name__ for block in read(text).blocks]
    assert kinds == ["Use", "Prose", "Bound", "Prose", "View", "Prose"]
    assert next(block for block in read(text).blocks if isinstance(block, Use)).line == 1
    assert next(block for block in read(text).blocks if isinstance(block, Bound)).line == 2


def test_worksheets_are_read_from_the_folder_of_the_lesson_alone(tmp_path: Path) -> None:
    folder = tmp_path / "lessons"
    folder.mkdir()
    from exactformer.worksheets import example_text

    for path in (tmp_path / "mine.toml", folder / "mine.toml"):
        path.write_text(example_text("capstone"), encoding="utf-8")
    (folder / "link.toml").symlink_to(tmp_path / "mine.toml")
    own = "<!-- exactformer: use mine.toml -->\nIt is <!-- exactformer: embed[0, 0] -->1.\n"
    assert built(read(own, "l.md", folder)) == own
    for name in ("../mine.toml", str(tmp_path / "mine.toml"), "link.toml", "a/../../mine.toml"):
        assert "is not in the folder of the lesson" in problems(f'<!-- exactformer: use "{name}" -->\n', folder)[0]
    assert (
        "there is no file 'none.toml' in the folder of the lesson: did you mean mine.toml?"
        in problems("<!-- exactformer: use none.toml -->\n", folder)[0]
    )
    assert "cannot be read here" in problems("<!-- exactformer: use mine.toml -->\n")[0]


@pytest.mark.parametrize(
    "text",
    [
        "> " * 100_000 + "x <!-- exactformer: use capstone -->",
        "".join("`" * n + " " for n in range(1, 1000)) + USE,
        "<!-- x -->" * 50_000,
        USE + "<!-- exactformer: embed -->\n|a|b|\n|" + " " * 200_000 + "\n|1|2|",
        USE + "a <!-- exactformer: embed[0, 0] -->" + "(" * 50_000,
        USE + "a <!-- exactformer: embed[0, 0] -->9^9^9^9^9^9",
        USE + "a <!-- exactformer: embed[0, 0] -->" + "9" * 20_000,
    ],
    ids=["quotations", "backticks", "comments", "blanks", "brackets", "powers", "digits"],
)
def test_hostile_texts_are_refused_in_a_line(text: str) -> None:
    (problem,) = problems(text)
    assert len(problem) < 400


def test_a_lesson_has_a_largest_size() -> None:
    assert "a lesson may have" in problems("x" * (2**20 + 1))[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE4, "is 4 × 4 numbers, but the table has 4 rows of 3, besides the names of its rows"),
        (
            f"<!-- exactformer: {SCORES} -->\n| a | b | c | d | e |\n|-|-|-|-|-|\n| x | 1 | 2 | 3 | 4 |\n",
            "has 1 row of 4, besides the",
        ),
        (f"<!-- exactformer: exercise {SCORES} -->", f"is 1 × 4 × 4 numbers, not one: say which, as in {SCORES}[0, 0, 0]"),
        (f"<!-- exactformer: number {SCORES}[0, 2] -->", f"is 4 numbers, not one: say which, as in {SCORES}[0, 2, 0]"),
        ("<!-- exactformer: exercise loss -->", "loss is not a step: it goes with use … backward"),
        (f"a <!-- exactformer: {SCORES}[0, 4] -->1", f"{SCORES} is 1 × 4 × 4, counted from 0: there is no 4 at place 2"),
        (f"a <!-- exactformer: {SCORES}[0, -1, 0] -->1", "an index is written as whole numbers from 0"),
        (f"a <!-- exactformer: {SCORES}[0, 1, 0, 0] -->1", "it has 3 indices"),
        ("<!-- exactformer: step patern -->", "did you mean blocks.0.attn.pattern?"),
        ("<!-- exactformer: step attn.kq -->", "did you mean blocks.0.attn.qk?"),
    ],
)
def test_problems_of_tables_and_indices(text: str, said: str) -> None:
    found = problems(f"<!-- exactformer: use length4 -->\n\n{text}\n")
    assert any(said in problem for problem in found), found


def test_front_matter_that_leads_nowhere(tmp_path: Path) -> None:
    assert "l.md:2: language is 'xx', not one of en, es" in problems("---\nlanguage: xx\n---\n# T\n")
    text = "---\nnext: other\n---\n# T\n"
    assert "next: there is no other.md beside this lesson" in problems(text, tmp_path)[0]
    (tmp_path / "other.md").touch()
    for name in ("other", "four-tokens"):
        assert built(read(text.replace("other", name), "l.md", tmp_path))
