"""What was found, for those who show it beside the lines: SARIF, and the annotations of GitHub."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from exactformer.checking.pages.notebook import CellLine
from exactformer.checking.report import CheckReport, sentence
from exactformer.checking.verdicts import Verdict

Level = Literal["error", "warning", "note"]
_PLACE = re.compile(r"(.*?):([0-9]+): (.*)", re.DOTALL)
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


class Remark(NamedTuple):
    file: str
    line: int
    rule: str
    level: Level
    text: str


def remarks(reports: Sequence[CheckReport], problems: Sequence[tuple[str, str]], strict: bool) -> list[Remark]:
    """A remark for each number that is not right, and for each problem (of a file, in a line)."""
    return [*(each for report in reports for each in _findings(report, strict)), *(_problem(*problem) for problem in problems)]


def _findings(report: CheckReport, strict: bool) -> Iterator[Remark]:
    for f in report.findings:
        if not f.right and not f.excused:
            level: Level = "error" if f.bad else "warning" if f.verdict is Verdict.UNDECIDED else "error" if strict else "note"
            where = f"{f.line.seen}: " if isinstance(f.line, CellLine) else ""
            yield Remark(report.name, int(f.line), str(f.verdict).replace(" ", "-"), level, f"{where}{f.place}: {sentence(f)}")
    if strict and not report.findings:
        yield Remark(report.name, 1, "no-claims", "error", "no claims")


def _problem(file: str, line: str) -> Remark:
    placed = _PLACE.fullmatch(line)
    if placed is not None and placed[1] == file:
        return Remark(file, int(placed[2]), "not-read", "error", placed[3])
    return Remark(file, 1, "not-read", "error", line.removeprefix(f"{file}: "))


def github(found: Sequence[Remark]) -> str:
    """Commands of a workflow, which GitHub shows as annotations.

    >>> print(github([Remark("a,b.md", 3, "wrong", "error", "100% off")]), end="")
    ::error file=a%2Cb.md,line=3,title=exactformer: wrong::100%25 off
    """
    return "".join(
        f"::{_GITHUB[each.level]} file={_escaped(each.file, ':,')},line={each.line},title=exactformer: {each.rule}::"
        f"{_escaped(each.text)}\n"
        for each in found
    )


def _escaped(text: str, besides: str = "") -> str:
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + besides else c for c in text)


def sarif(found: Sequence[Remark]) -> str:
    """SARIF 2.1.0."""
    rules = sorted({each.rule for each in found})
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "exactformer", "rules": [{"id": rule, "name": rule} for rule in rules]}},
        "results": [_result(each) for each in found],
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _result(each: Remark) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": each.file.replace("\\", "/")}, "region": {"startLine": each.line}}
    return {
        "ruleId": each.rule, "level": each.level, "message": {"text": each.text}, "locations": [{"physicalLocation": place}],
    }  # fmt: skip
