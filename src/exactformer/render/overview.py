"""A pass too large to read number by number: its steps, a line each, and what it says."""

from __future__ import annotations

from collections import Counter
from typing import Any

from flint import arb

from exactformer.messages import printable
from exactformer.model import Choice
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named, Undefined
from exactformer.painting import Paint, judged, plain
from exactformer.render.layout import outcome, tokens, verdict
from exactformer.render.layout import summary as configuration
from exactformer.render.tables import grid, wrapped
from exactformer.trace import Trace

_MOST = 100_000  # numbers of a step that are looked at one by one
_KINDS: dict[type, str] = {Exact: "fractions", Named: "formulas", Undefined: "undefined", arb: "balls", Choice: "tokens"}


def steps(trace: Trace, width: int = 120) -> str:
    """The names of all steps, as --step takes them, each with its formula."""
    longest = max(len(step.name) for step in trace.steps)
    if longest + 40 > width:
        return "".join(f"{step.name}\n    {step.formula}\n" for step in trace.steps)
    return "".join(f"{step.name:<{longest}}  {step.formula}\n" for step in trace.steps)


def summary(trace: Trace, paint: Paint = plain, width: int = 120) -> str:
    """For each step its shape and the kinds of its numbers; then the token at every position, with its verdict."""
    lines = [paint(part, "strong") for part in wrapped(printable(trace.title), width)]
    lines += wrapped(configuration(trace), width)
    lines += [*wrapped(f"tokens {tokens(trace)} · arithmetic {trace.arithmetic}", width), ""]
    cells = [[" × ".join(map(str, step.values.shape)), _kinds(step.values)] for step in trace.steps]
    lines += grid([step.name for step in trace.steps], ["shape", "numbers"], cells, width)
    lines += [""] * bool(trace.output)
    for out in trace.output:
        said = f"position {out.position}: {printable(out.token or 'none')}, {verdict(out, trace.arithmetic)}"
        lines += wrapped(judged(said, out.proved or None if out.token is not None else None, paint), width)
    return "\n".join([*lines, *(["", outcome(trace)] if trace.output else [])]) + "\n"


def _kinds(values: Any) -> str:
    """12 fractions, 3 formulas; floats and balls are all of a kind."""
    if values.dtype != object or values.size > _MOST:
        return f"{values.size:,}"
    found = Counter("hidden" if value is MASKED else _KINDS.get(type(value), "others") for value in values.flat)
    return ", ".join(f"{count:,} {kind}" for kind, count in found.items())
