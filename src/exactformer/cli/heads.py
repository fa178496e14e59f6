"""exactformer prove --pattern and --rule relative: theorems about where heads look, and not about tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from exactformer.cli.common import DONE, INTERRUPTED, REFUTED, UNDECIDED, emit, fitted, refuse
from exactformer.cli.journals import Kept
from exactformer.progress import Progress


def pattern_theorem(
    worksheet: Any, text: str, length: int, journal: Path | None, workers: int | None, cluster: str | None, form: str,
    output: Path | None,
) -> None:  # fmt: skip
    from exactformer.proofs.attending import prove_pattern
    from exactformer.proofs.patterns import PatternClaim
    from exactformer.render import theorems
    from exactformer.worksheets.cost import one_by_one

    model = worksheet.model
    claim = PatternClaim.read(text, model.config)
    worksheet.fits_together(length)
    with Progress() as progress:
        kept = Kept(journal, progress)
        try:
            report = prove_pattern(
                model, claim, length, workers, kept.heard, journal=kept.named, cluster=cluster, alone=one_by_one(model, length)
            )
        except KeyboardInterrupt:
            kept.interrupted()
            sys.exit(INTERRUPTED)
    kept.done()
    emit(theorems.pattern_json(report) if form == "json" else fitted(theorems.pattern_text(report), output), output)
    sys.exit({"proved": DONE, "refuted": REFUTED, "undecided": UNDECIDED}[report.verdict])


def relative_theorem(worksheet: Any, source: str, length: int, output: Path | None) -> None:
    from exactformer.proofs.relative import relative

    refuse(worksheet.model.config.positions != "rotary", f"{source}: positions are not rotary: scores do not go by distances")
    found = relative(worksheet.model.config, length)
    verdicts = {True: "proved", False: "refuted", None: "undecided"}
    lines = [
        f"{worksheet.title}: scores of turned queries and keys depend on the distance i - j alone, positions below {length}",
        "",
    ]
    for turn in found:
        place = "" if turn.place is None else f", first at i = {turn.place[0]}, j = {turn.place[1]}"
        lines.append(f"  {turn.where:<12} angle {turn.angle}: {verdicts[turn.equal]}{place}")
    answers = {turn.equal for turn in found}
    whole = False if False in answers else None if None in answers else True
    emit(fitted("\n".join([*lines, "", verdicts[whole], ""]), output), output)
    sys.exit({True: DONE, False: REFUTED, None: UNDECIDED}[whole])
