"""Models, certificates and reports as fragments of HTML, for notebooks. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from exactformer.certificates import Certificate
from exactformer.checking.pages.notebook import CellLine
from exactformer.checking.report import CheckReport, Finding, lines, sentence
from exactformer.circuits.matrices import CircuitTable
from exactformer.messages import printable, short
from exactformer.model import Config, Model
from exactformer.proofs import Report
from exactformer.referee import Judgements
from exactformer.render import certificate_page, explanations, judgement_page, theorems
from exactformer.render.html import code, framed, table
from exactformer.render.layout import described
from exactformer.render.tables import entry
from exactformer.render.values import show
from exactformer.trace import Ablation, Lens

_MOST_ROWS = 40


def model_html(model: Model) -> str:
    """The configuration in a line, and the weights: what they are called, their shapes, their kinds of number."""
    return framed(f"<p>{escape(described(model.config))}<br>{_vocabulary(model.config)}</p>{_weights(model)}")


def model_text(model: Model) -> str:
    named = [f"  {name:<28} {_shape(values):<20} {_kind(values)}" for name, values in model.weights.named()]
    return "\n".join([repr(model), described(model.config), *named]) + "\n"


def source_html(source: Any) -> str:
    """A worksheet or a checkpoint: its name, and the model."""
    title, about = getattr(source, "title", "") or getattr(source, "name", ""), getattr(source, "about", "")
    intro = f"<h1>{escape(printable(title))}</h1>" + (f"<p>{escape(printable(about))}</p>" if about else "")
    given = " ".join(map(printable, getattr(source, "tokens", ())))
    return framed(intro) + (framed(f"<p>input {code(given)}</p>") if given else "") + model_html(source.model)


def _vocabulary(config: Config) -> str:
    said = f"; outputs {_few(config.outputs)}" if config.outputs else ""
    return f"vocabulary {_few(config.vocabulary)}{said}"


def _few(names: tuple[str, ...]) -> str:
    first = " ".join(map(short, map(printable, names[:16])))
    return code(first) + (f" … {len(names):,}" if len(names) > 16 else "")


def _weights(model: Model) -> str:
    named = list(model.weights.named())
    rows = ([code(name), escape(_shape(values)), escape(_kind(values))] for name, values in named[:_MOST_ROWS])
    left = f"<p>and {len(named) - _MOST_ROWS:,} more</p>" if len(named) > _MOST_ROWS else ""
    return table(("weight", "shape", "numbers"), rows) + left


def _shape(values: Any) -> str:
    return " × ".join(map(str, values.shape))


def _kind(values: Any) -> str:
    return "exact" if values.dtype == object else f"{values.dtype}, taken exactly"


def certificate_html(certificate: Certificate) -> str:
    style = f"<style>{certificate_page.PLOT_STYLE}</style>"
    return framed(style + certificate_page.claims_html(certificate, _numbered))


def _numbered(token: int) -> str:
    return f"#{token}"


def theorem_html(report: Report) -> str:
    kinds = table(("kind", *theorems.COLUMNS), ([escape(cell) for cell in row] for row in theorems.kind_rows(report)))
    said = [report.verdict.upper() + ": " + theorems.counted(report), *theorems.counted_cases(report)]
    failures = "".join(f'<li class="wrong">{escape(line)}</li>' for line in theorems.failure_lines(report))
    intro = f"<p><strong>Theorem.</strong> {escape(report.statement)}.</p><p>{'<br>'.join(map(escape, said))}</p>"
    return framed(f"{intro}{kinds}" + (f"<ul>{failures}</ul>" if failures else ""))


def ablation_html(found: Ablation) -> str:
    """The lead before and after, and what it is without the parts, in the words of the text."""
    numbers = ([name, escape(cell)] for name, cell in explanations.ablation_rows(found))
    return framed(f"<p>{escape(explanations.ablation_told(found))}</p>" + table(("", "lead"), numbers))


def lens_html(found: Lens) -> str:
    """The lines of the text as rows."""
    rows = ([code(step), code(token), escape(said)] for step, token, said in explanations.lens_rows(found))
    return framed(table(("step", "token", "what is said of it"), rows) + f"<p>{explanations.LENS}</p>")


def judgements_html(report: Judgements) -> str:
    return framed(f"<style>{judgement_page.PLOT_STYLE}</style>" + judgement_page.body(report, _numbered))


def check_html(report: CheckReport) -> str:
    """What is not right, a row each, then the summary."""
    shown = [finding for finding in report.findings if not finding.right and not finding.excused]
    found = table(("line", "place", "what is said of it"), (list(_finding(finding)) for finding in shown[:_MOST_ROWS]))
    left = f"<p>and {len(shown) - _MOST_ROWS:,} more</p>" if len(shown) > _MOST_ROWS else ""
    return framed((found if shown else "") + left + f"<p><strong>{escape(printable(lines(report)[-1]))}</strong></p>")


def _finding(finding: Finding) -> Iterator[str]:
    yield finding.line.seen if isinstance(finding.line, CellLine) else str(finding.line)
    yield code(printable(finding.place))
    yield f'<span class="{"wrong" if finding.bad else "more"}">{escape(printable(sentence(finding)))}</span>'


def circuit_html(found: CircuitTable) -> str:
    cells = (
        [code(name), *(f'<code><span class="{show(value).kind}">{escape(entry(value, None))}</span></code>' for value in row)]
        for name, row in zip(found.rows, found.values, strict=True)
    )
    head = ["", *map(printable, found.columns)]
    return framed(f"<p><strong>{escape(found.title)}</strong>: {escape(found.meaning)}</p>" + table(head, cells))
