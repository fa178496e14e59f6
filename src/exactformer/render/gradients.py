"""A backward pass as text, Markdown, LaTeX and JSON: a matrix a step, from the loss back to the weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Any

from exactformer.model.operations.others import WEIGHT
from exactformer.numbers import Number, Undecided, Undefined
from exactformer.painting import Paint, plain
from exactformer.render import json as as_json
from exactformer.render.latex import PREAMBLE, escape
from exactformer.render.layout import Line, summary
from exactformer.render.markdown import plain as as_plain_markdown
from exactformer.render.text import broken_row
from exactformer.render.values import Shown, show
from exactformer.trace import Descent, Gradient, Step

_CHANGES = {-1: "falls", 0: "stays the same", 1: "rises", None: "is not a number"}
_LABEL, _BELOW = 10, 8  # columns of labels; the indent of rows below a label that is too long


def rows(step: Step, gradient: Gradient, digits: int) -> Iterator[tuple[str, Line]]:
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
            yield prefix + label, Line(step, i, head, tuple(show(value, digits) for value in row), ())


def _variants(line: Line) -> Iterator[tuple[str, list[str]]]:
    """A row, and its proved digits where closed forms stand in it; the formula says how they were computed."""
    for mark, texts in line.variants():
        if mark != "=":
            yield mark if mark == "≈" else "", texts


def loss_lines(gradient: Gradient, digits: int) -> list[str]:
    if gradient.loss is None:
        return ["the gradient of the last step is given"]
    shown = show(gradient.loss, digits)
    value = shown.text if not shown.digits or shown.too_long else f"{shown.text} ≈ {shown.digits}"
    return [f"targets {' '.join(gradient.targets)}", f"loss {value}   mean cross-entropy" + (f": {shown.why}" if shown.why else "")]


def _verdict(descent: Descent) -> str:
    before, after = descent.before, descent.after
    if not isinstance(before, Number):  # floats, which may be infinite or not numbers
        change = None if before != before or after != after else int(after > before) - int(after < before)
        return f"the loss {_CHANGES[change]}, in floats"
    if isinstance(before, Undefined) or isinstance(after, Undefined):
        missing = before if isinstance(before, Undefined) else after
        if missing.undecided:
            raise Undecided(f"whether the loss falls: {missing.why}", 0)
        return f"the loss is undefined: {missing.why}"
    return f"the loss {_CHANGES[(after - before).sign()]}, proved"


def loss_change(descent: Descent, digits: int) -> list[str]:
    """What a step does to the loss, and the loss before and after."""
    before, after = show(descent.before, digits), show(descent.after, digits)
    return [_verdict(descent), f"before {before.digits or before.text}", f"after  {after.digits or after.text}"]


def descent_lines(descent: Descent, rate: str, digits: int, width: int = 120) -> list[str]:
    """A step of gradient descent: the new weights, and whether the loss is proved to fall."""
    first, *losses = loss_change(descent, digits)
    lines = [f"a step of {rate} against the gradient: {first}", *(f"  {line}" for line in losses)]
    for name, values in descent.model.weights.named():
        lines.append(f"  {name}")
        step = Step(name, WEIGHT, (), values)
        for i, row in enumerate(values.reshape(-1, values.shape[-1])):
            line = Line(step, i, None, tuple(show(value, digits) for value in row), ())
            pieces = broken_row(line, "", [_brief(cell) for cell in line.cells], width - 2, plain)
            lines += [f"  {piece}" for piece in pieces]
    return lines


def _brief(cell: Shown) -> str:
    return cell.marked if cell.status != "named" or cell.too_long else f"{cell.text} ≈ {cell.digits}"


def text(gradient: Gradient, digits: int = 12, paint: Paint = plain, width: int = 120) -> str:
    """A matrix a step; rows that are too long are broken over lines, as in the text of a trace."""
    trace = gradient.trace
    lines = [paint(trace.title, "strong"), *wrap(summary(trace), width, subsequent_indent="  ")]
    lines += [f"tokens {' '.join(trace.tokens)} · arithmetic {trace.arithmetic}", *loss_lines(gradient, digits)]
    for step in gradient.steps:
        lines += ["", f"{paint(step.name, 'strong')} = {paint(step.formula, 'dim')}"]
        for label, line in rows(step, gradient, digits):
            lines += _labelled(label, line, paint, width)
        lines += [f"  {remark}" for _, remark in step.remarks]
    return "\n".join(lines) + "\n"


def _labelled(label: str, line: Line, paint: Paint, width: int) -> list[str]:
    first = f"  {label:<{_LABEL - 1}}"
    indent = " " * (len(first) if len(first) <= width // 2 else _BELOW)
    pieces = [piece for variant in _variants(line) for piece in broken_row(line, *variant, width - len(indent), paint)]
    if len(first) > len(indent):
        return [first, *(indent + piece for piece in pieces)]
    return [first + pieces[0], *(indent + piece for piece in pieces[1:])]


def markdown(gradient: Gradient, digits: int = 12) -> str:
    title = as_plain_markdown(gradient.trace.title)
    lines = [f"# {title}: the gradient", "", *(f"{as_plain_markdown(line)}  " for line in loss_lines(gradient, digits)), ""]
    for step in gradient.steps:
        lines += [f"## `{step.name}`", "", f"`{step.formula}`", "", "```"]
        for label, line in rows(step, gradient, digits):
            shown = [f"{mark:<2}{line.joined(texts)}" for mark, texts in _variants(line)]
            lines += [f"{name:<{_LABEL - 1}}{row}" for name, row in zip([label, *[""] * len(shown)], shown, strict=False)]
        lines += ["```", "", *(remark for _, remark in step.remarks), ""]
    return "\n".join(lines)


def latex(gradient: Gradient, digits: int = 12) -> str:
    lines = [PREAMBLE + rf"\section*{{{escape(gradient.trace.title)}: the gradient}}"]
    lines += [escape(line) + r"\\" for line in loss_lines(gradient, digits)]
    for step in gradient.steps:
        lines += [rf"\subsection*{{\texttt{{{escape(step.name)}}}}}", rf"${step.latex}$", "", r"\begin{flushleft}"]
        for label, line in rows(step, gradient, digits):
            cells = r",\allowbreak\ ".join(cell.latex + ("^{*}" if cell.recovered else "") for cell in line.cells)
            lines.append(rf"\texttt{{{escape(label)}}} $({cells})$\\")
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


RENDERERS: dict[str, Callable[[Gradient, int], str]] = {"markdown": markdown, "latex": latex, "json": as_json_text}
