"""Build a lesson: write its numbers and the text of its views into the file, and touch nothing else."""

from __future__ import annotations

from exactformer.checking.verdicts import Verdict, judge
from exactformer.lessons.examining import Entry, Examined, examined
from exactformer.lessons.lesson import Lesson, LessonError, Span, View
from exactformer.lessons.numerals import corrected, printed, written
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
    found = examined(lesson)
    text = lesson.text
    for (start, end), better in sorted(edits(found), reverse=True):
        text = text[:start] + better + text[end:]
    if text != lesson.text:
        again = read(text, lesson.name, lesson.folder)
        if len(again.blocks) < len(lesson.blocks) or edits(examined(again)):
            raise LessonError([f"{lesson.name}: was not built: with its numbers written it does not read as it should"])
    return text


def edits(found: Examined) -> list[tuple[Span, str]]:
    """What is to be written, and where."""
    problems: list[str] = []
    result: list[tuple[Span, str]] = []
    name = found.lesson.name
    for entry in found.entries:
        try:
            better = better_of(entry)
        except (ValueError, Undecided) as error:
            problems.append(f"{name}:{entry.bound.line}: {entry.bound.to}: {short(entry.spot.text)}: {error}")
            continue
        if better is not None:
            result.append((entry.spot.span, better))
    for row in found.rows:
        try:
            result.append((row.spot.span, f"({', '.join(written(x, row.spot.style) for x in row.values)})"))
        except (ValueError, Undecided) as error:
            problems.append(f"{name}:{row.bound.line}: {row.bound.to}: {error}")
    for view, _, text in found.views:
        change = _of_view(view, text, found.lesson)
        if change is not None:
            result.append(change)
    if problems:
        raise LessonError(problems)
    return result


def better_of(entry: Entry) -> str | None:
    """What should stand there; None where what stands there is right, or undecided."""
    if entry.spot.open:
        return written(entry.value, entry.spot.style)
    claim = printed(entry.spot.text, entry.of_tokens)
    if judge(entry.value, claim) in _FINE:
        return None
    better = corrected(entry.value, claim, entry.spot.style)
    if judge(entry.value, printed(better, entry.of_tokens)) is not Verdict.RIGHT:
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
    return view.written is not None and lesson.text[slice(*view.written)].replace("\r\n", "\n") == region(view, text)


def _of_view(view: View, text: str, lesson: Lesson) -> tuple[Span, str] | None:
    if is_current(view, text, lesson):
        return None
    newline = "\r\n" if "\r\n" in lesson.text else "\n"
    lines = region(view, text).replace("\n", newline)
    if view.written is not None:
        return view.written, lines
    end = view.span[1]
    return (end, end), f"{newline}{lines}{view.prefix}{CLOSING}"
