"""Lessons: Markdown with numbers, tables and views that are bound to a pass. docs/lessons.md is the tutorial."""

from typing import Any

from exactformer.lessons.building import built
from exactformer.lessons.built_in import built_in, open_lesson
from exactformer.lessons.built_in import lessons as lessons
from exactformer.lessons.checking import check_files as check_files
from exactformer.lessons.checking import check_text as check_text
from exactformer.lessons.checking import fix_text as fix_text
from exactformer.lessons.lesson import Bound, Lesson, LessonError, Prose, Use, View
from exactformer.lessons.reader import read

# check_text, fix_text, check_files and lessons are there too, but not exported: those of `checking` have these names
__all__ = [
    "Bound", "Lesson", "LessonError", "Prose", "Use", "View", "built", "built_in", "open_lesson", "page", "read",
]  # fmt: skip


def page(lesson: Lesson) -> dict[str, Any]:
    """A lesson as plain data for the page and the site; needs the extra `web`, which turns Markdown into a tree."""
    from exactformer.lessons import paging

    return paging.page(lesson)
