"""Sheets, their keys as files, and what is printed of them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from exactformer.exercises import ExerciseError, Sheet, judged, make_sheet, read_key
from exactformer.exercises.key import read_text, written
from exactformer.exercises.sheet import answer_of
from exactformer.numbers import Named
from exactformer.render import exercises, moodle
from exactformer.worksheets.worksheet import example_text

CAPSTONE = example_text("capstone")
SHARE = "blocks.0.attn.pattern[0, 1, 0]"


def sheet(**options: object) -> Sheet:
    return make_sheet(CAPSTONE, "capstone", **options)  # type: ignore[arg-type]


def test_a_seed_makes_one_sheet_and_others_make_others() -> None:
    def told(made: Sheet) -> object:
        return made.tokens, made.changes, [cell.name for cell in made.cells]

    assert told(sheet(seed=5)) == told(sheet(seed=5))
    assert len({str(told(sheet(seed=seed))) for seed in range(20)}) == 20


@pytest.mark.parametrize("level", [1, 2, 3])
def test_levels_and_counts_are_kept(level: int) -> None:
    made = sheet(level=level, seed=1, count=4)
    assert len(made.cells) == 4
    assert any(isinstance(cell.value, Named) for cell in made.cells) == (level > 1)
    assert all(judged(answer_of(cell), cell).right for cell in made.cells)
    assert len({str(cell.value) for cell in made.cells}) == 4


def test_other_weights_make_other_numbers() -> None:
    made = sheet(seed=2, vary="weights")
    assert len(made.changes) == 3
    assert all(re.fullmatch(r"W_E\[\d,\d\]=-?\d", change) for change in made.changes)
    assert read_text(written(made), "key.toml").changes == made.changes


def test_cells_and_tokens_can_be_chosen() -> None:
    made = sheet(cells=[SHARE], tokens=["b", "a"])
    assert (made.tokens, [cell.name for cell in made.cells]) == (("b", "a"), [SHARE])
    with pytest.raises(ExerciseError, match="there is no step nothing"):
        sheet(cells=["nothing[0]"])
    with pytest.raises(ExerciseError, match="levels 1, 2, 3"):
        sheet(level=4)


def test_a_key_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = sheet(seed=3, decimals=4)
    path = tmp_path / "key.toml"
    path.write_text(written(made), encoding="utf-8")
    again = read_key(path)
    assert written(again) == written(made)
    assert again.decimals == 4


CHANGED = {
    "format": ('"exactformer exercise 1"', '"exactformer exercise 9"', "format is 'exactformer exercise 9'; keys of"),
    "answer": ('answer = "1/(1+e)"', 'answer = "1/(2+e)"', "exercises.0.answer is '1/(2+e)', which is not what"),
    "cell": (f'cell = "{SHARE}"', 'cell = "embed[9, 9]"', "exercises.0.cell: embed[9, 9]: there is no such entry"),
    "number": ("number = 1", "number = 2", "exercises.0.number is not 1"),
    "more": ("number = 1", "number = 1\nnumbers = 1", "exercises.0.numbers is not a field of a key"),
    "decimals": ("decimals = 3", "decimals = 0", "decimals is 0, not from 1 to 50"),
    "tokens": ('tokens = ["a", "b"]', 'tokens = ["a", "z"]', "'z'"),
    "changes": ("changes = []", 'changes = ["W_E[0,0]=x"]', "W_E"),
    "worksheet": ("[model]", "[mode]", "capstone"),
    "TOML": ("level = 2", "level = ", "is not TOML"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_key_is_refused_in_a_line(what: str) -> None:
    before, after, problem = CHANGED[what]
    text = written(sheet(cells=[SHARE], vary="cells"))
    assert text.count(before) >= 1
    with pytest.raises(ExerciseError) as refused:
        read_text(text.replace(before, after, 1), "key.toml")
    assert str(refused.value).startswith("key.toml: ")
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_worksheets_with_quotes_and_escapes_are_kept_whole() -> None:
    odd = CAPSTONE.replace('title = "', "title = '''x''' # ", 1) if "title" in CAPSTONE else CAPSTONE
    made = make_sheet(odd, "odd.toml", cells=[SHARE], vary="cells")
    assert read_text(written(made), "key.toml").worksheet == odd


def test_sheets_are_printed_without_their_answers() -> None:
    made = sheet(seed=3, level=3)
    for write in (exercises.markdown, exercises.latex, exercises.html):
        blank, told = write(made), write(made, True)
        assert len(told) > len(blank)
        assert blank.count("row") >= len(made.cells)
    answers = [answer_of(cell) for cell in made.cells]
    page = exercises.html(made)
    assert not any(f"<code>{answer}</code>" in page for answer in answers)
    assert all(f"<code>{answer}</code>" in exercises.html(made, True) for answer in answers)


def test_tokens_of_strangers_are_text_in_every_form() -> None:
    evil = "<img/src=x>"
    text = CAPSTONE.replace('vocabulary = ["a", "b", "c"]', f'vocabulary = ["{evil}", "b", "c"]').replace(
        'tokens = "a b"', f'tokens = "{evil} b"'
    )
    assert evil in text
    made = make_sheet(text, "evil.toml", cells=[SHARE], vary="cells")
    assert evil not in exercises.html(made, True)
    assert evil not in exercises.markdown(made, True)
    assert evil not in moodle.stack(made)


def test_moodle_takes_the_questions() -> None:
    made = sheet(seed=3, level=2)
    numerical = ET.fromstring(moodle.numerical(made))
    assert [question.get("type") for question in numerical] == ["numerical"] * len(made.cells)
    for question, cell in zip(numerical, made.cells, strict=True):
        text = question.findtext("answer/text")
        assert text is not None
        assert judged(text, cell).right
        assert question.findtext("answer/tolerance") == "0.001"
    stack = ET.fromstring(moodle.stack(made))
    assert {question.get("type") for question in stack} == {"stack"}
    for question in stack:
        assert question.findtext("prt/node/answertest") == "AlgEquiv"
        assert (question.findtext("input/tans"), question.findtext("prt/node/sans")) == ("ta", "ans1")
        assert "[[input:ans1]]" in (question.findtext("questiontext/text") or "")


def test_maxima_reads_the_same_number() -> None:
    from exactformer.numbers import closed_form
    from exactformer.numbers.display import simplest

    for cell in sheet(seed=3, level=3, count=6).cells:
        form = simplest(cell.value)
        assert form is not None
        assert closed_form(moodle.maxima(form).replace("%e", "e").replace("%pi", "pi")) == cell.value


def test_grades_as_data(tmp_path: Path) -> None:
    from exactformer.exercises import graded
    from exactformer.exercises.grading import rows_of

    made = sheet(cells=[SHARE, "blocks.0.ln2.std[1, 0]"], vary="cells")
    table = 'student,cell,answer\nana,1,1/(1+e)\nana,2,1.5\n=cmd(),1,"e/(e+e^2)\n=1/3"\n'
    grades = graded(made, rows_of(table, "answers.csv", made))
    document = json.loads(exercises.grades_json(grades))
    assert [student["right"] for student in document["students"]] == [2, 0]
    assert document["students"][1]["exercises"][0]["slip"] == "softmax-without-e"
    assert document["students"][1]["credit"] == 0.5
    assert document["students"][1]["exercises"][1] == {"number": 2, "cell": "blocks.0.ln2.std[1, 0]", "kind": "none"}
    assert "\n'=cmd(),1," in exercises.grades_csv(grades)
    assert "| ana | equal | equal | 2 of 2 right |" in exercises.grades_markdown(grades)
    assert grades.status == 1


def test_steps_have_short_names_as_in_trace_and_check() -> None:
    short = sheet(cells=("pattern[0, 1, 0]", "sum pattern[0, 1]", "W_Q[0, 0, 0]"), vary="cells")
    assert [cell.name for cell in short.cells] == [SHARE, "sum blocks.0.attn.pattern[0, 1]", "blocks.0.attn.W_Q[0, 0, 0]"]
    assert read_text(written(short), "key").cells[0].name == SHARE
    with pytest.raises(ExerciseError, match=r"'out' could be blocks\.0\.attn\.out, .* say which"):
        sheet(cells=("out[0, 0]",))
