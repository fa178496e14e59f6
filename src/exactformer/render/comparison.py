"""A pass with and without a mistake, side by side: which steps differ, where first, and what the mistake does.

As text, as Markdown, and as JSON (described in docs/attention.md, and kept stable).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from exactformer.model.breaking import MISTAKES
from exactformer.render import json as as_json
from exactformer.render.layout import tokens
from exactformer.render.markdown import code as as_code
from exactformer.render.markdown import plain as as_plain_markdown
from exactformer.render.values import show
from exactformer.trace import Gradient, Step, Trace
from exactformer.trace.compare import Difference, differences

Pair = tuple[Gradient, Gradient]


@dataclass(frozen=True)
class Side:
    """The pass, or the gradient: every step of the two, compared."""

    title: str
    right: Sequence[Step]
    wrong: Sequence[Step]

    @cached_property
    def found(self) -> list[Difference]:
        return differences(self.right, self.wrong)

    @property
    def first(self) -> Difference | None:
        """The first step with an entry that differs; where there is none, the first that only one of them has."""
        different = [d for d in self.found if d.equal is False]
        return next((d for d in different if d.first is not None), different[0] if different else None)

    @property
    def conclusion(self) -> str:
        return "no step differs" if self.first is None else f"the first step that differs is {self.first.name}"


def sides(right: Trace, wrong: Trace, gradients: Pair | None) -> list[Side]:
    found = [Side("the pass", right.steps, wrong.steps)]
    return found if gradients is None else [*found, Side("the gradient", gradients[0].steps, gradients[1].steps)]


def text(right: Trace, wrong: Trace, mistakes: Sequence[str], gradients: Pair | None, digits: int = 6) -> str:
    lines = [f"{right.title}: correct, and broken on purpose", f"tokens {' '.join(right.tokens)} · arithmetic {right.arithmetic}"]
    for name, what, effect in _told(right, mistakes):
        lines += ["", f"{name}: {what}", f"  {effect}"]
    for side in sides(right, wrong, gradients):
        lines += ["", side.title, *(f"  {d.name:<28} {_verdict(d, digits)}" for d in side.found), f"  {side.conclusion}"]
    return "\n".join(lines) + "\n"


def markdown(right: Trace, wrong: Trace, mistakes: Sequence[str], gradients: Pair | None, digits: int = 6) -> str:
    lines = [f"# {as_plain_markdown(right.title)}: correct, and broken on purpose", ""]
    lines += [f"Tokens {as_code(tokens(right))}, arithmetic {right.arithmetic}.", ""]
    lines += [f"- **{name}**: {as_plain_markdown(f'{what}; {effect}')}." for name, what, effect in _told(right, mistakes)]
    for side in sides(right, wrong, gradients):
        lines += ["", f"## {side.title.capitalize()}", "", "| step | |", "|---|---|"]
        lines += [f"| `{d.name}` | {as_plain_markdown(_verdict(d, digits))} |" for d in side.found]
        lines += ["", f"{side.conclusion.capitalize()}."] if side.first is None else ["", f"First to differ: `{side.first.name}`."]
    return "\n".join(lines) + "\n"


def document(right: Trace, wrong: Trace, mistakes: Sequence[str], gradients: Pair | None, digits: int = 12) -> dict[str, Any]:
    compared = {side.title.removeprefix("the "): _side(side, digits) for side in sides(right, wrong, gradients)}
    return {
        "format": "exactformer comparison 1",
        "title": right.title,
        "arithmetic": right.arithmetic,
        "tokens": list(right.tokens),
        "targets": [] if gradients is None else list(gradients[0].targets),
        "mistakes": [{"name": name, "what": what, "effect": effect} for name, what, effect in _told(right, mistakes)],
        "pass": compared["pass"],
        "gradient": compared.get("gradient"),
    }


def as_json_text(right: Trace, wrong: Trace, mistakes: Sequence[str], gradients: Pair | None, digits: int = 12) -> str:
    return json.dumps(document(right, wrong, mistakes, gradients, digits), ensure_ascii=False, indent=1) + "\n"


RENDERERS: dict[str, Callable[[Trace, Trace, Sequence[str], Pair | None, int], str]] = {
    "text": text, "markdown": markdown, "json": as_json_text,
}  # fmt: skip


def _told(right: Trace, mistakes: Sequence[str]) -> list[tuple[str, str, str]]:
    """Each mistake: its name, what is done, and what comes of it."""
    scale = right.model.config.scale_factor
    return [(name, MISTAKES[name].what, MISTAKES[name].effect.format(scale=scale)) for name in mistakes]


def _side(side: Side, digits: int) -> dict[str, Any]:
    return {
        "first": None if side.first is None else side.first.name,
        "steps": [
            {
                "name": d.name,
                "equal": d.equal,
                "first": None if d.first is None else list(d.first),
                "right": None if d.left is None else as_json.step(d.left, digits),
                "broken": None if d.right is None else as_json.step(d.right, digits),
            }
            for d in side.found
        ],
    }


def _verdict(d: Difference, digits: int) -> str:
    if d.equal:
        return "the same"
    if d.equal is None:
        return "undecided"
    if d.left is None or d.right is None:
        return "only in the broken pass" if d.left is None else "missing from the broken pass"
    if d.first is None:
        return "another shape"
    place = "".join(f"[{i}]" for i in d.first)
    return f"differs, first at {place}: {_brief(d.left.values[d.first], digits)} becomes {_brief(d.right.values[d.first], digits)}"


def _brief(value: Any, digits: int) -> str:
    shown = show(value, digits)
    return f"≈ {shown.digits}" if shown.digits else shown.text
