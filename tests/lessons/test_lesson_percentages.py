"""What building writes over: percentages are a hundred times the number, 0.?? has two decimals, and what was typed is told."""

from __future__ import annotations

import random

import pytest

from exactformer.lessons import LessonError, built, check_text, read
from exactformer.lessons.building import build
from lessons.sheets import PATTERN
from sampling import counts

USE = "<!-- exactformer: use capstone -->\n\n"
P = f"<!-- exactformer: {PATTERN}[0, 1, 0] -->"  # 0.26894142…
ROW = f"<!-- exactformer: {PATTERN}[0, 1] -->"


def wrote(text: str, of: str = P) -> str:
    found = built(read(f"{USE}It is {of}{text}\n"))
    assert check_text(found, "l.md").status == 0
    return found.removeprefix(f"{USE}It is {of}").removesuffix("\n")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("66.5 %.", "26.9 %."),
        ("66.5%", "26.9%"),
        ("67 percent of", "27 percent of"),
        ("66.50 per cent,", "26.89 per cent,"),
        ("67\u00a0%", "27\u00a0%"),
        ("67 por ciento", "27 por ciento"),
        ("**66.5 %**", "**26.9 %**"),
        ("**66.5** %", "**26.9** %"),
        ("`67%`", "`27%`"),
        (r"$66.5\,\%$", r"$26.9\,\%$"),
        ("? %", "26.9 %"),
        ("?%.", "26.9%."),
        ("0.?? %", "26.89 %"),
        ("≈ 26.9 %", "≈ 26.9 %"),
        ("100/(1+e) %", "100/(1+e) %"),
        ("0.27, percent", "0.27, percent"),
        ("0.27 percentiles", "0.27 percentiles"),
    ],
)
def test_a_percentage_is_a_hundred_times_the_number(text: str, right: str) -> None:
    assert wrote(text) == right


def test_percentages_of_rows_and_tables() -> None:
    assert wrote("(27 %, 73 %)", ROW) == "(27 %, 73 %)"
    assert wrote("(20, 80) %", ROW) == "(27, 73) %"
    table = f"{USE}<!-- exactformer: {PATTERN} -->\n| | a | b |\n|---|---|---|\n| a | ? % | 0% |\n| b | 20.5 % | ?% |\n"
    assert built(read(table)).splitlines()[-2:] == ["| a | 100 % | 0% |", "| b | 26.9 % | 73.1% |"]


@pytest.mark.parametrize("count", counts(60, 300))
def test_a_percentage_is_never_taken_for_the_number_itself(count: int) -> None:
    """Seeded: of many decimals beside a percent sign those alone are right that round 100 times the number."""
    choose = random.Random(16)
    right = 0
    for _ in range(count):
        places = choose.randrange(4)
        low, high = choose.choice([(0, 1), (0, 100), (26.8, 27)])
        text = f"{choose.uniform(low, high):.{places}f}"
        status = check_text(f"{USE}It is {P}{text} %.\n", "l.md").status
        expected = abs(float(text) - 26.894142136999512) <= 0.5 * 10**-places  # no case is near the edge
        cut = round(float(text) * 10**places) == int(26.894142136999512 * 10**places)  # cut off instead of rounded is no error
        assert status == (0 if expected or cut else 1), text
        right += expected
    assert right > count / 15


@pytest.mark.parametrize(
    ("text", "right"),
    [("0.??", "0.27"), ("?.??, and", "0.27, and"), ("0.?????.", "0.26894."), ("**0.?**", "**0.3**"), ("?.", "1/(1+e).")],
)
def test_question_marks_say_how_many_decimals(text: str, right: str) -> None:
    assert wrote(text) == right


def test_question_marks_in_tables_matrices_and_code() -> None:
    text = f"{USE}<!-- exactformer: {PATTERN} -->\n```\n[[0.?? 0.00]\n [0.??? ?.?]]\n```\n"
    assert "[[1.00 0.00]\n [0.269 0.7]]" in built(read(text))
    matrix = f"{USE}<!-- exactformer: {PATTERN} -->\n$$\\begin{{bmatrix}} 1 & 0 \\\\ 0.?? & ? \\end{{bmatrix}}$$\n"
    assert r"1 & 0 \\ 0.27 & \frac{e}{1+e}" in built(read(matrix)).replace(r"\frac{e^{1}}", r"\frac{e}")


def test_half_a_number_is_refused() -> None:
    with pytest.raises(LessonError, match=r"0\.2\?\?: write a question mark for every decimal, as in 0\.\?\?"):
        read(f"{USE}It is {P}0.2??\n")
    assert wrote("0.27?") == "0.27?"  # the end of a question


def test_what_was_typed_and_is_written_over_is_told() -> None:
    found = build(read(f"{USE}It is {P}0.28, {P}?, {P}0.27 and {P}2/3.\n", "l.md"))
    assert found.changes == ("l.md:3: 0.28 → 0.27", "l.md:3: 2/3 → 1/(1+e)")
    assert build(read(found.text)).changes == ()
