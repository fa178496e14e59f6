"""Build a lesson: write its numbers and the text of its views into the file, and touch nothing else."""

from __future__ import annotations

from typing import NamedTuple

from exactformer.checking.allowing import NOTHING
from exactformer.checking.pages.found import Span
from exactformer.checking.verdicts import Verdict, judge
from exactformer.lessons.examining import Entry, Examined, examined
from exactformer.lessons.lesson import Lesson, LessonError, View, refuse
from exactformer.lessons.numerals import corrected, filled, printed, with_minus
from exactformer.lessons.reader import read
from exactformer.messages import short
from exactformer.numbers import Undecided

CLOSING = "<!-- /exactformer -->"
_FINE = (Verdict.RIGHT, Verdict.UNDECIDED)


def built(lesson: Lesson) -> str:
    """The Markdown of a lesson with every number and view written. What is right stays as it is.

    >>> text = "<!-- exactformer: use capstone -->\\n\\nIt is <!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->0.33.\\n"
    >>> print(built(read(text)).splitlines()[-1])
    It is <!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->0.27.
    >>> print(built(read(text.replace("0.33", "?"))).splitlines()[-1])
    It is <!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->1/(1+e).
    """
    return build(lesson).text


class Edit(NamedTuple):
    """What is to be written, and where; `over` is the bound number that somebody had typed there."""

    span: Span
    text: str
    over: str = ""


class Build(NamedTuple):
    """The text, the lines that tell which typed numbers are written over, and the built lesson held against its passes."""

    text: str
    changes: tuple[str, ...]
    found: Examined


def build(lesson: Lesson) -> Build:
    """
    >>> text = "<!-- exactformer: use capstone -->\\n\\nIt is <!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->0.33.\\n"
    >>> build(read(text)).changes
    ('lesson.md:3: 0.33 → 0.27',)
    """
    found = examined(lesson)
    made = sorted(edits(found, leave_allowed=True))
    text = lesson.page.edited((each.span, each.text) for each in made)
    if made:
        again = read(text, lesson.name, lesson.folder)
        found = examined(again)
        if len(again.blocks) < len(lesson.blocks) or edits(found, leave_allowed=True):
            raise LessonError([f"{lesson.name}: was not built: with its numbers written it does not read as it should"])
    changes = (f"{lesson.name}:{lesson.line(each.span[0])}: {each.over} → {each.text}" for each in made if each.over)
    return Build(text, tuple(changes), found)


def edits(found: Examined, leave_allowed: bool = False) -> list[Edit]:
    """All that is to be written; numbers of which something is allowed may be left as they are."""
    problems = [*found.problems]
    result: list[Edit] = []
    name = found.lesson.name
    for entry in found.entries:
        if leave_allowed and entry.bound.allowed != NOTHING and not entry.spot.open:
            continue
        try:
            better = better_of(entry)
        except (ValueError, Undecided) as error:
            line = entry.bound.line
            problems.append((line, f"{name}:{line}: {entry.bound.to}: {short(entry.spot.text)}: {error}"))
            continue
        if better is not None:
            result.append(Edit(entry.spot.span, better, "" if entry.spot.open else entry.spot.text))
    for row in found.rows:
        try:
            result.append(Edit(row.spot.span, f"({', '.join(filled(x, row.spot) for x in row.values)})"))
        except (ValueError, Undecided) as error:
            problems.append((row.bound.line, f"{name}:{row.bound.line}: {row.bound.to}: {error}"))
    for view, _, text in found.views:
        change = _of_view(view, text, found.lesson)
        if change is not None:
            result.append(change)
    refuse(problems)
    return result


def better_of(entry: Entry) -> str | None:
    """What should stand there; None where what stands there is right, or undecided."""
    if entry.claimed is None:
        return filled(entry.value, entry.spot)
    if judge(entry.value, entry.claimed) in _FINE:
        return None
    better = corrected(entry.value, entry.claimed, entry.spot)
    if judge(entry.value, printed(better, entry.of_tokens, entry.spot.percent)) is not Verdict.RIGHT:
        raise ValueError(f"cannot be corrected: it stands for {better}")
    return better


def region(view: View, text: str) -> str:
    """The lines of a view as they stand in the file, in a quotation with its marks."""
    if not text:
        return ""
    quote = view.prefix.rstrip()
    return "".join((f"{view.prefix}{line}" if line else quote) + "\n" for line in ["", *text.rstrip("\n").split("\n"), ""])


def is_current(view: View, text: str, lesson: Lesson) -> bool:
    if not text:
        return view.written is None or not lesson.text[slice(*view.written)].replace(">", "").strip()
    if view.written is None:
        return False
    stands = lesson.text[slice(*view.written)].replace("\r\n", "\n")
    return with_minus(stands) == with_minus(region(view, text))  # older files have hyphens


def _of_view(view: View, text: str, lesson: Lesson) -> Edit | None:
    if is_current(view, text, lesson):
        return None
    newline = "\r\n" if "\r\n" in lesson.text else "\n"
    lines = region(view, text).replace("\n", newline)
    if view.written is not None:
        return Edit(view.written, lines)
    end = view.span[1]
    return Edit((end, end), f"{newline}{lines}{view.prefix}{CLOSING}")
