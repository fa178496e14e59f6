"""Building a lesson writes numbers and views, and touches nothing else."""

from __future__ import annotations

import re

import pytest

from exactformer.lessons import LessonError, View, built, check_text, lessons, read
from exactformer.lessons.built_in import lesson_text
from exactformer.lessons.languages import languages
from exactformer.lessons.template import template
from lessons.sheets import EVERYTHING, PATTERN

TABLE = "<!-- exactformer: embed -->\n| a | b |\n|-|-|\n"
USE = "<!-- exactformer: use capstone -->\n\n"


def wrote(text: str) -> str:
    return built(read(USE + text)).removeprefix(USE)


def test_a_built_lesson_stays_as_it_is() -> None:
    once = built(read(EVERYTHING))
    assert once != EVERYTHING
    assert built(read(once)) == once


def test_nothing_but_views_is_added() -> None:
    """Without what stands between views and their closing comments, a right lesson is what it was."""
    once = built(read(EVERYTHING))
    bare = once
    for view in reversed([block for block in read(once).blocks if isinstance(block, View)]):
        if view.written is not None:
            bare = bare[: once.index("-->", view.span[0]) + 3] + bare[view.span[1] :]
    assert bare == EVERYTHING


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"<!-- exactformer: {PATTERN}[0, 1, 0] -->?.", f"<!-- exactformer: {PATTERN}[0, 1, 0] -->1/(1+e)."),
        (f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->**?** b", f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->**1/(1+e)** b"),
        (f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->0.3, b", f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->0.3, b"),
        (f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->0.31 b", f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->0.27 b"),
        (f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->≈ 0.26894 b", f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->≈ 0.26894 b"),
        (f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->e/(1+e) b", f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->1/(1+e) b"),
        (f"a <!-- exactformer: {PATTERN}[0, 1] -->? b", f"a <!-- exactformer: {PATTERN}[0, 1] -->(1/(1+e), e/(1+e)) b"),
        ("a <!-- exactformer: probs[1, 0] -->?", "a <!-- exactformer: probs[1, 0] -->e^2/(1+e+e^2)"),
        ("a <!-- exactformer: blocks.0.attn.masked[0, 0, 1] -->?", "a <!-- exactformer: blocks.0.attn.masked[0, 0, 1] -->−∞"),
        ("a <!-- exactformer: token[1] -->`?`", "a <!-- exactformer: token[1] -->`a`"),
        (f"{TABLE}| ? | ? |\n| 0.0 | 7 |\n", f"{TABLE}| 1 | 0 |\n| 0.0 | 1 |\n"),
    ],
)  # fmt: skip
def test_numbers_are_written_in_their_places(before: str, after: str) -> None:
    assert wrote(before) == after


def test_tiny_numbers_have_digits() -> None:
    text = "<!-- exactformer: use induction -->\n\na <!-- exactformer: blocks.0.attn.pattern[0, 5, 0] -->?\n"
    assert built(read(text)).endswith("-->1/(4+e^100)\n")
    shown = built(read("<!-- exactformer: use induction -->\n<!-- exactformer: step blocks.0.attn.pattern at 5 -->\n"))
    assert "1/(4+e^100) ≈ 3.72e−44 |" in shown
    assert "1 − 1.49e−43" in shown


def test_one_minus_sign_in_prose_tables_and_views() -> None:
    """As −∞ has it; code and formulas have the sign of code, and all of it is read again."""
    place = "<!-- exactformer: grad.logits[1, 0] -->"
    given = f'<!-- exactformer: use capstone backward target "b a" -->\n\na {place}? b {place}`?` c {place}$?$\n\n'
    given += "<!-- exactformer: step grad.logits -->\n"
    once = built(read(given))
    prose, view = once.split("<!-- exactformer: step")
    _, plain, code, formula = prose.split(place)
    assert plain.startswith("−")
    assert code.startswith("`-")
    assert "{-1-e}" in formula
    assert "≈ −0.1674 |" in view
    assert not re.search(r"-[0-9∞]", view.split("-->")[1])
    assert built(read(once)) == once
    older = prose + "<!-- exactformer: step" + view.replace("−", "-")  # as it was written before
    assert older != once
    assert built(read(older)) == older
    assert [check_text(text, "lesson.md").status for text in (older, once)] == [0, 0]


def test_line_ends_of_windows_stay() -> None:
    text = (USE + "<!-- exactformer: step embed -->\n\nAfter.\n").replace("\n", "\r\n")
    once = built(read(text))
    assert "\n" not in once.replace("\r\n", "")
    assert built(read(once)) == once


def test_views_in_a_quotation_stay_in_it() -> None:
    once = wrote("> Look:\n> <!-- exactformer: step embed -->\n")
    assert all(line.startswith(">") for line in once.splitlines())


def test_the_template_is_built_and_right() -> None:
    once = built(read(template("Mine")))
    assert "?" not in re.sub(r"<!--.*?-->|hidden\?|be\?", "", once)
    assert built(read(once)) == once


def test_what_cannot_be_written_is_said_with_its_line() -> None:
    with pytest.raises(LessonError) as refused:
        built(read(USE + f"a <!-- exactformer: {PATTERN}[0, 1, 0] -->seven\n\nb <!-- exactformer: embd[0, 0] -->1\n"))
    number, step = refused.value.problems
    assert number.startswith(f"lesson.md:3: {PATTERN}[0, 1, 0]: 'seven' is not a number")
    assert step == "lesson.md:5: there is no step 'embd' here: did you mean embed?"


@pytest.mark.parametrize(("language", "name"), [(each, name) for each in languages() for name in lessons(each)])
def test_built_in_lessons_are_built(language: str, name: str) -> None:
    text = lesson_text(name, language)
    assert built(read(text, name)) == text
