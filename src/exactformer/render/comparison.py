"""A pass with and without a mistake, side by side: which steps differ, where first, and what the mistake does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exactformer.model.breaking import MISTAKES
from exactformer.render.values import show
from exactformer.trace import Gradient, Step, Trace
from exactformer.trace.compare import Difference, differences


def render(
    right: Trace, wrong: Trace, mistakes: Sequence[str], gradients: tuple[Gradient, Gradient] | None, digits: int = 6
) -> str:
    lines = [f"{right.title}: as it is, and broken on purpose", f"tokens {' '.join(right.tokens)} · arithmetic {right.arithmetic}"]
    for name in mistakes:
        what, effect = MISTAKES[name]
        lines += ["", f"{name}: {what}", "  " + effect.format(scale=right.model.config.scale_factor)]
    lines += ["", "the pass", *_table(right.steps, wrong.steps, digits)]
    if gradients is not None:
        lines += ["", "the gradient", *_table(gradients[0].steps, gradients[1].steps, digits)]
    return "\n".join(lines) + "\n"


def _table(right: Sequence[Step], wrong: Sequence[Step], digits: int) -> list[str]:
    found = [d for d in differences(right, wrong) if d.name != "token" or d.equal is not None]
    wrong_values = [d for d in found if d.equal is False and d.first is not None]
    first = next(iter([*wrong_values, *(d for d in found if d.equal is False)]), None)
    lines = [f"  {d.name:<28} {_verdict(d, digits)}" for d in found]
    if first is None:
        return [*lines, "  no step differs"]
    return [*lines, f"  the first step that differs is {first.name}"]


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
