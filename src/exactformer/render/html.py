"""A trace as a fragment of HTML, for notebooks. Every text from a worksheet is escaped."""

from __future__ import annotations

from html import escape

from exactformer.messages import printable
from exactformer.render.layout import Line, Section, outcome, sections, summary, tokens, verdict, weights
from exactformer.trace import Trace

_STYLE = """
.exactformer { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem }
.exactformer table { border-collapse: collapse; margin: .5rem 0 1.5rem }
.exactformer td, .exactformer th { padding: .15rem .9rem .15rem 0; text-align: left; vertical-align: top }
.exactformer code { font: 13px/1.5 ui-monospace, monospace }
.exactformer .formula, .exactformer .more { color: #667 }
.exactformer .named { color: #06708a } .exactformer .recovered { color: #1b7a3d }
.exactformer .masked { color: #889 } .exactformer .undefined { color: #b3261e }
@media (prefers-color-scheme: dark) {
  .exactformer .formula, .exactformer .more { color: #9aa } .exactformer .named { color: #5cc8e0 }
  .exactformer .recovered { color: #6ed390 } .exactformer .undefined { color: #ff8a80 }
}
"""


def fragment(trace: Trace, digits: int = 12) -> str:
    title = f"<h1>{escape(trace.title)}</h1>" if trace.title else ""
    shown = escape(tokens(trace))
    marks = (
        '<span class="recovered">1*</span> simplifies back to a fraction · <span class="named">~</span> formula, '
        "as computed (=), and its proved digits (≈)"
    )
    body = "\n".join(_section(section, trace) for section in sections(trace, digits))
    intro = f"<p>{escape(summary(trace))}<br>tokens <code>{shown}</code> · arithmetic {trace.arithmetic}<br>{marks}</p>"
    given = "".join(f"<tr><td><code>{name}</code></td><td><code>{escape(text)}</code></td></tr>" for name, text in weights(trace))
    ending = f"<p><strong><code>{escape(outcome(trace))}</code></strong></p>" if trace.output else ""
    return f'<div class="exactformer"><style>{_STYLE}</style>{title}{intro}\n<table>{given}</table>{body}{ending}</div>'


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
