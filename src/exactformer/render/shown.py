"""How things look that show themselves, when they are printed and in a notebook."""

from __future__ import annotations

from functools import singledispatch
from html import escape
from typing import Any

from exactformer.exercises import Exercise, Judgement
from exactformer.proofs import Report
from exactformer.referee import Judgements
from exactformer.render import exercises, explanations, judgements, theorems
from exactformer.render import html as as_html
from exactformer.render import text as as_text
from exactformer.trace import Explanation, Trace
from exactformer.trace.ablation import Ablation


@singledispatch
def text(thing: Any) -> str:
    return repr(thing)


@singledispatch
def html(thing: Any) -> str:
    return f"<pre>{escape(text(thing))}</pre>"


text.register(Trace, as_text.render)
html.register(Trace, as_html.fragment)
text.register(Explanation, explanations.text)
text.register(Ablation, explanations.ablation_text)
text.register(Report, theorems.text)
text.register(Exercise, exercises.exercise_text)
html.register(Exercise, exercises.exercise_html)
text.register(Judgement, lambda said: said.message)
html.register(Judgement, exercises.judgement_html)
text.register(Judgements, lambda found: judgements.text(found, "outputs", lambda token: f"#{token}"))
