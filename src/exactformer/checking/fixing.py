"""Rewrite the printed numbers and tokens that are not right, and nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path

from exactformer.checking.checker import check_text
from exactformer.checking.pages.page import Page
from exactformer.checking.printed import read_any
from exactformer.checking.report import CheckReport, Finding
from exactformer.checking.verdicts import Verdict
from exactformer.files import write_whole
from exactformer.worksheets import WorksheetError

_FINE = (Verdict.RIGHT, Verdict.UNDECIDED)


def fix_text(text: str, report: CheckReport) -> str:
    """The text with every number and token that is not right as it should have been printed, numbers with as many decimals.

    What is undecided is left alone. What cannot be corrected (it does not exist, -inf stands for it, or it is a token that cannot
    stand between the quotes that are there) is an error.

    >>> text = '[[claims]]\\noperation = "exp"\\nof = [1]  # e\\nvalues = ["2.71"]\\n'
    >>> print(fix_text(text, check_text(text)), end="")
    [[claims]]
    operation = "exp"
    of = [1]  # e
    values = ["2.72"]
    """
    page = Page(text, report.name)
    fixed = page.edited((finding.span, better(page.text, finding, report.name)) for finding in to_fix(report))
    _verify(fixed, report)
    return fixed


def to_fix(report: CheckReport) -> list[Finding]:
    return [finding for finding in report.findings if finding.verdict not in _FINE and not finding.excused]


def better(text: str, finding: Finding, name: str) -> str:
    """What should stand in the place of a claim; an error where nothing can."""
    start, end = finding.span
    there = text[start:end]
    if finding.kind == "number":
        suits = _is_number(finding.true) and read_any(finding.printed).value is not None
    else:
        suits = finding.kind == "token" and _stands_between(text[start - 1], finding.true)
    if not suits:
        printed = finding.printed if finding.kind == "number" else repr(finding.printed)
        true = repr(finding.true) if finding.kind == "token" else finding.true
        raise WorksheetError(f"{name}:{finding.line}: {finding.field} cannot be corrected: {printed} stands for {true}")
    return there.replace(there.strip(), finding.true) if finding.kind == "number" else finding.true


def _is_number(text: str) -> bool:
    try:
        read_any(text)
    except ValueError:
        return False
    return True


def _stands_between(quote: str, token: str) -> bool:
    """Is the token, put plainly between such quotes, read as itself? One with quotes or control characters may not be."""
    try:
        return tomllib.loads(f"token = {quote}{token}{quote}") == {"token": token}
    except tomllib.TOMLDecodeError:
        return False


def _verify(fixed: str, report: CheckReport) -> None:
    """Read again: the same claims in the same order, each as it was or as it should be."""
    again = check_text(fixed, report.name)
    before = [(f.field, f.subject, f.index) for f in report.findings]
    left = len([f for f in report.findings if f.excused])
    if [(f.field, f.subject, f.index) for f in again.findings] != before or len(to_fix(again)) > left:
        raise WorksheetError(f"{report.name}: was not fixed: with its numbers rewritten it does not read as it should")


def rewrite(path: Path, text: str) -> None:
    """Replace a file whole or not at all. Its permissions stay."""
    target = path.resolve()
    write_whole(target, text, target.stat().st_mode & 0o777)
