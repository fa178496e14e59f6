"""Exercises whose answers are checked exactly: cells of a pass, the verdict on what is typed, sheets, keys and grades."""

from exactformer.exercises.asking import Exercise, exercise
from exactformer.exercises.cell import Cell, ExerciseError, find_cell
from exactformer.exercises.grading import Grades, graded, read_answers
from exactformer.exercises.judging import Judgement, Kind, judged
from exactformer.exercises.key import read_key
from exactformer.exercises.sheet import Sheet, make_sheet

__all__ = [
    "Cell", "Exercise", "ExerciseError", "Grades", "Judgement", "Kind", "Sheet", "exercise", "find_cell", "graded", "judged",
    "make_sheet", "read_answers", "read_key",
]  # fmt: skip
