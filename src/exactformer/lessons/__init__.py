"""Lessons: Markdown with numbers, tables and views that are bound to a pass. docs/lessons.md is the tutorial."""

from typing import Any

from exactformer.lessons.building import built
from exactformer.lessons.built_in import built_in, lessons, open_lesson
from exactformer.lessons.checking import check_files, check_text, fix_text
from exactformer.lessons.lesson import Bound, Lesson, LessonError, Prose, Use, View
from exactformer.lessons.reader import read

__all__ = [
    "Bound", "Lesson", "LessonError", "Prose", "Use", "View", "built", "built_in", "check_files", "check_text", "fix_text",
    "lessons", "open_lesson", "page", "read",
]  # fmt: skip


def page(lesson: Lesson) -> dict[str, Any]:
    """A lesson as plain data for the page and the site; needs the extra `web`, which turns Markdown into a tree."""
    from exactformer.lessons import paging

    return paging.page(lesson)
