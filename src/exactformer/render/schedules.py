"""A schedule and its proof, as text."""

from __future__ import annotations

from exactformer.painting import Paint, judged, plain
from exactformer.render.values import show
from exactformer.trace.schedules import Schedule

_VERDICTS = {True: "proved equal, entry by entry", False: "refuted: an entry is proved different", None: "undecided"}


def render(schedule: Schedule, digits: int = 12, paint: Paint = plain) -> str:
    trace = schedule.trace
    lines = [f"{trace.title}: the schedule {schedule.name}", f"tokens {' '.join(trace.tokens)}", ""]
    for line in schedule.lines:
        cells = [show(value, digits) for value in line.values]
        shown = ", ".join(cell.text if not cell.digits or cell.too_long else f"{cell.text} ≈ {cell.digits}" for cell in cells)
        lines.append(f"  {line.name:<40} {shown}")
    lines.append("")
    for d in schedule.compared:
        place = "" if d.first is None else " at " + "".join(f"[{i}]" for i in d.first)
        lines.append(f"  {d.name:<28} {_VERDICTS[d.equal]}{place}{', ' * bool(d.how)}{d.how}")
    said = f"{schedule.name} against the plain pass: {_VERDICTS[schedule.verdict]}"
    return "\n".join([*lines, "", judged(said, schedule.verdict, paint), ""])
