"""How many inputs satisfy a rule: as text, as JSON, and as a page with a plot of the leads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from typing import Any

from exactformer.numbers.decimals import outwards
from exactformer.painting import Paint, judged, plain
from exactformer.proofs.report import MOST_LISTED, PROVED, REFUTED, UNDECIDED, Report
from exactformer.render.certificate_page import STYLE
from exactformer.render.theorems import document

_DIGITS, _BAR = 8, 40
_WIDTH, _ROW, _LEFT = 720, 18, 130
_RIGHT = {PROVED: True, REFUTED: False}
_WORDS = {PROVED: "right", REFUTED: "wrong", UNDECIDED: "undecided"}


def text(report: Report, worksheet: Any = None, command: Sequence[str] = (), paint: Paint = plain, width: int | None = None) -> str:
    digits = len(f"{report.sequences:,}")
    lines = [f"Counted: {report.statement}.", ""]
    for verdict, number in report.counts.items():
        said = f"{_WORDS[verdict]:<10} {number:>{digits},} of {report.sequences:,}"
        lines.append(f"  {judged(said, _RIGHT.get(verdict), paint) if number else said}")
    lines += ["", *(f"{name}: {value}" for name, value in _told(report)), ""]
    for name, counts in _histograms(report):
        most = max(counts.values())
        lines.append(f"{name}, by powers of two:")
        for power, count in counts.items():
            lines.append(f"  {_span(power):>14} {count:>{digits},} {'#' * -(-_BAR * count // most)}")
        lines.append("")
    for failure in report.failures:
        said = failure.token if failure.token is not None else f"nothing ({failure.why})"
        lines.append(f"  {_WORDS[failure.verdict]}: {failure.words}: says {said}, not {' or '.join(failure.right)}")
    open_ = 0 if report.sets is not None else report.counts[UNDECIDED]
    more = report.counts[REFUTED] + open_ - len(report.failures)
    counted = report.sets is not None and report.counts[REFUTED] > MOST_LISTED
    where = "which were counted, not listed" if counted else "--wrong FILE writes all of them"
    lines += [f"  … and {more:,} more; {where}"] if more > 0 else []
    return "\n".join(lines).rstrip() + "\n"


def _told(report: Report) -> list[tuple[str, str]]:
    """What is known besides the counts."""
    found = [("accuracy", _between(*report.accuracy))]
    for name, kind in report.kinds.items():
        if kind.margin is not None:
            of = "" if len(report.kinds) == 1 else f" ({name})"
            found.append((f"least lead of a right answer{of}", f"at least {_down(kind.margin)}, at {' '.join(kind.at)}"))
    if report.loss is not None:
        found.append(("mean cross-entropy", _between(*report.loss)))
    if report.sets is not None:
        found.append(("sets of inputs looked at", f"{report.sets:,}"))
    resumed = f"; {report.resumed:,} of them by an earlier run" if report.resumed else ""
    found.append(("arithmetic", f"{report.arithmetic}, {report.seconds:.1f} s{resumed}"))
    return found


def _between(low: Fraction, high: Fraction) -> str:
    """One number where both ends are the same and short, else two, rounded outwards."""
    if low == high and low.denominator in (1, 2, 4, 5, 8, 10):
        return str(float(low))
    exact = f"{low.numerator:,}/{low.denominator:,} = " if low == high else ""
    return f"{exact}{_down(low)} to {_up(high)}" if low != high else f"{exact}{_down(low)}…"


def _down(value: Fraction) -> str:
    return outwards(value.numerator, value.denominator, _DIGITS, down=True)


def _up(value: Fraction) -> str:
    return outwards(value.numerator, value.denominator, _DIGITS, down=False)


def _histograms(report: Report) -> list[tuple[str, dict[int, int]]]:
    leads = report.leads
    if leads is None:
        return []
    named = (("leads of right answers", leads.right), ("by how much wrong answers lead", leads.wrong))
    return [(name, dict(sorted(counts.items()))) for name, counts in named if counts]


def _span(power: int) -> str:
    return f"2^{power} to 2^{power + 1}"


def as_json_text(report: Report, worksheet: Any = None, command: Sequence[str] = ()) -> str:
    """The JSON of the theorem, without traces, and what was counted besides."""
    low, high = report.accuracy
    more = {
        "format": "exactformer count 1",
        "accuracy": {"low": _down(low), "high": _up(high)},
        "sets": report.sets,
        "loss": None if report.loss is None else {"low": _down(report.loss[0]), "high": _up(report.loss[1])},
        "leads": {} if report.leads is None else {"right": _powers(report.leads.right), "wrong": _powers(report.leads.wrong)},
    }
    return json.dumps(document(report) | more, ensure_ascii=False, indent=1) + "\n"


def _powers(counts: dict[int, int]) -> dict[str, int]:
    return {str(power): count for power, count in sorted(counts.items())}


def page(report: Report, worksheet: Any = None, command: Sequence[str] = ()) -> str:
    """HTML that stands alone, without a script."""
    title = "" if worksheet is None else worksheet.title
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}: counted</title>'
    rows = [(_WORDS[verdict], f"{number:,} of {report.sequences:,}") for verdict, number in report.counts.items()] + _told(report)
    table = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    plots = "".join(f"<h2>{escape(name.capitalize())}</h2>{_bars(counts)}" for name, counts in _histograms(report))
    failures = "".join(
        f"<tr><td><code>{escape(f.words)}</code></td><td><code>{escape(str(f.token))}</code></td>"
        f"<td><code>{escape(' or '.join(f.right))}</code></td><td>{_WORDS[f.verdict]}</td></tr>"
        for f in report.failures
    )
    if failures:
        failures = f"<h2>Not right</h2><table><tr><th>input</th><th>says</th><th>demanded</th><th></th></tr>{failures}</table>"
    body = f"<h1>{escape(title)}</h1><p>Counted: {escape(report.statement)}.</p><table>{table}</table>{plots}{failures}"
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'


def _bars(counts: dict[int, int]) -> str:
    """An SVG: a bar for each power of two."""
    most, height, room = max(counts.values()), _ROW * len(counts) + 8, _WIDTH - _LEFT - 110
    bars = "".join(
        f'<text x="{_LEFT - 8}" y="{_ROW * n + 14}" text-anchor="end">{_span(power)}</text>'
        f'<rect class="point" x="{_LEFT}" y="{_ROW * n + 4}" width="{max(1, room * count / most):.1f}" height="12"/>'
        f'<text x="{_LEFT + 8 + room * count / most:.1f}" y="{_ROW * n + 14}">{count:,}</text>'
        for n, (power, count) in enumerate(counts.items())
    )
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="inputs by their lead">{bars}</svg>'


RENDERERS = {"text": text, "json": as_json_text, "html": page}
