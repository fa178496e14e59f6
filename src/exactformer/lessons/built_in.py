"""The lessons that come with the program: Markdown files, a folder for each language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from exactformer.checking.pages.page import Page
from exactformer.lessons.languages import ENGLISH, languages
from exactformer.lessons.lesson import Lesson, LessonError, refuse
from exactformer.lessons.reader import LARGEST, partly_read, read
from exactformer.messages import quoted
from exactformer.reading import decoded, read_regular

_ORDER = (
    "attention-exactly", "transformer-by-hand", "four-tokens", "induction-heads", "gpt-from-text", "llama-by-hand",
    "what-floats-do",
)  # fmt: skip


def lessons(language: str = ENGLISH) -> tuple[str, ...]:
    """The names of the built-in lessons in a language, in the order in which they are read."""
    folder = files("exactformer.lessons") / language
    names = [entry.name[:-3] for entry in folder.iterdir() if entry.name.endswith(".md")] if folder.is_dir() else []
    return tuple(sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)))


def lesson_text(name: str, language: str = ENGLISH) -> str:
    if name not in lessons(language):
        raise LessonError([f"{quoted(name)}: there is no built-in lesson of that name ({', '.join(lessons(language))})"])
    return (files("exactformer.lessons") / language / f"{name}.md").read_text(encoding="utf-8")


@lru_cache(64)
def built_in(name: str, language: str = ENGLISH) -> Lesson:
    """A built-in lesson; in English where it is not translated."""
    if language not in languages():
        raise LessonError([f"there are no words of the language {quoted(language)} (there are {', '.join(languages())})"])
    found = language if name in lessons(language) else ENGLISH
    return read(lesson_text(name, found), f"{name}.md")


def translations(name: str) -> tuple[str, ...]:
    return tuple(language for language in languages() if name in lessons(language))


def open_lesson(source: str) -> Lesson:
    """A lesson by its path, or a built-in one by its name."""
    if source in lessons():
        return built_in(source)
    return read_lesson(Path(source))


def read_lesson(path: Path) -> Lesson:
    lesson = partly_read_lesson(path)
    refuse(lesson.problems)
    return lesson


def partly_read_lesson(path: Path) -> Lesson:
    """As far as it can be read (`reader.partly_read`)."""
    known = str(path) in lessons()
    absent = f"there is no such file, nor a built-in lesson of that name ({', '.join(lessons())})"
    absent = "there is no such file, and the built-in lesson of that name is built already" if known else absent
    content = read_regular(path, 4 * LARGEST, "a lesson", _Refusal, absent=absent)
    return partly_read(Page(decoded(content, path, _Refusal), str(path)), path.parent)


class _Refusal(LessonError):
    def __init__(self, *parts: object) -> None:
        super().__init__([": ".join(map(str, parts))])


def neighbours(name: str, language: str = ENGLISH) -> tuple[str | None, str | None]:
    """The lesson before and the one after: what the lesson itself names as next, else the order of the list."""
    names: Sequence[str] = lessons()
    wanted = built_in(name, language).next
    after = wanted if wanted in names else _beside(names, name, 1)
    before = next((other for other in names if built_in(other).next == name), None) or _beside(names, name, -1)
    return before, after


def _beside(names: Sequence[str], name: str, step: int) -> str | None:
    n = names.index(name) + step
    return names[n] if 0 <= n < len(names) else None
