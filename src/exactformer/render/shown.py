"""How things look that show themselves, when they are printed and in a notebook."""

from __future__ import annotations

from functools import singledispatch
from html import escape
from typing import Any

from exactformer.certificates import Certificate, Verification
from exactformer.checking import CheckReport
from exactformer.checking.report import lines as check_lines
from exactformer.checkpoints import Checkpoint
from exactformer.circuits.matrices import CircuitTable
from exactformer.exercises import Exercise, Judgement
from exactformer.model import Model
from exactformer.proofs import Report
from exactformer.referee import Judgements
from exactformer.render import certificates, exercises, explanations, gradients, judgements, notebooks, plots, tables, theorems
from exactformer.render import html as as_html
from exactformer.render import text as as_text
from exactformer.render.saving import save
from exactformer.trace import Ablation, Descent, Explanation, Gradient, Lens, Step, Trace
from exactformer.worksheets import Worksheet

__all__ = ["html", "plot", "save", "text"]


@singledispatch
def text(thing: Any) -> str:
    return repr(thing)


@singledispatch
def html(thing: Any) -> str:
    return f"<pre>{escape(text(thing))}</pre>"


@singledispatch
def plot(thing: Any) -> Any:
    raise TypeError(f"{thing!r} has no plot")


text.register(Trace, as_text.render)
html.register(Trace, as_html.fragment)
plot.register(Trace, plots.plot_named)
text.register(Explanation, explanations.text)
text.register(Ablation, explanations.ablation_text)
html.register(Ablation, notebooks.ablation_html)
text.register(Lens, explanations.lens_text)
html.register(Lens, notebooks.lens_html)
text.register(Step, tables.table)
html.register(Step, as_html.step)
plot.register(Step, plots.plot_step)
text.register(Gradient, gradients.text)
html.register(Gradient, as_html.gradient)
plot.register(Gradient, plots.plot_named)
text.register(Descent, lambda found: "\n".join(gradients.loss_change(found, 12)) + "\n")
text.register(Model, notebooks.model_text)
html.register(Model, notebooks.model_html)
html.register(Checkpoint, notebooks.source_html)
html.register(Worksheet, notebooks.source_html)
text.register(CircuitTable, lambda found: tables.circuit(found, None))
html.register(CircuitTable, notebooks.circuit_html)
text.register(Certificate, lambda found: certificates.text(found, lambda token: f"#{token}"))
html.register(Certificate, notebooks.certificate_html)
text.register(
    Verification, lambda found: "\n".join([repr(found), *map(str, (*found.problems, *found.notes)), *found.remarks]) + "\n"
)
text.register(Report, theorems.text)
html.register(Report, notebooks.theorem_html)
text.register(CheckReport, lambda found: "\n".join(check_lines(found)) + "\n")
html.register(CheckReport, notebooks.check_html)
text.register(Exercise, exercises.exercise_text)
html.register(Exercise, exercises.exercise_html)
text.register(Judgement, lambda said: said.message)
html.register(Judgement, exercises.judgement_html)
text.register(Judgements, lambda found: judgements.text(found, "outputs", lambda token: f"#{token}"))
html.register(Judgements, notebooks.judgements_html)
