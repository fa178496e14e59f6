"""A trace as text: on a terminal in colour, in a pipe plain. Marks tell the kinds of number apart without colour."""

from __future__ import annotations

from textwrap import wrap

from exactformer.messages import printable
from exactformer.painting import Paint, plain
from exactformer.render.layout import Line, Section, outcome, sections, summary, tokenization, tokens, verdict, weights
from exactformer.render.tables import folded, wrapped
from exactformer.trace import Trace

_LABEL, _FORMULA = 24, 38  # columns of names and formulas
_USUAL = 80  # columns of a terminal that has room for them
_LEGEND = (
    (("exact", "3/2", "exact"), ("recovered", "1*", "simplifies back to a fraction"), ("masked", "-inf", "hidden by the mask")),
    (("named", "~ e/(1+e)", "formula: = as computed, ≈ proved digits"), ("undefined", "undefined", "with its reason")),
)


def render(trace: Trace, digits: int = 12, paint: Paint = plain, width: int = 120) -> str:
    title = printable(trace.title)
    lines = [paint(part, "strong") for part in ([title] if width >= _USUAL else wrapped(title, width)) if part]
    lines += wrap(summary(trace), width, subsequent_indent="  ")
    config = trace.model.config
    outputs = f" · outputs {_few(config.outputs)}" if config.outputs else ""
    said = f"tokens {tokens(trace)} · vocabulary {_few(config.vocabulary)}{outputs} · arithmetic {trace.arithmetic}"
    lines += [said] if width >= _USUAL else wrapped(said, width)
    if trace.exact:
        between = "  " if width >= _USUAL else "\n"
        legend = (between.join(f"{paint(sample, status)} {meaning}" for status, sample, meaning in row) for row in _LEGEND)
        lines += ["", *folded("\n".join(legend), width).splitlines()]
    lines += tokenization(trace)
    label = _LABEL if width >= _USUAL else 0
    for name, values in [("", ""), *weights(trace)]:
        lines += wrap(f"  {name:<{label}} {values}", width, subsequent_indent=" " * (label + 4)) or [""]
    for section in sections(trace, digits):
        lines += ["", *_section(section, trace, paint, width)]
    lines += ["", paint(outcome(trace), "strong")] if trace.output else []
    return "\n".join(lines) + "\n"


def _section(section: Section, trace: Trace, paint: Paint, width: int) -> list[str]:
    lines = [paint(f"position {section.position}   {section.token}", "strong")]
    given: set[str] = set()
    for line in section.lines:
        lines += _line(line, paint, width)
        for reason in line.reasons:
            if reason not in given:  # a reason travels with the value; it is given once
                given.add(reason)
                lines += _below(reason, "undefined", paint, width)
        lines += [part for remark in line.remarks for part in _below(remark, "dim", paint, width)]
    return [*lines, *_ending(section, trace, paint, width)]


def _below(text: str, status: str, paint: Paint, width: int) -> list[str]:
    return [f"        {paint(part, status)}" for part in ([text] if width >= _USUAL else wrapped(text, width - 8))]


def _ending(section: Section, trace: Trace, paint: Paint, width: int) -> list[str]:
    stopped, output = trace.stopped[section.position], section.output
    if stopped:
        return [f"  {'stop':<{_LABEL}} stops at {stopped}, the first step with a formula"]
    if output is None:
        return []
    formula = paint("argmax(logits)", "dim") + " " * (_FORMULA - len("argmax(logits)"))
    token = paint(printable(output.token or "none"), "strong")
    if width < _USUAL:
        return [f"  token {token}", *_below(verdict(output, trace.arithmetic), "dim", paint, width)]
    return [f"  {'token':<{_LABEL}} {formula}   {token}   {verdict(output, trace.arithmetic)}"]


def _line(line: Line, paint: Paint, width: int) -> list[str]:
    """Name, formula, value; a value that is too wide stands below its name."""
    formula = line.step.formula if line.head in (None, 0) else ""
    name, padding = f"  {line.name:<{_LABEL}} ", " " * (_FORMULA - len(formula) + 1)
    if width < _USUAL:  # too narrow for columns: the name, the formula and the value below each other
        variants = [] if line.step.op == "same" else list(line.variants())
        rows = [piece for variant in variants for piece in broken_row(line, *variant, width - 4, paint)] or ["as above"]
        shown = _below(formula, "dim", paint, width) if formula else []
        return [name.rstrip(), *shown, *(f"    {row}" for row in rows)]
    if line.step.op == "same":
        return [name + paint(formula, "dim") + padding + "  as above"]
    beside, below = " " * (_LABEL + _FORMULA + 4), " " * 8
    if all(len(beside) + 2 + len(line.joined(texts)) <= width for _, texts in line.variants()):
        rows = [broken_row(line, *variant, width, paint)[0] for variant in line.variants()]
        return [name + paint(formula, "dim") + padding + rows[0], *(beside + row for row in rows[1:])]
    rows = [piece for variant in line.variants() for piece in broken_row(line, *variant, width - len(below), paint)]
    return [name + paint(formula, "dim") if formula else name.rstrip(), *(below + row for row in rows)]


def broken_row(line: Line, mark: str, texts: list[str], width: int, paint: Paint) -> list[str]:
    """The cells in their brackets, broken over lines where they are too many."""
    left, right = line.brackets
    kinds = ["dim"] * len(texts) if mark in ("=", "≈") else [cell.kind for cell in line.cells]
    lines, current, used = [], f"{mark:<2}{left}", 2 + len(left)
    for n, (text, kind) in enumerate(zip(line.labelled(texts), kinds, strict=True)):
        tail = right if n == len(texts) - 1 else ", "
        if used + len(text) + len(tail.rstrip()) > width and n:
            lines.append(current.rstrip())
            current, used = " " * (2 + len(left)), 2 + len(left)
        current += paint(text, kind) + tail
        used += len(text) + len(tail)
    return [*lines, current]


def _few(vocabulary: tuple[str, ...]) -> str:
    first = " ".join(map(printable, vocabulary[:16]))
    return first if len(vocabulary) <= 16 else f"{first} … {len(vocabulary):,}"
