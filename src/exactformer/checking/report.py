"""What a check found, as plain data, as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from exactformer.checking.pages.found import Span
from exactformer.checking.pages.notebook import CellLine
from exactformer.checking.verdicts import Verdict, short
from exactformer.messages import listed
from exactformer.painting import Paint, judged, plain
from exactformer.showing import Shown

BAD = (Verdict.WRONG, Verdict.LAST_DIGIT)


@dataclass(frozen=True)
class Finding:
    """One printed number or token, and what is to be said of it."""

    line: int
    field: str  # claims.0.values[1][0]
    span: Span  # its place in the text
    subject: str  # the step, or the name of an operation
    index: tuple[int, ...]
    printed: str
    kind: Literal["number", "token", "no token", "claim", "view"]  # "no token": one is claimed where there is none
    verdict: Verdict
    true: str  # as it should have been printed
    more: str  # with two more decimals, where it is a number
    carried_on: bool  # does it follow from the printed numbers before it?
    hint: str = ""  # what probably went wrong, where exactly this number comes of it
    excused: str = ""  # why it does not fail though it is not right: it is known, or its author allows it

    @property
    def right(self) -> bool:
        return self.verdict is Verdict.RIGHT

    @property
    def bad(self) -> bool:
        return self.verdict in BAD and not self.excused

    @property
    def place(self) -> str:
        """The entry; of the claims and views of a lesson, what they say."""
        return self.subject + (f"[{', '.join(map(str, self.index))}]" if self.index else "")


@dataclass(frozen=True)
class CheckReport(Shown):
    name: str
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return f"<check of {short(self.name)}: {_summary(self)}>"

    @property
    def counts(self) -> dict[Verdict, int]:
        found = Counter(finding.verdict for finding in self.findings)
        return {verdict: found[verdict] for verdict in Verdict}

    @property
    def first_wrong(self) -> Finding | None:
        """The first number, in the order of the page, that is wrong or off in its last digit."""
        return next((finding for finding in self.findings if finding.bad), None)

    @property
    def slips(self) -> tuple[Finding, ...]:
        """Wrong numbers that do not follow from the printed numbers before them."""
        return tuple(finding for finding in self.findings if finding.bad and not finding.carried_on)

    @property
    def status(self) -> int:
        """0 all right (or cut off instead of rounded), 1 something is wrong, 3 something is undecided."""
        return 1 if self.first_wrong else 3 if self.counts[Verdict.UNDECIDED] else 0

    def status_when(self, strict: bool) -> int:
        """Strictly, what is cut off fails as well, and so does a file that claims nothing."""
        cut = any(finding.verdict is Verdict.TRUNCATED and not finding.excused for finding in self.findings)
        return 1 if strict and (cut or not self.findings) else self.status


def lines(report: CheckReport, paint: Paint = plain) -> list[str]:
    """One line for each number or token that is not right, then a summary."""
    found = [
        judged(f"{report.name}:{f.line}: {f.place}: {sentence(f)}", False if f.bad else None, paint)
        for f in report.findings
        if not f.right and not f.excused
    ]
    verdict = {0: True if report.findings else None, 1: False}.get(report.status)
    return [*found, judged(f"{report.name}: {_summary(report)}", verdict, paint)]


def sentence(finding: Finding) -> str:
    if finding.kind in ("claim", "view"):
        return finding.true
    said = f"{short(finding.printed if finding.kind == 'number' else repr(finding.printed))} is {finding.verdict}"
    match finding.verdict:
        case Verdict.UNDECIDED:
            return f"{said}: {short(finding.true)}"
        case Verdict.TRUNCATED:
            return f"{said}: {_digits(finding)} is cut off, not rounded"
        case _:
            why = "follows from the printed numbers before it" if finding.carried_on else "a new error"
            if finding.hint:
                why = finding.hint if finding.hint.startswith("a float") else f"{why}: perhaps {finding.hint}"
            return f"{said}: {_digits(finding)}; {why}"


def _digits(finding: Finding) -> str:
    if finding.kind == "token":
        return short(repr(finding.true))
    return short(finding.true) + (f" ({short(finding.more)})" if finding.more != finding.true else "")


def _summary(report: CheckReport) -> str:
    if not report.findings:
        return "no claims"
    judged = CheckReport(report.name, tuple(f for f in report.findings if not (f.kind == "view" and f.bad)))
    stale = len(report.findings) - len(judged.findings)
    counts = [f"{count} {verdict}" for verdict, count in judged.counts.items() if count] + [f"{stale} not built"] * bool(stale)
    excused = Counter(finding.excused for finding in report.findings if finding.excused)
    counts += [f"of these {count} {why}" for why, count in excused.items()]
    summary = f"{counted(report.findings)}: {', '.join(counts)}"
    first = judged.first_wrong
    if first is None:
        return summary
    own = len(judged.slips)
    slips = "1 new error" if own == 1 else f"{own} new errors"
    where = first.line.seen if isinstance(first.line, CellLine) else f"line {first.line}"
    return f"{summary}; {slips}; first wrong: {first.place}, {where}"


def counted(findings: Sequence[Finding]) -> str:
    """How much is claimed: 3 numbers, 2 tokens, 3 numbers and 1 token; of a lesson also its claims and views."""
    found: Counter[str] = Counter("token" if finding.kind == "no token" else finding.kind for finding in findings)
    nouns = ("number", "token", "claim", "view")
    return listed(f"{found[noun]} {noun}{'s' if found[noun] != 1 else ''}" for noun in nouns if found[noun]) or "0 numbers"


def document(reports: Sequence[CheckReport]) -> dict[str, Any]:
    """For other programs; docs/checking.md describes it."""
    return {"format": "exactformer check 1", "files": [_file(report) for report in reports]}


def _file(report: CheckReport) -> dict[str, Any]:
    first = report.first_wrong
    return {
        "file": report.name,
        "status": report.status,
        "counts": {str(verdict): count for verdict, count in report.counts.items()},
        "first_wrong": None if first is None else {"subject": first.subject, "index": list(first.index), "line": first.line},
        "findings": [
            {
                "line": f.line,
                **({"cell": f.line.cell, "cell_line": f.line.row} if isinstance(f.line, CellLine) else {}),
                "field": f.field,
                "subject": f.subject,
                "index": list(f.index),
                "printed": f.printed,
                "verdict": str(f.verdict),
                "true": f.true,
                "more": f.more,
                "carried_on": f.carried_on,
                "hint": f.hint,
                "excused": f.excused,
            }
            for f in report.findings
        ],
    }


def as_json(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"
