"""A backward pass as text, Markdown, LaTeX and JSON: a matrix a step, from the loss back to the weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from exactformer.render import json as as_json
from exactformer.render.latex import PREAMBLE, escape
from exactformer.render.layout import summary
from exactformer.render.text import Paint, plain
from exactformer.render.values import Shown, show
from exactformer.trace import Descent, Gradient, Step


@dataclass(frozen=True)
class Row:
    label: str
    cells: tuple[Shown, ...]

    def joined(self, write: Callable[[Shown], str]) -> str:
        return "(" + ", ".join(map(write, self.cells)) + ")"


def rows(step: Step, gradient: Gradient, digits: int) -> Iterator[Row]:
    """The rows of a gradient, named by the tokens that they belong to where they do."""
    values = step.values if step.values.ndim > 1 else step.values[None]
    name = step.name.removeprefix("grad.")
    by_position = name not in gradient.weights
    labels = gradient.trace.tokens if by_position else gradient.trace.model.config.vocabulary if name == "W_E" else ()
    matrices = values if values.ndim == 3 else values[None]
    for head, matrix in enumerate(matrices):
        for i, row in enumerate(matrix):
            label = labels[i] if i < len(labels) else str(i) if len(matrix) > 1 else ""
            prefix = f"head {head} " if len(matrices) > 1 else ""
            yield Row(prefix + label, tuple(show(value, digits) for value in row))


def loss_lines(gradient: Gradient, digits: int) -> list[str]:
    if gradient.loss is None:
        return ["the gradient of the last step is given"]
    shown = show(gradient.loss, digits)
    value = shown.text if not shown.digits or shown.too_long else f"{shown.text} ≈ {shown.digits}"
    return [f"targets {' '.join(gradient.targets)}", f"loss {value}   mean cross-entropy" + (f": {shown.why}" if shown.why else "")]


def descent_lines(descent: Descent, rate: str, digits: int) -> list[str]:
    """A step of gradient descent: the new weights, and whether the loss is proved to fall."""
    before, after = show(descent.before, digits), show(descent.after, digits)
    change = (descent.after - descent.before).sign() if before.status != "float" else int(descent.after > descent.before) * 2 - 1
    verdict = {-1: "falls", 0: "stays the same", 1: "rises"}[change]
    how = "proved" if before.status != "float" else "in floats"
    lines = [f"a step of {rate} against the gradient: the loss {verdict}, {how}"]
    lines += [f"  before {before.digits or before.text}", f"  after  {after.digits or after.text}"]
    for name, values in descent.model.weights.named():
        lines.append(f"  {name}")
        for row in values.reshape(-1, values.shape[-1]):
            lines.append("    (" + ", ".join(_brief(show(value, digits)) for value in row) + ")")
    return lines


def _brief(cell: Shown) -> str:
    return cell.marked if cell.status != "named" or cell.too_long else f"{cell.text} ≈ {cell.digits}"


def text(gradient: Gradient, digits: int = 12, paint: Paint = plain) -> str:
    trace = gradient.trace
    lines = [paint(trace.title, "strong"), summary(trace), f"tokens {' '.join(trace.tokens)} · arithmetic {trace.arithmetic}"]
    lines += loss_lines(gradient, digits)
    for step in gradient.steps:
        lines += ["", f"{paint(step.name, 'strong')} = {paint(step.formula, 'dim')}"]
        for row in rows(step, gradient, digits):
            lines.append(f"  {row.label:<10} " + row.joined(lambda cell: paint(cell.marked, cell.kind)))
            if any(cell.digits and not cell.too_long for cell in row.cells):
                lines.append(f"  {'':<9}≈ " + paint(row.joined(lambda cell: cell.digits or cell.text), "dim"))
        lines += [f"  {remark}" for _, remark in step.remarks]
    return "\n".join(lines) + "\n"


def markdown(gradient: Gradient, digits: int = 12) -> str:
    lines = [f"# {gradient.trace.title}: the gradient", "", *(f"{line}  " for line in loss_lines(gradient, digits)), ""]
    for step in gradient.steps:
        lines += [f"## `{step.name}`", "", f"`{step.formula}`", "", "```"]
        for row in rows(step, gradient, digits):
            lines.append(f"{row.label:<10} {row.joined(lambda cell: cell.marked)}")
            if any(cell.digits and not cell.too_long for cell in row.cells):
                lines.append(f"{'':<8} ≈ {row.joined(lambda cell: cell.digits or cell.text)}")
        lines += ["```", "", *(remark for _, remark in step.remarks), ""]
    return "\n".join(lines)


def latex(gradient: Gradient, digits: int = 12) -> str:
    lines = [PREAMBLE + rf"\section*{{{escape(gradient.trace.title)}: the gradient}}"]
    lines += [escape(line) + r"\\" for line in loss_lines(gradient, digits)]
    for step in gradient.steps:
        lines += [rf"\subsection*{{\texttt{{{escape(step.name)}}}}}", rf"${step.latex}$", "", r"\begin{flushleft}"]
        for row in rows(step, gradient, digits):
            cells = r",\allowbreak\ ".join(cell.latex + ("^{*}" if cell.recovered else "") for cell in row.cells)
            lines.append(rf"\texttt{{{escape(row.label)}}} $({cells})$\\")
        lines += [r"\end{flushleft}", *(escape(remark) for _, remark in step.remarks)]
    return "\n".join([*lines, r"\end{document}", ""])


def document(gradient: Gradient, digits: int = 12) -> dict[str, Any]:
    return {
        "format": "exactformer gradient 1",
        "title": gradient.trace.title,
        "arithmetic": gradient.trace.arithmetic,
        "tokens": list(gradient.trace.tokens),
        "targets": list(gradient.targets),
        "loss": None if gradient.loss is None else as_json.value(gradient.loss, digits),
        "steps": [as_json.step(step, digits) for step in gradient.steps],
    }


def as_json_text(gradient: Gradient, digits: int = 12) -> str:
    return json.dumps(document(gradient, digits), ensure_ascii=False, indent=1) + "\n"


RENDERERS: dict[str, Callable[[Gradient, int], str]] = {"text": text, "markdown": markdown, "latex": latex, "json": as_json_text}
