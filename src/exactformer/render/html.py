"""Traces, steps and gradients as fragments of HTML, for notebooks. Every text from a worksheet is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from exactformer.messages import printable
from exactformer.render import gradients, tables
from exactformer.render.layout import Line, Section, described, outcome, sections, summary, tokens, verdict, weights
from exactformer.render.values import Shown, show
from exactformer.trace import Gradient, Step, Trace

_STYLE = """
.exactformer { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem }
.exactformer table { border-collapse: collapse; margin: .5rem 0 1.5rem }
.exactformer td, .exactformer th { padding: .15rem .9rem .15rem 0; text-align: left; vertical-align: top }
.exactformer code { font: 13px/1.5 ui-monospace, monospace }
.exactformer .formula, .exactformer .more { color: #667 }
.exactformer .named { color: #06708a } .exactformer .recovered { color: #1b7a3d }
.exactformer .masked { color: #889 } .exactformer .undefined, .exactformer .wrong { color: #b3261e }
@media (prefers-color-scheme: dark) {
  .exactformer .formula, .exactformer .more { color: #9aa } .exactformer .named { color: #5cc8e0 }
  .exactformer .recovered { color: #6ed390 } .exactformer .undefined, .exactformer .wrong { color: #ff8a80 }
}
"""
_MOST_NUMBERS = 6000  # of a trace in a notebook; print(trace) has them all
_MOST_STEPS = 60  # of a gradient
_MOST_ROWS, _MOST_COLUMNS = 64, 32  # of a matrix
_MARKS = (
    '<span class="recovered">1*</span> simplifies back to a fraction · <span class="named">~</span> formula, '
    "as computed (=), and its proved digits (≈)"
)


def framed(body: str) -> str:
    """A fragment with its style."""
    return f'<div class="exactformer"><style>{_STYLE}</style>{body}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML, names of columns texts."""
    lines = ["".join(f"<th>{escape(name)}</th>" for name in head)] if head else []
    lines += ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def fragment(trace: Trace, digits: int = 12) -> str:
    """Of a long pass the last positions."""
    title = f"<h1>{escape(trace.title)}</h1>" if trace.title else ""
    shown = escape(tokens(trace))
    numbers = sum(step.values.size for step in trace.steps) // len(trace.tokens)  # of a position
    first = max(0, len(trace.tokens) - max(1, _MOST_NUMBERS // numbers))
    body = "\n".join(_section(section, trace) for section in sections(trace, digits, first))
    left = f"<p>the last of {len(trace.tokens)} positions; str(trace) has all of them</p>" if first else ""
    intro = f"<p>{escape(summary(trace))}<br>tokens <code>{shown}</code> · arithmetic {trace.arithmetic}<br>{_MARKS}</p>"
    given = "".join(f"<tr><td><code>{name}</code></td><td><code>{escape(text)}</code></td></tr>" for name, text in weights(trace))
    ending = f"<p><strong><code>{escape(outcome(trace))}</code></strong></p>" if trace.output else ""
    return framed(f"{title}{intro}\n<table>{given}</table>{left}{body}{ending}")


def step(found: Step, digits: int = 12) -> str:
    """A matrix for each head, with the names of its rows and columns."""
    return framed(_step(found, digits))


def gradient(found: Gradient, digits: int = 12) -> str:
    """The loss, and the matrices of all that has a gradient, one below the other."""
    lines = "<br>".join(map(escape, gradients.loss_lines(found, digits)))
    trace, shown = found.trace, found.steps[:_MOST_STEPS]
    intro = f"<p>{escape(described(trace.model.config))}<br>tokens <code>{escape(tokens(trace))}</code><br>{lines}</p>"
    left = "" if len(shown) == len(found) else f"<p>and {len(found) - len(shown)} more</p>"
    return framed(intro + "".join(_step(each, digits) for each in shown) + left)


def _step(found: Step, digits: int) -> str:
    parts = [f'<p><strong>{code(found.name)}</strong> = <span class="formula">{code(found.formula)}</span></p>']
    for head, matrix in enumerate(several := tables.matrices(found)):
        parts += [f"<p>head {head}</p>"] if len(several) > 1 else []
        part = matrix[:_MOST_ROWS, :_MOST_COLUMNS]
        names = tables.row_names(found, len(matrix)), tables.column_names(found, head, matrix.shape[1])
        rows = ([code(name), *(_cell(show(value, digits)) for value in row)] for name, row in zip(names[0], part, strict=False))
        parts.append(table(["", *names[1][: part.shape[1]]], rows))
        if part.shape != matrix.shape:
            shown, whole = (" × ".join(map(str, each.shape)) for each in (part, matrix))
            parts.append(f"<p>the first {shown} of {whole}; .values has them all</p>")
    return "".join(parts)


def _cell(shown: Shown) -> str:
    """A number; below a formula its proved digits."""
    digits = f'<br><span class="more">≈ {escape(shown.digits)}</span>' if shown.digits and not shown.too_long else ""
    why = f' title="{escape(shown.why)}"' if shown.why else ""
    return f'<code><span class="{shown.kind}"{why}>{escape(shown.marked)}</span>{digits}</code>'


def _section(section: Section, trace: Trace) -> str:
    given: set[str] = set()
    rows = "\n".join(_row(line, given) for line in section.lines)
    output, end = section.output, ""
    if output is not None:
        token = "no token" if output.token is None else f"token <code>{escape(printable(output.token))}</code>"
        end = f"<p><strong>{token}</strong> · {escape(verdict(output, trace.arithmetic))}</p>"
    head = "<tr><th>step</th><th>formula</th><th>value</th></tr>"
    return f"<h2>position {section.position} · <code>{escape(section.token)}</code></h2>\n<table>{head}\n{rows}</table>{end}"


def _row(line: Line, given: set[str]) -> str:
    """`given` are the reasons that stand above already: a reason travels with the value, and is given once."""
    first, *more = line.variants()
    cells = [f'<span class="{cell.kind}">{escape(text)}</span>' for cell, text in zip(line.cells, first[1], strict=True)]
    if line.columns:
        cells = [f"{escape(column)} = {cell}" for column, cell in zip(line.columns, cells, strict=True)]
    parts = [f"{first[0]} " + ", ".join(cells).join(line.brackets)]
    parts += [f'<span class="more">{mark} {escape(line.joined(texts))}</span>' for mark, texts in more]
    parts += [f'<span class="undefined">{escape(reason)}</span>' for reason in line.reasons if reason not in given]
    given.update(line.reasons)
    parts += [f'<span class="remark">{escape(remark)}</span>' for remark in line.remarks]
    formula = f'<td class="formula"><code>{escape(line.step.formula)}</code></td>'
    return f"<tr><td><code>{escape(line.name)}</code></td>{formula}<td><code>{'<br>'.join(parts)}</code></td></tr>"
