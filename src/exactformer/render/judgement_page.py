"""What the referee found, as a page of its own, with plots as SVG. No script; every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from exactformer.referee.report import Judgements
from exactformer.render.certificate_page import STYLE
from exactformer.render.judgements import COLUMNS, Name, conclusions, described, problems, summary_rows

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _RIGHT = 760, 320, 62, 46, 150
_COLOURS = ("#06708a", "#b36b00", "#7b4fa6", "#3d7a2a", "#b3261e", "#5a6570", "#8a6d00", "#005a9c")
PLOT_STYLE = (
    "svg{font:11px ui-monospace,monospace;max-width:100%;height:auto}"
    "svg text{fill:#667}.axis{stroke:#889;stroke-width:1}.same{stroke:#889;stroke-dasharray:4 3}"
)


@dataclass(frozen=True)
class Series:
    """The points of one engine."""

    name: str
    points: Sequence[tuple[float, float, str]]  # x, y, what they are


def page(report: Judgements, title: str, name: Name) -> str:
    """HTML that stands alone."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    head += f"<style>{STYLE}{PLOT_STYLE}</style>"
    shown = f"<h1>{escape(title)}</h1>{body(report, name)}"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{shown}\n</body></html>\n'


def body(report: Judgements, name: Name) -> str:
    """How many verdicts each engine has, what is not right, and the plots."""
    cells = "".join(f"<th>{escape(column)}</th>" for column in ("engine", *COLUMNS))
    rows = "".join(
        f"<tr><td>{escape(engine)}</td>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for engine, row in summary_rows(report).items()
    )
    items = "".join(
        f"<li>{escape(line)}</li>" for line in (*conclusions(report), *(described(each, name) for each in problems(report)))
    )
    plots = "".join(f"<figure>{plot}<figcaption>{escape(caption)}</figcaption></figure>" for plot, caption in figures(report))
    return (
        f"<p>{len(report.prompts):,} prompts; the true values are proved. "
        f"Model <code>{report.model}</code>.</p>"
        f'<div style="overflow-x:auto" tabindex="0" role="region" aria-label="verdicts"><table><tr>{cells}</tr>{rows}</table></div>'
        f"{f'<h2>What is not right</h2><ul>{items}</ul>' if items else ''}{plots}"
    )


def figures(report: Judgements) -> list[tuple[str, str]]:
    """The plots that there are points for, each with its caption."""
    found = []
    if any(series.points for series in by_step(report)):
        caption = "The error by step: the largest L2 norm of the errors of a row. Dashed: careful floats of the format."
        found.append((plot_steps(report), caption))
    if any(series.points for series in by_margin(report)):
        caption = (
            "Each position: the margin of the true token, and the largest error of a logit. Above the line the error is larger."
        )
        found.append((plot_margins(report), caption))
    return found


def svg(report: Judgements, title: str, name: Name) -> str:
    """The first plot alone, as a file."""
    found = figures(report)
    return (found[0][0] if found else '<svg xmlns="http://www.w3.org/2000/svg"/>') + "\n"


def by_step(report: Judgements) -> list[Series]:
    return [Series(engine.name, _steps(report, engine.name, lambda step: step["error"][1])) for engine in report.engines]


def _order(report: Judgements) -> list[str]:
    """The steps that were given, in the order of the pass."""
    found: dict[str, None] = {}
    for record in report.records:
        found.update(dict.fromkeys(step["step"] for step in record.get("steps", ())))
    return [*(name for name in found if name != "logits"), *(["logits"] if "logits" in found else [])]


def _steps(report: Judgements, engine: str, value: Callable[[dict[str, Any]], float | None]) -> list[tuple[float, float, str]]:
    order = _order(report)
    most: dict[str, float] = {}
    for record in report.records:
        if record["engine"] == engine:
            for step in record.get("steps", ()):
                most[step["step"]] = max(most.get(step["step"], 0.0), value(step) or 0.0)
    return [(float(n), math.log10(most[name]), f"{name}: {most[name]:.3g}") for n, name in enumerate(order) if most.get(name)]


def by_margin(report: Judgements) -> list[Series]:
    return [
        Series(
            engine.name,
            [
                (math.log10(float(record["margin"][0])), math.log10(record["error"][1]), _place(record))
                for record in report.of(engine.name)
                if record.get("margin") and float(record["margin"][0]) > 0 and record.get("error") and record["error"][1]
            ],
        )
        for engine in report.engines
    ]


def _place(record: dict[str, Any]) -> str:
    return f"prompt {record['prompt']}, position {record['position']}: {record['verdict']}"


