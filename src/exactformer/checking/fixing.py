"""Rewrite the printed numbers that are not right, and nothing else."""

from __future__ import annotations

from pathlib import Path

from exactformer.checking.checker import check_text
from exactformer.checking.printed import read
from exactformer.checking.report import Finding, Report
from exactformer.checking.verdicts import Verdict
from exactformer.files import write_whole
from exactformer.worksheets import WorksheetError

_FINE = (Verdict.RIGHT, Verdict.UNDECIDED)


def fix_text(text: str, report: Report) -> str:
    """The text with every number that is not right as it should have been printed, with as many decimals.

    What is undecided is left alone. A number that cannot be put right (it does not exist, or -inf stands for it) is an error.

    >>> text = '[[claims]]\\noperation = "exp"\\nof = [1]  # e\\nvalues = ["2.71"]\\n'
    >>> print(fix_text(text, check_text(text)), end="")
    [[claims]]
    operation = "exp"
    of = [1]  # e
    values = ["2.72"]
    """
    fixed = text
    for finding in sorted(to_fix(report), key=lambda finding: finding.span, reverse=True):
        start, end = finding.span
        fixed = fixed[:start] + _better(text, finding, report.name) + fixed[end:]
    _verify(fixed, report)
    return fixed


def to_fix(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.verdict not in _FINE]


def _better(text: str, finding: Finding, name: str) -> str:
    start, end = finding.span
    there = text[start:end]
    try:
        read(finding.true)
        suits = finding.printed.strip() not in ("-inf", "−inf")
    except ValueError:
        suits = False
    if not suits:
        raise WorksheetError(
            f"{name}:{finding.line}: {finding.field} cannot be put right: {finding.printed} stands for {finding.true}"
        )
    return there.replace(there.strip(), finding.true)


def _verify(fixed: str, report: Report) -> None:
    """Read again: the same claims in the same order, each as it was or as it should be."""
    again = check_text(fixed, report.name)
    before = [(f.field, f.subject, f.index) for f in report.findings]
    if [(f.field, f.subject, f.index) for f in again.findings] != before or to_fix(again):
        raise WorksheetError(f"{report.name}: was not fixed: with its numbers rewritten it does not read as it should")


def rewrite(path: Path, text: str) -> None:
    """Replace a file whole or not at all. Its permissions stay."""
    target = path.resolve()
    write_whole(target, text, target.stat().st_mode & 0o777)
