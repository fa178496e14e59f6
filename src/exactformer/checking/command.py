"""The command `check`: many files, one report, one exit status."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from exactformer.checking.checker import check_text, read_source
from exactformer.checking.fixing import fix_text, rewrite, to_fix
from exactformer.checking.lessons import lessons
from exactformer.checking.report import CheckReport, as_json, counted, document, lines
from exactformer.checking.verdicts import Verdict
from exactformer.messages import Refused, printable
from exactformer.numbers import Undecided
from exactformer.worksheets import WorksheetError

BAD_INPUT, UNDECIDED = 2, 3
_GRAVEST = (BAD_INPUT, 1, UNDECIDED, 0)


class Checked(NamedTuple):
    """What is said of the files that could be checked, a line for each that could not, and the exit status."""

    report: str
    problems: tuple[str, ...]  # none in JSON, whose document holds them
    status: int


class Ways(NamedTuple):
    """How texts are read, checked and put right; lessons with views have ways of their own (`lessons/checking.py`)."""

    read: Callable[[str | os.PathLike[str]], str]
    check: Callable[[str, str], CheckReport]
    fix: Callable[[str, CheckReport], str]
    built_in: Callable[[], Sequence[str]]


def check_files(
    files: Sequence[str | os.PathLike[str]], fix: bool = False, json_format: bool = False, ways: Ways | None = None
) -> Checked:
    """Check files, or built-in lessons by name; with `fix`, rewrite what is not right. Each is checked, whatever the others are.

    The status is 2 where a file cannot be read, else 1 where a number is wrong, else 3 where one is undecided, else 0. What was
    fixed is no longer wrong.
    """
    ways = ways or Ways(read_source, check_text, fix_text, lessons)
    said: list[str] = []
    problems: list[str] = []
    reports: list[CheckReport] = []
    found: list[dict[str, Any]] = []
    statuses: list[int] = []
    for source in files:
        name = os.fspath(source)
        try:
            text = ways.read(source)
            report = ways.check(text, name)
            fixed = _fix(Path(name), text, report, ways) if fix else 0
        except (Refused, OSError, Undecided) as error:
            told, status = _problem(name, error)
            problems += told
            found.append({"file": name, "status": status, "error": told[0]} | ({"errors": told} if len(told) > 1 else {}))
            statuses.append(status)
            continue
        reports.append(report)
        status = (UNDECIDED if report.counts[Verdict.UNDECIDED] else 0) if fixed else report.status
        statuses.append(status)
        said += lines(report) + ([f"{name}: {fixed} rewritten"] if fixed else [])
        found.append(document([report])["files"][0] | ({"rewritten": fixed, "status": status} if fixed else {}))
    status = next(status for status in _GRAVEST if status in (statuses or [0]))
    if json_format:
        return Checked(as_json({"format": "exactformer check 1", "files": found}), (), status)
    if len(files) > 1:
        said.append(_together(reports, statuses))
    return Checked("".join(line + "\n" for line in said), tuple(problems), status)


def _problem(name: str, error: Exception) -> tuple[list[str], int]:
    """A line for each problem of a file that was not checked, and its status."""
    match error:
        case Undecided():
            return [f"{name}: {error}"], UNDECIDED
        case OSError():
            return [f"{name}: {error.strerror}"], BAD_INPUT
        case _:
            return [printable(line) for line in getattr(error, "problems", ())] or [str(error)], BAD_INPUT


def _fix(path: Path, text: str, report: CheckReport, ways: Ways) -> int:
    """How many numbers and tokens were rewritten in the file."""
    wanted = len(to_fix(report))
    if wanted:
        if report.name in ways.built_in():
            raise WorksheetError(f"{report.name}: is a built-in lesson, which cannot be rewritten")
        rewrite(path, ways.fix(text, report))
    return wanted


def _together(reports: Sequence[CheckReport], statuses: Sequence[int]) -> str:
    findings = [finding for report in reports for finding in report.findings]
    fine = statuses.count(0)
    return f"{len(statuses)} files, {counted(findings)}: {fine} fine, {len(statuses) - fine} not"
