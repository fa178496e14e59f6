"""The answers of a class, graded: a table with the columns student, cell and answer against the key of a sheet."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from exactformer.exercises.cell import ExerciseError
from exactformer.exercises.judging import Judgement, Kind, judged
from exactformer.exercises.sheet import Sheet
from exactformer.messages import few, quoted, short
from exactformer.reading import decoded, read_regular

LARGEST = 8 * 2**20  # bytes of a table of answers
COLUMNS = ("student", "cell", "answer")
_LONGEST_NAME = 200


class Given(NamedTuple):
    """One row: whose answer it is, to which exercise (counted from 0), and where it stands."""

    student: str
    exercise: int
    answer: str
    line: int


@dataclass(frozen=True)
class Graded:
    """One student: for each exercise the judgement, or None where there is no answer."""

    student: str
    judgements: tuple[Judgement | None, ...]

    @property
    def right(self) -> int:
        return sum(each is not None and each.right for each in self.judgements)

    @property
    def credit(self) -> float:
        return sum(each.credit for each in self.judgements if each is not None)


@dataclass(frozen=True)
class Grades:
    sheet: Sheet
    students: tuple[Graded, ...]

    @property
    def status(self) -> int:
        """0 all right, 1 an answer is wrong or missing, 3 undecided and none wrong."""
        kinds = {None if each is None else each.kind for student in self.students for each in student.judgements}
        wrong = kinds & {None, Kind.WRONG, Kind.FEW, Kind.UNREADABLE}
        return 1 if wrong else 3 if Kind.UNDECIDED in kinds else 0


def read_answers(path: Path | str, sheet: Sheet) -> list[Given]:
    """The rows of a table of answers; one that is not as it should be is named by its line."""
    content = read_regular(Path(path), LARGEST, "a table of answers", ExerciseError)
    return rows_of(decoded(content, path, ExerciseError).removeprefix("\ufeff"), str(path), sheet)


def rows_of(text: str, name: str, sheet: Sheet) -> list[Given]:
    cells = {_bare(cell.name): n for n, cell in enumerate(sheet.cells)} | {str(n + 1): n for n in range(len(sheet.cells))}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: dict[tuple[str, int], Given] = {}
    places: list[int] = []
    line = 1
    try:
        for row in reader:
            if places and row:
                given = _given(row, places, cells, name, line)
                if (before := found.get(given[:2])) is not None:
                    raise ExerciseError(
                        name, f"line {line}", f"{quoted(given.student)} has answered that in line {before.line} already"
                    )
                found[given[:2]] = given
            elif row:
                places = _header(row, name)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ExerciseError(name, f"line {line}", f"is not a row of a CSV file: {error}") from None
    if not places:
        raise ExerciseError(name, f"is empty: its first line is {','.join(COLUMNS)}")
    return list(found.values())


def _header(row: list[str], name: str) -> list[int]:
    columns = [column.strip().lower() for column in row]
    if sorted(columns) != sorted(COLUMNS):
        raise ExerciseError(name, "line 1", f"has the columns {few(columns)}: they are to be {', '.join(COLUMNS)}")
    return [columns.index(column) for column in COLUMNS]


def _given(row: list[str], places: list[int], cells: dict[str, int], name: str, line: int) -> Given:
    where = (name, f"line {line}")
    if len(row) != len(COLUMNS):
        raise ExerciseError(*where, f"has {len(row)} column{'s' * (len(row) != 1)}, not {len(COLUMNS)}")
    student, cell, answer = (row[place] for place in places)
    if not student.strip() or len(student) > _LONGEST_NAME:
        raise ExerciseError(*where, "has no student" if not student.strip() else "has a name that is too long")
    if _bare(cell) not in cells:
        known = f"there are 1 to {len(cells) // 2}, or their names"
        raise ExerciseError(*where, f"{quoted(cell)} is not an exercise of the key: {known}")
    return Given(student.strip(), cells[_bare(cell)], answer, line)


def _bare(cell: str) -> str:
    return "".join(cell.split())


def graded(sheet: Sheet, given: list[Given]) -> Grades:
    """Every answer judged, student by student in the order of the table."""
    answers: dict[str, dict[int, str]] = {}
    for row in given:
        answers.setdefault(row.student, {})[row.exercise] = row.answer
    known: dict[tuple[str, int], Judgement] = {}  # many students give the same answer

    def judgement(answer: str | None, n: int) -> Judgement | None:
        if answer is None or not answer.strip():
            return None
        if (answer, n) not in known:
            known[answer, n] = judged(answer, sheet.cells[n], sheet.decimals)
        return known[answer, n]

    return Grades(
        sheet,
        tuple(
            Graded(student, tuple(judgement(own.get(n), n) for n in range(len(sheet.cells)))) for student, own in answers.items()
        ),
    )


def shown_answer(judgement: Judgement | None) -> str:
    """What was answered, on one line."""
    if judgement is None:
        return "no answer"
    return short(" = ".join(line for line in (part.strip() for part in re.split(r"[=\n]", judgement.answer)) if line))
