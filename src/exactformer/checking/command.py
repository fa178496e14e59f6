"""The command `check`: many files, one report, one exit status."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exactformer.checking.checker import check_text, read_source
from exactformer.checking.fixing import fix_text, rewrite, to_fix
from exactformer.checking.lessons import lessons
from exactformer.checking.report import Report, as_json, document, lines
from exactformer.checking.verdicts import Verdict
from exactformer.worksheets import WorksheetError

BAD_INPUT, UNDECIDED = 2, 3
_GRAVEST = (BAD_INPUT, 1, UNDECIDED, 0)


def run(files: Sequence[str | os.PathLike[str]], fix: bool = False, json_format: bool = False) -> tuple[str, int]:
    """Check files, or built-in lessons by name; with `fix`, rewrite the numbers that are not right.

    The status is 2 where a file cannot be read, else 1 where a number is wrong, else 3 where one is undecided, else 0. What was
    fixed is no longer wrong.
    """
    said: list[str] = []
    reports: list[Report] = []
    found: list[dict[str, Any]] = []
    statuses: list[int] = []
    for source in files:
        name = os.fspath(source)
        try:
            text = read_source(source)
            report = check_text(text, name)
            fixed = _fix(Path(name), text, report) if fix else 0
        except (WorksheetError, OSError) as error:
            problem = str(error) if isinstance(error, WorksheetError) else f"{name}: {error.strerror}"
            said.append(problem)
            found.append({"file": name, "status": BAD_INPUT, "error": problem})
            statuses.append(BAD_INPUT)
            continue
        reports.append(report)
        status = (UNDECIDED if report.counts[Verdict.UNDECIDED] else 0) if fixed else report.status
        statuses.append(status)
        said += lines(report) + ([f"{name}: {fixed} rewritten"] if fixed else [])
        found.append(document([report])["files"][0] | ({"rewritten": fixed, "status": status} if fixed else {}))
    status = next(status for status in _GRAVEST if status in (statuses or [0]))
    if json_format:
        return as_json({"format": "exactformer check 1", "files": found}), status
    if len(files) > 1:
        said.append(_together(reports, statuses))
    return "".join(line + "\n" for line in said), status


def _fix(path: Path, text: str, report: Report) -> int:
    """How many numbers were rewritten in the file."""
    wanted = len(to_fix(report))
    if wanted:
        if report.name in lessons():
            raise WorksheetError(f"{report.name}: is a built-in lesson, which is not rewritten")
        rewrite(path, fix_text(text, report))
    return wanted


def _together(reports: Sequence[Report], statuses: Sequence[int]) -> str:
    numbers = sum(len(report.findings) for report in reports)
    fine = statuses.count(0)
    return f"{len(statuses)} files, {numbers} numbers: {fine} fine, {len(statuses) - fine} not"
