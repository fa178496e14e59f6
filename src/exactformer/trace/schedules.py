"""Other orders of the same computation, traced and proved equal to the plain pass entry by entry.

flash: online softmax. Keys come in tiles; a running maximum m, a running sum l and a running mix o are rescaled by e^(m − m′)
whenever a tile raises the maximum to m′. kv-cache: one token at a time, with the keys and values of earlier ones kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exactformer.arithmetics import arithmetic
from exactformer.model import forward
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.cache import Cache
from exactformer.model.step import Step
from exactformer.numbers import Undecided, Undefined
from exactformer.numbers.congruence import Congruence
from exactformer.numbers.field import ZERO
from exactformer.trace.compare import Difference, differences
from exactformer.trace.trace import Trace


@dataclass(frozen=True)
class Line:
    """One line of a schedule: what was computed, for which query."""

    name: str
    formula: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Schedule:
    """A schedule of a pass with its own lines, and how its steps compare with those of the plain pass."""

    name: str
    trace: Trace
    lines: tuple[Line, ...]
    compared: tuple[Difference, ...]

    @property
    def verdict(self) -> bool | None:
        """True: every entry proved equal. False: one is proved different. None: undecided."""
        answers = {d.equal for d in self.compared}
        return False if False in answers else None if None in answers else True


def flash(trace: Trace, tile: int, rescale: bool = True) -> Schedule:
    """Attention of every block and head in tiles of `tile` keys. Without `rescale` it is the classic mistake."""
    lines: list[Line] = []
    found: list[Step] = []
    plain = [step for step in trace.steps if step.op == "mix"]
    classes = Congruence()
    for step in plain:
        weights, values = step.reads
        scores = trace[trace[weights].reads[0]].values
        z = np.empty(step.values.shape, dtype=object)
        for h, i in np.ndindex(*z.shape[:2]):
            v, name = trace[values].values[h], f"{step.name}[{h}][{i}]"
            try:
                z[h, i] = online_row(scores[h, i], v, tile, rescale, name, lines, classes)
            except Undecided as undecided:  # which score is the largest
                z[h, i] = Undefined(str(undecided), undecided=True)
        found.append(replace(step, values=z))
    read = [trace[name] for step in plain for name in (trace[step.reads[0]].reads[0], step.reads[1])]  # scores and values
    return Schedule("flash", trace, tuple(lines), tuple(differences(plain, found, read, classes)))


def online_row(
    scores: Any, v: Any, tile: int, rescale: bool, name: str, lines: list[Line], classes: Congruence | None = None
) -> list[Any]:
    """One row: z = Σ e^(s_j − m) v_j / Σ e^(s_j − m), the sums gathered tile by tile. For any numbers with the usual operators.

    Scores of one of the `classes` are not compared: they are known to be equal.
    """
    undefined = next((score for score in scores if isinstance(score, Undefined)), None)
    if undefined is not None:
        return [undefined] * v.shape[1]
    m, running, mixed = None, None, None  # type: Any, Any, Any
    for start in range(0, len(scores), tile):
        seen = [j for j in range(start, min(start + tile, len(scores))) if scores[j] is not MASKED]
        if not seen:
            continue
        candidates = [*([] if m is None else [m]), *(scores[j] for j in seen)]
        raised = max(candidates if classes is None else {classes.name(score): score for score in reversed(candidates)}.values())
        powers = np.array([(scores[j] - raised).exp() for j in seen], dtype=object)
        sums, mixes = powers.sum(), powers @ v[seen]
        if m is not None and rescale:
            factor = (m - raised).exp()
            running, mixed = running * factor, mixed * factor
        running, mixed = (sums, mixes) if m is None else (running + sums, mixed + mixes)
        m = raised
        where = f"{name} keys {start}–{min(start + tile, len(scores)) - 1}"
        lines.append(Line(f"{where} max", "m′ = max(m, scores)", (m,)))
        lines.append(Line(f"{where} sum", "l·e^(m − m′) + Σ e^(s − m′)", (running,)))
        lines.append(Line(f"{where} mix", "o·e^(m − m′) + Σ e^(s − m′)·v", tuple(mixed)))
    return [ZERO] * v.shape[1] if m is None else list(mixed / running)


def kv_cache(trace: Trace) -> Schedule:
    """The pass again, one token at a time."""
    model, ops, cache = trace.model, arithmetic(trace.arithmetic), Cache()
    parts: dict[str, list[Any]] = {}  # values of each step, a position at a time

    def note(step: Step) -> Any:
        parts.setdefault(step.name, []).append(step.values)
        return step.values

    for token in model.ids(trace.tokens):
        forward(model, [token], ops, note, cache)
    lines = [Line(f"{name}[{i}]", "", tuple(values.flat)) for name, rows in parts.items() for i, values in enumerate(rows)]
    joined = [_joined(step, parts[step.name]) for step in trace.computed]
    return Schedule("kv-cache", trace, tuple(lines), tuple(differences(trace.computed, joined)))


def _joined(plain: Step, parts: list[Any]) -> Step:
    """The rows of every position under each other, rows over keys filled up with what the mask hides."""
    values = plain.values.copy()
    for i, part in enumerate(parts):
        row = part[:, -1] if plain.by_head else part[-1]  # keys that heads share are those of earlier positions too
        width = row.shape[-1]
        target = values[:, i] if plain.by_head else values[i]
        target[..., :width] = row
    return replace(plain, values=values)
