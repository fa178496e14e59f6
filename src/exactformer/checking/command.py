"""The command `check`: many files, one report, one exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from exactformer.checking import baseline as known_slips
from exactformer.checking.baseline import Baseline
from exactformer.checking.checker import check_text, read_source
from exactformer.checking.fixing import fix_text, rewrite, to_fix
from exactformer.checking.formats import github, remarks, sarif
from exactformer.checking.lessons import lessons
from exactformer.checking.report import CheckReport, as_json, counted, document, lines
from exactformer.checking.sources import STANDARD_INPUT, Source, SourceError, sources
from exactformer.checking.verdicts import Verdict
from exactformer.messages import Refused, printable
from exactformer.numbers import Undecided
from exactformer.painting import Paint, judged, plain
from exactformer.reading import decoded
from exactformer.worksheets import WorksheetError
from exactformer.worksheets.worksheet import LARGEST

BAD_INPUT, UNDECIDED = 2, 3
_GRAVEST = (BAD_INPUT, 1, UNDECIDED, 0)
Form = Literal["text", "json", "sarif", "github"]


class Checked(NamedTuple):
    """What is said of the files that could be checked, a line for each that could not, and the exit status."""

    report: str
    problems: tuple[str, ...]  # none where the report holds them
    status: int


class Ways(NamedTuple):
    """How texts are read, checked and put right; lessons with views have ways of their own (`lessons/checking.py`)."""

    read: Callable[[str | os.PathLike[str]], str]
    check: Callable[[str, str], CheckReport]
    fix: Callable[[str, CheckReport], str]
    built_in: Callable[[], Sequence[str]]


class Asked(NamedTuple):
    """What is asked of a check: `strict`, truncated numbers and files without claims fail; `baseline`, a file of known slips;
    `write_baseline`, where to write what is not right as such a file; `pass_over`, files that have nothing of ours say nothing."""

    fix: bool = False
    form: Form = "text"
    strict: bool = False
    baseline: Path | None = None
    write_baseline: Path | None = None
    pass_over: bool = False
    paint: Paint = plain


def check_files(
    files: Sequence[str | os.PathLike[str]],
    fix: bool = False,
    form: Form = "text",
    strict: bool = False,
    baseline: Path | None = None,
    write_baseline: Path | None = None,
    pass_over: bool = False,
    paint: Paint = plain,
    ways: Ways | None = None,
) -> Checked:
    """Check files, folders, patterns, or built-in lessons by name; with `fix`, rewrite what is not right. Each file is checked,
    whatever the others are.

    The status is 2 where a file cannot be read, else 1 where a number is wrong, else 3 where one is undecided, else 0. What was
    fixed is no longer wrong.
    """
    asked = Asked(fix, form, strict, baseline, write_baseline, pass_over, paint)
    return _Check(asked, ways or Ways(read_source, check_text, fix_text, lessons)).of(files)


@dataclass
class _Check:
    asked: Asked
    ways: Ways
    said: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)  # a file, and a line about it
    reports: list[CheckReport] = field(default_factory=list)
    found: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def of(self, files: Sequence[str | os.PathLike[str]]) -> Checked:
        known = None if self.asked.baseline is None else Baseline(self.asked.baseline)
        for source in sources(files, self.ways.built_in()):
            found = isinstance(source, Source) and self.asked.pass_over and source.name not in self.ways.built_in()
            self.one(Source(source.name, named=False) if found and isinstance(source, Source) else source, known)
        if known is not None and known.unused:
            self.said.append(f"{known.path}: {known.unused} known slip{'s are' if known.unused > 1 else ' is'} no longer there")
        if self.asked.write_baseline is not None:
            count = known_slips.write(self.asked.write_baseline, self.reports)
            self.said.append(f"{self.asked.write_baseline}: {count} written down as known")
        return self.result(len(files))

    def one(self, source: Source | SourceError, known: Baseline | None) -> None:
        name = source.name if isinstance(source, Source) else ""
        try:
            if isinstance(source, SourceError):
                raise source
            text = _standard_input() if name == STANDARD_INPUT else self.ways.read(name)
            if not source.concerns(text):
                return
            report = self.ways.check(text, name)
            if not report.findings and not source.named:
                return
            report = report if known is None else known.excused(report)
            fixed = self.fixed(name, text, report) if self.asked.fix else 0
        except (Refused, OSError, Undecided) as error:
            faults, status = _problem(name, error)
            self.problems += [(name, line) for line in faults]
            self.found.append(
                {"file": name, "status": status, "error": faults[0]} | ({"errors": faults} if len(faults) > 1 else {})
            )
            self.statuses.append(status)
            return
        self.reports.append(report)
        undecided = UNDECIDED if report.counts[Verdict.UNDECIDED] else 0
        status = 0 if self.asked.write_baseline is not None else undecided if fixed else report.status_when(self.asked.strict)
        self.statuses.append(status)
        self.said += lines(report, self.asked.paint) + ([f"{name}: {fixed} rewritten"] if fixed else [])
        self.found.append(document([report])["files"][0] | {"status": status} | ({"rewritten": fixed} if fixed else {}))

    def fixed(self, name: str, text: str, report: CheckReport) -> int:
        """How many numbers and tokens were rewritten in the file."""
        wanted = len(to_fix(report))
        if wanted:
            if name in self.ways.built_in():
                raise WorksheetError(f"{name}: is a built-in lesson, which cannot be rewritten")
            if name == STANDARD_INPUT:
                raise WorksheetError(f"{name}: cannot be rewritten")
            rewrite(Path(name), self.ways.fix(text, report))
        return wanted

    def result(self, asked_for: int) -> Checked:
        status = next(status for status in _GRAVEST if status in (self.statuses or [0]))
        match self.asked.form:
            case "json":
                return Checked(as_json({"format": "exactformer check 1", "files": self.found}), (), status)
            case "sarif" | "github":
                form = sarif if self.asked.form == "sarif" else github
                return Checked(form(remarks(self.reports, self.problems, self.asked.strict)), (), status)
        if asked_for > 1 or len(self.statuses) > 1:
            verdict = {0: True, UNDECIDED: None}.get(status, False)
            self.said.append(judged(_together(self.reports, self.statuses), verdict, self.asked.paint))
        elif not self.statuses:
            self.said.append("nothing to check")
        return Checked("".join(line + "\n" for line in self.said), tuple(line for _, line in self.problems), status)


def _standard_input() -> str:
    content = b"" if sys.stdin is None else sys.stdin.buffer.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise WorksheetError(f"{STANDARD_INPUT}: has more than {LARGEST:,} bytes")
    return decoded(content, STANDARD_INPUT, WorksheetError)


def _problem(name: str, error: Exception) -> tuple[list[str], int]:
    """A line for each problem of a file that was not checked, and its status."""
    match error:
        case Undecided():
            return [f"{name}: {error}"], UNDECIDED
        case OSError():
            return [f"{name}: {error.strerror}"], BAD_INPUT
        case _:
            return [printable(line) for line in getattr(error, "problems", ())] or [str(error)], BAD_INPUT


def _together(reports: Sequence[CheckReport], statuses: Sequence[int]) -> str:
    findings = [finding for report in reports for finding in report.findings]
    fine = statuses.count(0)
    return f"{len(statuses)} files, {counted(findings)}: {fine} fine, {len(statuses) - fine} not"
