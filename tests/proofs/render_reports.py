"""What must not depend on how a proof was run: all of a report but its times."""

from __future__ import annotations

from dataclasses import replace

from exactformer.proofs import Report
from exactformer.render import theorems


def comparable(report: Report) -> tuple[str, str]:
    timeless = replace(report, seconds=0.0, resumed=0)
    return theorems.text(timeless), theorems.as_json_text(timeless)
