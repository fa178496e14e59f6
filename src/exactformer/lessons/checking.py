"""Lessons for `exactformer check`: bound numbers, claims and views become findings of the same report as claims of worksheets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from exactformer.checking import command
from exactformer.checking import fix_text as fix_worksheets
from exactformer.checking import lessons as worksheet_lessons
from exactformer.checking.checker import check_page, finding, read_source
from exactformer.checking.claims import PrintedClaim
from exactformer.checking.command import Checked, Form, Ways
from exactformer.checking.fixing import better, to_fix
from exactformer.checking.pages.found import Span
from exactformer.checking.pages.page import Page
from exactformer.checking.report import CheckReport, Finding
from exactformer.checking.report import lines as report_lines
from exactformer.checking.sources import STANDARD_INPUT
from exactformer.checking.verdicts import Verdict
from exactformer.lessons.building import edits, is_current
from exactformer.lessons.built_in import lesson_text, lessons
from exactformer.lessons.examining import Entry, Examined, examined
from exactformer.lessons.lesson import Lesson, LessonError, refuse
from exactformer.lessons.numerals import corrected
from exactformer.lessons.reader import is_lesson, partly_read, read_page
from exactformer.messages import short
from exactformer.numbers import Undecided


def check_text(text: str, name: str = "worksheet.toml", folder: Path | None = None) -> CheckReport:
    """Judge every claim of a worksheet or page, and every bound number, claim and view of a lesson.

    >>> text = "<!-- exactformer: use capstone -->\\nIt is <!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->0.25.\\n"
    >>> report = check_text(text, "lesson.md")
    >>> report.first_wrong.place, report.first_wrong.true
    ('blocks.0.attn.pattern[0, 1, 0]', '0.27')
    """
    page = Page(text, name)
    return report(partly_read(page, folder)) if is_lesson(page) else check_page(page)


def fix_text(text: str, found: CheckReport, folder: Path | None = None) -> str:
    """The text with what is not right put right: claims of worksheets, bound numbers, the text of views."""
    page = Page(text, found.name)
    if not is_lesson(page):
        return fix_worksheets(text, found)
    claims = [f for f in found.findings if f.kind == "claim" and f.bad]
    refuse((f.line, f"{found.name}:{f.line}: a claim cannot be corrected: {f.subject}: {f.true}") for f in claims)
    wanted = to_fix(found)
    mended = [(f.span, better(page.text, f, found.name)) for f in wanted if not f.field.startswith(("bound", "view"))]
    excused = [f.span for f in found.findings if f.excused]
    written = [edit for edit in edits(examined(read_page(page, folder))) if edit.span not in excused]
    fixed = page.edited([*mended, *((edit.span, edit.text) for edit in written)])
    if len(to_fix(check_text(fixed, found.name, folder))) > len(excused):
        raise LessonError([f"{found.name}: was not fixed: with its numbers rewritten it does not read as it should"])
    return fixed


def check_files(files: Sequence[str | os.PathLike[str]], fix: bool = False, form: Form = "text", **asked: Any) -> Checked:
    """`checking.check_files` of worksheets, pages and lessons; worksheets that a lesson names are read from its folder."""

    def folder(name: str) -> Path | None:
        return None if name in lessons() else Path() if name == STANDARD_INPUT else Path(name).parent

    ways = Ways(
        read=lambda source: lesson_text(os.fspath(source)) if os.fspath(source) in lessons() else read_source(source, lessons()),
        check=lambda text, name: check_text(text, name, folder(name)),
        fix=lambda text, found: fix_text(text, found, folder(found.name)),
        built_in=lambda: (*lessons(), *worksheet_lessons()),
    )
    return command.check_files(files, fix, form, ways=ways, **asked)


def report(lesson: Lesson) -> CheckReport:
    return reported(examined(lesson))


def reported(found: Examined) -> CheckReport:
    refuse(found.problems)
    findings = [*_bound(found), *_rows(found), *_claims(found), *_views(found), *_printed(found)]
    return CheckReport(found.lesson.name, tuple(sorted(findings, key=lambda f: f.span)))


def problems(found: CheckReport) -> list[str]:
    """A line for all that is not right in a lesson."""
    return report_lines(found)[:-1]  # without the summary


def _bound(found: Examined) -> Iterator[Finding]:
    claims: list[tuple[Entry, PrintedClaim]] = []
    for entry in found.entries:
        if entry.claimed is None:
            yield _unwritten(found, entry.bound.line, str(entry.bound.to), entry.spot.span)
            continue
        order, place = entry.bound.span[0], ("bound", entry.bound.line, "number")
        claim = PrintedClaim(entry.node, entry.index, entry.claimed, place, order, entry.bound.allowed)
        entry.record.nodes[entry.node].print(entry.index, order, claim.printed)
        claims.append((entry, claim))
    for entry, claim in claims:
        one = finding(found.lesson.page, entry.record, claim, entry.spot.span)
        yield replace(one, true=_true(entry, claim, one)) if one.bad else one


def _true(entry: Entry, claim: PrintedClaim, one: Finding) -> str:
    try:
        return corrected(entry.value, claim.printed, entry.spot)
    except (ValueError, Undecided):
        return one.true


def _rows(found: Examined) -> Iterator[Finding]:
    for row in found.rows:
        yield _unwritten(found, row.bound.line, str(row.bound.to), row.spot.span)


def _unwritten(found: Examined, line: int, subject: str, span: Span) -> Finding:
    said = "is not written yet: build the lesson (exactformer lesson build)"
    return Finding(line, "bound", span, subject, (), "?", "view", Verdict.WRONG, said, said, False)


def _claims(found: Examined) -> Iterator[Finding]:
    for view, judged in found.claims:
        said = {Verdict.RIGHT: "holds", Verdict.WRONG: "is wrong", Verdict.UNDECIDED: "is undecided"}[judged.verdict]
        text = f"{said}: {judged.why}"
        yield Finding(
            view.line, "claim", view.span, short(view.claim, 120), (), view.claim, "claim", judged.verdict, text, text, False
        )


def _views(found: Examined) -> Iterator[Finding]:
    for view, _, text in found.views:
        if view.kind == "exercise" and is_current(view, text, found.lesson):
            continue
        current = is_current(view, text, found.lesson)
        said = "is current" if current else "what stands below it is not current: build the lesson (exactformer lesson build)"
        verdict = Verdict.RIGHT if current else Verdict.WRONG
        yield Finding(view.line, "view", view.span, f"{view.kind} {view.to}", (), "", "view", verdict, said, said, False)


def _printed(found: Examined) -> Iterator[Finding]:
    for claim in found.printed:
        yield finding(found.lesson.page, *claim)
