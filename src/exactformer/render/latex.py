"""A trace as a LaTeX document: a section a position, a line a step."""

from __future__ import annotations

from exactformer.messages import printable
from exactformer.render.layout import Line, Section, outcome, sections, summary, tokens, verdict, weights
from exactformer.render.values import Shown
from exactformer.trace import Trace

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\^{}", "~": r"\~{}", "ε": r"$\varepsilon$", "·": r"$\cdot$", "√": r"$\surd$", "≈": r"$\approx$", "…": r"\ldots{}",
    "≥": r"$\ge$", "π": r"$\pi$", "−": "--", "→": r"$\to$", "ᵀ": r"$^{\mathsf T}$",
}  # fmt: skip
_WIDEST = 50  # characters, roughly, beside names and formulas
PREAMBLE = r"""\documentclass[a4paper,10pt]{article}
\usepackage{amsmath,longtable}
\usepackage[margin=2cm]{geometry}
\setlength{\parindent}{0pt}
\renewcommand{\arraystretch}{1.35}
\begin{document}
"""


def render(trace: Trace, digits: int = 12) -> str:
    title = escape(trace.title or "A forward pass")
    lines = [PREAMBLE + rf"\section*{{{title}}}", escape(summary(trace)), ""]
    shown = escape(tokens(trace))
    lines += [
        rf"Tokens \texttt{{{shown}}}, arithmetic {trace.arithmetic}. A star marks what simplifies back to a fraction.",
        "",
    ]
    rows = [rf"\texttt{{\small {escape(name)}}} & $\scriptstyle {values}$ \\" for name, values in weights(trace)]
    lines += [r"\begin{longtable}{@{}l@{\quad}l@{}}", *rows, r"\end{longtable}"]
    for section in sections(trace, digits):
        lines += _section(section, trace)
    lines += [rf"\textbf{{{escape(outcome(trace))}}}"] if trace.output else []
    return "\n".join([*lines, r"\end{document}", ""])


def escape(text: str) -> str:
    r"""
    >>> escape("50% of {x_1}")
    '50\\% of \\{x\\_1\\}'
    """
    return "".join(_ESCAPES.get(c, c) for c in text)


def _section(section: Section, trace: Trace) -> list[str]:
    lines = [rf"\subsection*{{Position {section.position}: \texttt{{{escape(section.token)}}}}}"]
    lines += [r"\begin{longtable}{@{}l@{\quad}l@{\quad}l@{}}"]
    for line in section.lines:
        formulas = _values(line)
        lines.append(rf"\texttt{{\small {escape(line.name)}}} & $\scriptstyle {line.step.latex}$ & ${formulas[0]}$ \\")
        lines += [rf"& & ${formula}$ \\" for formula in formulas[1:]]
        lines += [rf"\multicolumn{{3}}{{@{{}}l@{{}}}}{{\quad {escape(reason)}}} \\" for reason in (*line.reasons, *line.remarks)]
    lines.append(r"\end{longtable}")
    output = section.output
    if output is None:
        return [*lines, ""]
    token = r"no token" if output.token is None else rf"token \texttt{{{escape(printable(output.token))}}}"
    return [*lines, rf"\textbf{{{token[0].upper() + token[1:]}}}: {escape(verdict(output, trace.arithmetic))}.", ""]


def _values(line: Line) -> list[str]:
    """The formulas of a line, and their digits; one a line where they would run off the page."""
    rows = _rows(line, [_marked(cell) for cell in line.cells], [cell.marked for cell in line.cells], "")
    if any(cell.digits and not cell.too_long for cell in line.cells):
        decimals = [cell.digits or cell.text for cell in line.cells]
        rows += _rows(line, [_decimal(cell) for cell in line.cells], decimals, r"\approx ")
    return rows


def _rows(line: Line, formulas: list[str], texts: list[str], sign: str) -> list[str]:
    if line.columns:
        pairs = zip(line.columns, formulas, strict=True)
        formulas = [rf"\text{{\texttt{{{escape(column)}}}}}={formula}" for column, formula in pairs]
    left, right = line.brackets
    if len(", ".join(line.labelled(texts))) <= _WIDEST:
        inside = r",\ ".join(formulas)
        return [sign + (rf"\left{left}{inside}\right{right}" if left else inside)]
    ends = [left, *[r"\phantom{(}"] * (len(formulas) - 1)], [*[","] * (len(formulas) - 1), right]
    return [sign + rf"{start}{formula}{end}" for start, formula, end in zip(ends[0], formulas, ends[1], strict=True)]


def _marked(cell: Shown) -> str:
    return cell.latex + "^{*}" if cell.recovered else cell.latex


def _decimal(cell: Shown) -> str:
    mantissa, e, exponent = cell.digits.partition("e")
    return (rf"{mantissa}\cdot 10^{{{exponent}}}" if e else mantissa) if cell.digits else cell.latex
