"""Passes with names, broken passes, and claims that compute with their numbers."""

from __future__ import annotations

import pytest

from exactformer.lessons import LessonError, built, check_text, page, read
from exactformer.lessons.claims import judged
from exactformer.lessons.examining import examined
from exactformer.lessons.lesson import refuse
from exactformer.lessons.passes import PassError, Source
from exactformer.worksheets import example_text
from lessons.sheets import PATTERN

BROKEN = f"""\
# Two passes in one sentence

<!-- exactformer: use capstone as right -->
<!-- exactformer: use capstone break no-mask as open -->

With the mask `a` keeps <!-- exactformer: right: {PATTERN}[0, 0, 0] -->?, without it
<!-- exactformer: open: {PATTERN}[0,0,0] -->0.??; now <!-- exactformer: {PATTERN}[0, 0, 0] -->0.50 is meant.

<!-- exactformer: claim right: {PATTERN}[0, 0, 0] = 2 * open: {PATTERN}[0, 0, 0] -->
<!-- exactformer: step right: {PATTERN} at 0 -->
<!-- exactformer: picture open: {PATTERN} at 0 -->
<!-- exactformer: break swapped-qk from {PATTERN} at 0 -->
<!-- exactformer: exercise right: {PATTERN}[0, 0, 0] -->
<!-- exactformer: use right backward target "b b" -->
<!-- exactformer: claim loss > 0 -->
"""


def test_two_passes_in_one_sentence() -> None:
    text = built(read(BROKEN))
    assert "keeps <!-- exactformer: right: blocks.0.attn.pattern[0, 0, 0] -->1, without it\n" in text
    assert "-->0.50;" in text
    assert built(read(text)) == text
    assert check_text(text, "l.md").status == 0
    assert check_text(text.replace("-->0.50;", "-->0.51;"), "l.md").first_wrong is not None


def test_the_page_knows_which_pass_is_meant() -> None:
    found = page(read(built(read(BROKEN))))
    breaks = [found["passes"][number["pass"]]["breaks"] for number in found["numbers"]]
    assert breaks == [[], ["no-mask"], ["no-mask"]]
    assert [found["passes"][view["pass"]]["breaks"] for view in found["views"] if view["kind"] != "claim"] == [
        [],
        ["no-mask"],
        ["no-mask"],
        [],
    ]


def test_a_worksheet_in_the_lesson_has_a_name_too() -> None:
    sheet = f"```toml exactformer as small\n{example_text('capstone')}```\n"
    text = f'{sheet}<!-- exactformer: use induction -->\n<!-- exactformer: use small tokens "b a" -->\n\n'
    assert built(read(f"{text}It is <!-- exactformer: embed[0] -->?.\n")).endswith("-->(0, 1).\n")


def test_a_mistake_in_front_of_another() -> None:
    twice = (
        "<!-- exactformer: use capstone break no-mask -->\n<!-- exactformer: break swapped-qk from blocks.0.attn.masked at 0 -->\n"
    )
    ((_, source, text),) = examined(read(twice)).views
    assert source.mistakes == ("no-mask",)
    assert "−∞" not in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!-- exactformer: use capstone as a b -->", "'b' is not understood here"),
        ("<!-- exactformer: use capstone as 1 -->", "the name of a pass is a word"),
        ("<!-- exactformer: use capstone as induction -->", "there is a pass of that name already"),
        (
            "<!-- exactformer: use capstone as x -->\n<!-- exactformer: use capstone as x -->",
            "there is a pass of that name already",
        ),
        ("<!-- exactformer: use capstone break no-msk -->", "use: there is no mistake 'no-msk': did you mean no-mask?"),
        ("<!-- exactformer: use capstone break no-scale -->", "l.md:1: break: no-scale does not apply"),
        ("<!-- exactformer: use capstone as wide -->\na <!-- exactformer: wdie: embed[0, 0] -->1", "did you mean wide?"),
        ("<!-- exactformer: use capstone -->\na <!-- exactformer: wide: embed[0, 0] -->1", "write use … as wide above it"),
        ("<!-- exactformer: use capstone -->\n<!-- exactformer: claim wide: embed[0, 0] = 1 -->", "no pass called 'wide'"),
    ],
)
def test_names_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(LessonError) as refused:
        refuse(examined(read(text, "l.md")).problems)
    assert any(said in problem for problem in refused.value.problems), refused.value.problems


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (f"{PATTERN}[0, 1, 1] / {PATTERN}[0, 1, 0] = e", "right"),
        (f"{PATTERN}[0,1,1]/{PATTERN}[0,1,0] = 2.72", "wrong"),
        (f"2 * {PATTERN}[0, 1, 0] < 1", "right"),
        (f"1 - {PATTERN}[0, 1, 0] = {PATTERN}[0, 1, 1]", "right"),
        (f"sum {PATTERN}[0, 1] - 1 = 0", "right"),
        (f"log({PATTERN}[0, 1, 1] / {PATTERN}[0, 1, 0]) = blocks.0.attn.scores[0,1,1] - blocks.0.attn.scores[0,1,0]", "right"),
        (f"({PATTERN}[0, 1, 0] + {PATTERN}[0, 1, 1])^2 = sqrt(1)", "right"),
        (f"{PATTERN}[0, 1, 0] + {PATTERN}[0, 1, 1] ≠ 1", "wrong"),
        ("1 > 2", "wrong"),
        ("e < 3", "right"),
    ],
)
def test_claims_compute(claim: str, verdict: str) -> None:
    assert str(judged(claim, Source("capstone")).verdict) == verdict


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("embed[0, 0] / embed[0, 1] = 1", "divides by zero"),
        ("blocks.0.attn.masked[0, 0, 1] + 1 = 1", "is no number to compute with"),
        ("nothing + 1 = 1", "there is no step 'nothing' here"),
        ("token + 1 = 1", "a token stands on the left"),
        ("embed[0, 0] ! 1 = 2", "'!' is not part of a number here"),
        ("9^9^9^9^9 = embed[0, 0]", "is too large to compute"),
        (" + ".join(["embed[0, 0]"] * 40) + " = 40", "has more than"),
    ],
)
def test_claims_that_cannot_be_computed(claim: str, said: str) -> None:
    with pytest.raises(PassError, match=said):
        judged(claim, Source("capstone"))
