"""Lessons are checked: whatever is wrong in a bound place, a claim or a view is found, and nothing else is flagged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from exactformer.checking.pages.page import Page
from exactformer.checking.verdicts import Verdict, judge
from exactformer.lessons import LessonError, built, check_files, check_text, fix_text, lessons, read
from exactformer.lessons.building import build
from exactformer.lessons.built_in import lesson_text
from exactformer.lessons.numerals import decimal, printed
from exactformer.lessons.reader import partly_read
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named
from lessons.sheets import EVERYTHING, PATTERN, entries
from sampling import counts

BUILT = built(read(EVERYTHING))
USE = "<!-- exactformer: use capstone -->\n\n"


def texts() -> list[str]:
    """The sheet, and built-in lessons that are quick."""
    quick = [name for name in ("attention-exactly", "transformer-by-hand", "four-tokens") if name in lessons()]
    return [BUILT, *(built(read(lesson_text(name))) for name in quick)]


def found(text: str) -> bool:
    try:
        return check_text(text, "lesson.md").status != 0
    except LessonError:
        return True


def put(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


def test_a_built_lesson_is_right() -> None:
    report = check_text(BUILT, "lesson.md")
    assert report.status == 0
    assert {finding.kind for finding in report.findings} == {"number", "token", "claim", "view"}


@pytest.mark.parametrize(
    ("right", "wrong", "subject"),
    [
        ("-->0.27,", "-->0.28,", f"{PATTERN}[0, 1, 0]"),
        ("**0.731**", "**0.732**", f"{PATTERN}[0, 1, 1]"),
        ("`1/(1+e)`", "`1/(2+e)`", f"{PATTERN}[0, 1, 0]"),
        ("$\\frac{e}{1+e}$", "$\\frac{e}{2+e}$", f"{PATTERN}[0, 1, 1]"),
        ("(1, 0)", "(1, 1)", "embed[0, 1]"),
        ("mean[0] -->1,", "mean[0] -->2,", "blocks.0.ln1.mean[0, 0]"),
        ("W_E[2, 1] -->1,", "W_E[2, 1] -->0,", "W_E[2, 1]"),
        ("token[1] -->`a`", "token[1] -->`b`", "token[1, 0]"),
        ("-->−∞", "-->0", "blocks.0.attn.masked[0, 0, 1]"),
        ("| 0.27 |", "| 0.25 |", f"{PATTERN}[0, 1, 0]"),
        ("1 & 2", "1 & 3", "blocks.0.attn.scores[0, 1, 1]"),
        ("0.2447", "0.2474", "probs[0, 2]"),
        ("≈ 0.2689 |", "≈ 0.2698 |", f"step {PATTERN}"),
        ("0.268941421370", "0.268941421371", f"number {PATTERN}[0, 1, 0]"),
        ("[0, 1] = 1 -->", "[0, 1] = 2 -->", f"sum {PATTERN}[0, 1] = 2"),
        ("| 0 a | 1 | 1 |", "| 0 a | 1 | 0 |", "break blocks.0.attn.masked"),
    ],
)
def test_a_changed_number_in_each_kind_of_place_is_found(right: str, wrong: str, subject: str) -> None:
    assert right in BUILT
    report = check_text(BUILT.replace(right, wrong, 1), "lesson.md")
    assert [finding.place for finding in report.findings if finding.bad] == [subject]
    assert report.status == 1


@pytest.mark.parametrize("count", counts(80, 300))
def test_random_corruptions_are_all_found(count: int) -> None:
    draw = random.Random(16)
    pool = [(text, entry) for text in texts() for entry in entries(text) if not entry.of_tokens]
    tried = 0
    while tried < count:
        text, entry = draw.choice(pool)
        new = _wrong(entry.spot.text, draw)
        try:
            if judge(entry.value, printed(new)) in (Verdict.RIGHT, Verdict.TRUNCATED):
                continue
        except ValueError:
            continue
        tried += 1
        assert found(put(text, entry.spot.span, new)), (str(entry.bound.to), entry.spot.text, new)


def _wrong(text: str, draw: random.Random) -> str:
    """Another digit, a sign, another number."""
    places = [n for n, sign in enumerate(text) if sign.isdigit()]
    match draw.randrange(4):
        case 0 | 1 if places:
            n = draw.choice(places)
            return text[:n] + draw.choice("0123456789") + text[n + 1 :]
        case 2:
            return text.removeprefix("-") if text.startswith("-") else f"-{text}"
        case _:
            return draw.choice(["7/3", "e", "0.123", "1/(2+e)", "√2", "-∞", "12"])


@pytest.mark.parametrize("count", counts(20, 60))
def test_random_digits_of_views_are_all_found(count: int) -> None:
    draw = random.Random(17)
    for _ in range(count):
        text = draw.choice(texts())
        spans = [view.written for view in _views(text)]
        start, end = draw.choice([span for span in spans if span])
        places = [n for n in range(start, end) if text[n].isdigit()]
        if places:
            n = draw.choice(places)
            assert found(put(text, (n, n + 1), str((int(text[n]) + draw.randrange(1, 10)) % 10)))


def _views(text: str) -> list:  # type: ignore[type-arg]
    return [block for block in read(text).blocks if hasattr(block, "written")]


@pytest.mark.parametrize("count", counts(80, 300))
def test_right_numbers_are_not_flagged(count: int) -> None:
    draw = random.Random(18)
    pool = [(text, entry) for text in texts() for entry in entries(text) if isinstance(entry.value, Exact | Named)]
    for _ in range(count):
        text, entry = draw.choice(pool)
        forms = [decimal(entry.value, draw.randrange(1, 30)), str(entry.value)]
        new = draw.choice([form for form in forms if "≈" not in form])
        if entry.bound.kind == "code" and "e" in new:
            continue
        assert not found(put(text, entry.spot.span, new)), (str(entry.bound.to), new)


def test_what_is_masked_is_no_number() -> None:
    assert MASKED is entries(USE + "a <!-- exactformer: blocks.0.attn.masked[0, 0, 1] -->-inf.\n")[0].value
    assert not found(USE + "a <!-- exactformer: blocks.0.attn.masked[0, 0, 1] -->-inf.\n")
    assert found(USE + "a <!-- exactformer: blocks.0.attn.masked[0, 1, 1] -->-inf.\n")


def test_numbers_that_are_not_written_are_told() -> None:
    report = check_text(USE + "a <!-- exactformer: embed[0, 0] -->?\n", "lesson.md")
    assert report.status == 1
    assert "is not written yet" in report.findings[0].true


def test_errors_are_followed_through_the_prose() -> None:
    text = USE + (
        "<!-- exactformer: blocks.0.attn.scores[0, 1] -->(1, 3) become\n"
        "a <!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->0.12.\n"
    )
    report = check_text(text, "lesson.md")
    assert [(finding.printed, finding.carried_on) for finding in report.findings if finding.bad] == [("3", False), ("0.12", True)]


def test_fences_with_claims_are_checked_with_the_rest() -> None:
    claims = '```toml exactformer\n[[claims]]\nstep = "embed"\nvalues = [["1", "0"], ["0", "7"]]\n```\n'
    text = USE + "It is <!-- exactformer: embed[0, 0] -->1.\n\n" + claims
    report = check_text(text, "lesson.md")
    assert [finding.printed for finding in report.findings if finding.bad] == ["7"]
    assert check_text(fix_text(text, report), "lesson.md").status == 0


def test_wide_vocabularies_have_proved_decimals() -> None:
    text = "<!-- exactformer: use poster -->\n\na <!-- exactformer: logits[0, 0] -->?\n"
    once = built(read(text))
    assert check_text(once, "lesson.md").status == 0
    number = once.rsplit("-->", 1)[1].strip()
    assert found(once.replace(number, f"{number[:-1]}{(int(number[-1]) + 5) % 10}"))


def test_fix_mends_a_file_and_says_what_it_cannot(tmp_path: Path) -> None:
    path = tmp_path / "lesson.md"
    path.write_text(BUILT.replace("-->0.27,", "-->0.35,").replace("≈ 0.2689 |", "≈ 0.2688 |"), encoding="utf-8")
    assert check_files([path]).status == 1
    assert check_files([path], fix=True).status == 0
    assert path.read_text(encoding="utf-8") == BUILT
    path.write_text(BUILT.replace("[0, 1] = 1 -->", "[0, 1] = 2 -->"), encoding="utf-8")
    checked = check_files([path], fix=True)
    assert checked.status == 2
    assert "a claim cannot be corrected" in checked.problems[0]


def test_every_problem_of_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "lesson.md"
    path.write_text("<!-- exactfromer: use capstone -->\n\n<!-- exactformer: stp embed -->\n", encoding="utf-8")
    checked = check_files([path])
    assert checked.status == 2
    assert [problem.removeprefix(f"{path}:")[:2] for problem in checked.problems] == ["1:", "3:"]


SLIPS = (
    USE
    + f"""a <!-- exactfromer: embed[0, 1] -->0