def plot_steps(report: Judgements) -> str:
    order, series = _order(report), by_step(report)
    careful = [_steps(report, engine.name, lambda step: step["careful"]) for engine in report.engines]
    frame = _Frame([point for each in series for point in each.points] + [point for each in careful for point in each])
    parts = [frame.axes("step", "error")]
    for n, (each, beside) in enumerate(zip(series, careful, strict=True)):
        parts.append(frame.line(each.points, n) + frame.dots(each.points, n, 3) + frame.line(beside, n, dashed=True))
    for n in {0, len(order) - 1}:
        anchor = "start" if n == 0 else "end"
        parts.append(f'<text x="{frame.x(n):.1f}" y="{_HEIGHT - 26}" text-anchor="{anchor}">{escape(order[n])}</text>')
    return frame.drawing("".join(parts) + frame.legend([each.name for each in series]), "error by step")


def plot_margins(report: Judgements) -> str:
    series = by_margin(report)
    frame = _Frame([point for each in series for point in each.points])
    low, high = max(frame.left, frame.low), min(frame.right, frame.high)
    parts = [frame.axes("margin", "error")]
    if low < high:
        ends = f'x1="{frame.x(low):.1f}" y1="{frame.y(low):.1f}" x2="{frame.x(high):.1f}" y2="{frame.y(high):.1f}"'
        parts.append(f'<line class="same" {ends}/>')
    parts += [frame.dots(each.points, n, 2) for n, each in enumerate(series)]
    parts += [
        f'<text x="{frame.x(v):.1f}" y="{_HEIGHT - 26}" text-anchor="middle">10^{v:.0f}</text>'
        for v in _ticks(frame.left, frame.right)
    ]
    return frame.drawing("".join(parts) + frame.legend([each.name for each in series]), "margins against errors")


def _ticks(low: float, high: float) -> list[int]:
    step = max(1, math.ceil((high - low) / 6))
    return list(range(math.ceil(low), math.floor(high) + 1, step))


class _Frame:
    """From numbers to places in a drawing; both axes begin and end a little beyond the points."""

    def __init__(self, points: Sequence[tuple[float, float, str]]) -> None:
        xs, ys = [x for x, _, _ in points] or [0.0], [y for _, y, _ in points] or [0.0]
        self.left, self.right = min(xs), max(max(xs), min(xs) + 1)
        self.low, self.high = math.floor(min(ys)), math.ceil(max(max(ys), min(ys) + 1))

    def x(self, value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - self.left) / (self.right - self.left)

    def y(self, value: float) -> float:
        return 14 + (_HEIGHT - _BOTTOM - 14) * (self.high - value) / (self.high - self.low)

    def axes(self, across: str, up: str) -> str:
        bottom, end = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        labels = "".join(
            f'<text x="{_LEFT - 6}" y="{self.y(v) + 4:.1f}" text-anchor="end">10^{v}</text>' for v in _ticks(self.low, self.high)
        )
        names = (
            f'<text x="{(_LEFT + end) / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">{across}</text>'
            f'<text x="12" y="{bottom / 2:.0f}" transform="rotate(-90 12 {bottom / 2:.0f})" text-anchor="middle">{up}</text>'
        )
        lines = f'<path class="axis" fill="none" stroke="#889" d="M{_LEFT} 10V{bottom}H{end}"/>'
        return lines + labels + names

    def line(self, points: Sequence[tuple[float, float, str]], n: int, dashed: bool = False) -> str:
        places = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y, _ in points)
        dash = ' stroke-dasharray="4 3" opacity="0.7"' if dashed else ""
        return f'<polyline fill="none" stroke="{_COLOURS[n % len(_COLOURS)]}" stroke-width="1.5"{dash} points="{places}"/>'

    def dots(self, points: Sequence[tuple[float, float, str]], n: int, size: int) -> str:
        return "".join(
            f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{size}" fill="{_COLOURS[n % len(_COLOURS)]}" fill-opacity="0.7">'
            f"<title>{escape(what)}</title></circle>"
            for x, y, what in points
        )

    def legend(self, names: Sequence[str]) -> str:
        at = _WIDTH - _RIGHT + 14
        return "".join(
            f'<circle cx="{at}" cy="{20 + 18 * n}" r="4" fill="{_COLOURS[n % len(_COLOURS)]}"/>'
            f'<text x="{at + 10}" y="{24 + 18 * n}">{escape(name[:20])}</text>'
            for n, name in enumerate(names)
        )

    def drawing(self, content: str, label: str) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
            f'font-family="ui-monospace, monospace" font-size="11" role="img" aria-label="{label}">{content}</svg>'
        )
