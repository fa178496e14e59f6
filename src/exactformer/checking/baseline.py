"""Known slips that are left as they are: a file of them, so that only new ones fail."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exactformer.checking.report import CheckReport, Finding
from exactformer.files import write_whole
from exactformer.messages import Refused
from exactformer.reading import Table, json_table, read_regular

FORMAT = "exactformer baseline 1"
_LARGEST = 16 * 2**20
KNOWN = "known"
Slip = tuple[str, str, tuple[int, ...], str]  # file, subject, index, what is printed: lines may move


class BaselineError(Refused):
    """A file of known slips that cannot be read."""


class _Table(Table):
    refusal = BaselineError
    kind = "a baseline"


class Baseline:
    """The slips of a file, each as often as it is there. Names of files are meant from the folder of the baseline."""

    def __init__(self, path: Path) -> None:
        self.path = path
        raw = json_table(read_regular(path, _LARGEST, "a baseline", BaselineError), BaselineError, path)
        table = _Table(raw, path)
        if table.text("format") != FORMAT:
            raise table.error("format", f"is not {FORMAT!r}")
        self.left: Counter[Slip] = Counter()
        for entry in table.tables("known"):
            index = entry.items("index")
            if any(type(i) is not int for i in index):
                raise entry.error("index", "is not a list of whole numbers")
            self.left[entry.text("file"), entry.text("subject"), tuple(index), entry.text("printed")] += 1
            entry.finish()
        table.finish()

    def excused(self, report: CheckReport) -> CheckReport:
        """The report with what is known marked as such."""
        return replace(report, findings=tuple(map(self._excused, [report.name] * len(report.findings), report.findings)))

    def _excused(self, name: str, finding: Finding) -> Finding:
        slip = _slip(name, finding, self.path)
        if finding.right or self.left[slip] <= 0:
            return finding
        self.left[slip] -= 1
        return replace(finding, excused=KNOWN)

    @property
    def unused(self) -> int:
        return sum(self.left.values())


def write(path: Path, reports: Sequence[CheckReport]) -> int:
    """Write down all that is not right; how many that are."""
    slips = [_slip(report.name, f, path) for report in reports for f in report.findings if not f.right and not f.excused]
    known = [
        {"file": file, "subject": subject, "index": list(index), "printed": printed} for file, subject, index, printed in slips
    ]
    write_whole(path, json.dumps({"format": FORMAT, "known": known}, ensure_ascii=False, indent=1) + "\n", 0o644)
    return len(known)


def _slip(name: str, finding: Finding, baseline: Path) -> Slip:
    file = Path(os.path.relpath(name, baseline.parent or ".")).as_posix() if os.path.exists(name) else name
    return file, finding.subject, finding.index, finding.printed