b <!-- exactformer: embd[0, 1] -->0
c <!-- exactformer: {PATTERN}[0, 1, 0] -->seven

<!-- exactformer: claim foo[0] = 1 -->

```toml exactfromer
[[claims]]
```
"""
)


def problems(text: str) -> list[str]:
    """What is told of a lesson, checked and built alike."""
    with pytest.raises(LessonError) as checked:
        check_text(text, "l.md")
    with pytest.raises(LessonError) as made:
        build(partly_read(Page(text, "l.md")))
    assert checked.value.problems == made.value.problems
    return [problem.removeprefix("l.md:") for problem in made.value.problems]


def test_problems_of_every_kind_are_told_at_once() -> None:
    told = [
        "3: 'exactfromer: embed[0, 1]' is nearly a directive",
        "4: there is no step 'embd' here",
        f"5: {PATTERN}[0, 1, 0]: 'seven' is not a number",
        "7: there is no step 'foo' here",
        "9: 'toml exactfromer' is nearly a worksheet",
        "11: claims.0",
    ]
    found = problems(SLIPS.replace("[[claims]]\n", "\n[[claims]]\n"))
    assert len(found) == len(told)
    assert all(problem.startswith(begin) for problem, begin in zip(found, told, strict=True)), found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<!-- exactfromer: use induction -->\n\na <!-- exactformer: nothing[0] -->1", "1: 'exactfromer: use induction' is nearly"),
        (USE + "<!-- exactformer: load other -->\n\na <!-- exactformer: nothing[0] -->1", "3: bind: 'other'"),
        (USE + "```toml exactfromer\n```\na <!-- exactformer: nothing[0] -->1", "3: 'toml exactfromer' is nearly"),
        (USE + "<!-- exactformer: count form 1 -->\n\na <!-- exactformer: embed[2, 2] -->1", "3: count: write count from 1"),
        (USE + "<!-- exactformer: embed[0 -->\n<!-- exactformer: embed[1] -->\n```\n1 2 3\n```", "3: embed[0: '[0' is not"),
        (USE + "<!-- exactformer: embed[1] -->\n<!-- exactformer: embed[0 -->\n```\n1 2 3\n```", "4: embed[0: '[0' is not"),
        (USE + "<!-- exactformer: embed[9] -->\n<!-- exactformer: embed[1] -->\n```\n1 2 3\n```", "3: embed[9]: embed is 2 × 2"),
        (USE + "<!-- exactformer: use capstn as x -->\n\na <!-- exactformer: x: embed[0, 0] -->1", "3: use: there is no example"),
        (USE + "<!-- exactformer: use capstn as x -->\n<!-- exactformer: use x tokens \"a\" -->", "3: use: there is no example"),
        (USE + "<!-- exactfromer: step embed -->\n\n1\n\n<!-- /exactformer -->", "3: 'exactfromer: step embed' is nearly"),
        ("<!-- exactformer: step embed -->\n\na <!-- exactformer: embed[0, 1] -->1", "1: step: no pass is named"),
    ],
)  # fmt: skip
def test_what_only_follows_from_a_problem_is_not_told(text: str, told: str) -> None:
    (found,) = problems(text + "\n")
    assert found.startswith(told)


def test_claims_of_operations_name_no_pass() -> None:
    sheet = '```toml exactformer\n[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["2.72"]\n```\n'
    assert problems(f"{sheet}\n<!-- exactformer: step embed -->\n")[0].startswith("8: embed: no pass is named above it")
