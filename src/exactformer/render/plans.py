"""Plans of proofs, as text and as JSON: each figure with what it rests on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from exactformer.certificates.memory import shown
from exactformer.certified.limbs import BITS, MOST
from exactformer.planning import HalfPlan, Plan, Time
from exactformer.render.layout import count

FORMAT = "exactformer plan 1"
CAUTION = "a plan, not a proof: nothing here is proved, and no proof uses it"
_BASES = {
    "derived": "follows from the configuration, and from what an earlier run kept of the weights",
    "estimated": "from tables of what was measured on other models; a model of your own may take half or twice as much",
    "calibrated": "from small products and small passes, timed on this machine just now",
}
_KINDS = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64", "exact": "exact numbers"}


def plan_text(plan: Plan) -> str:
    """A line for each figure, with its basis; then the blocks."""
    config, time = plan.config, plan.time
    tokens = f"{count(plan.tokens, 'token')} after {plan.length:,}"
    rows = [
        (
            "model",
            f"{plan.weights:,} weights, {_KINDS[plan.kind]}, {count(config.blocks, 'block')} of width {config.dim:,}",
            "derived",
        ),
        (
            "work",
            f"{plan.multiplications:,} multiplications of a plain pass, each in {count(plan.slices, 'slice')} of a weight",
            "derived",
        ),
        ("growth", f"{plan.bits:.0f} bits from the embedding to the logits{_of_row(plan)}", plan.growth),
        ("limbs", f"{_runs(plan.halves)}{'' if plan.limbs <= MOST else f'; there are {MOST}'}", plan.growth),
        ("memory", f"{shown(plan.memory.total)}, {_free(plan)}", "estimated"),
        ("prepare", lasting(time.preparation) + (", once a model" if plan.row else ": norms and scout are kept"), "calibrated"),
        ("first", f"{lasting(time.first)} more for the first pass: slices and tables", "calibrated"),
        ("pass", f"{lasting(time.passes)} over {count(plan.length, 'token')}", "calibrated"),
        *([("token", f"{lasting(time.token)} for each of the others", "calibrated")] if plan.tokens > 1 else []),
        ("total", f"{lasting(time.total)} on this machine", "calibrated"),
    ]
    if plan.workers > 1:
        rows.append(("workers", _spread(plan), "estimated"))
    width = max(len(text) for _, text, _ in rows)
    lines = [f"{plan.title}: the proof of {tokens}, as it is expected", CAUTION, ""]
    lines += [f"  {label:<9}{text:<{width}}  {basis}" for label, text, basis in rows]
    lines += ["", *(f"  {line}" for line in _table(plan.halves))]
    lines += [f"\nin the way: {obstacle}" for obstacle in plan.obstacles]
    used = {basis for _, _, basis in rows}
    return "\n".join([*lines, "", *(f"{basis}: {meaning}" for basis, meaning in _BASES.items() if basis in used)]) + "\n"


def plan_json(plan: Plan) -> str:
    """The same, in figures."""
    memory = plan.memory
    document: dict[str, Any] = {
        "format": FORMAT,
        "caution": CAUTION,
        "model": {
            "basis": "derived", "title": plan.title, "weights": plan.weights, "floats": plan.kind, "blocks": plan.config.blocks,
            "dim": plan.config.dim, "multiplications": plan.multiplications, "slices": plan.slices,
        },
        "length": plan.length,
        "tokens": plan.tokens,
        "growth": {"basis": plan.growth, "table": plan.row, "bits": round(plan.bits, 1), "lead": round(plan.lead, 1)},
        "limbs": {"basis": plan.growth, "first": plan.limbs, "there_are": MOST},
        "halves": [
            {"name": half.name, "bits": round(half.bits, 1), "limbs": half.limbs, "precision": _bits(half.limbs)}
            | {"seconds": half.seconds}
            for half in plan.halves
        ],
        "memory": {
            "basis": "estimated", "total": memory.total, "weights": memory.weights, "made_of_them": memory.made,
            "computed": memory.computed, "free": memory.free,
        },
        "time": {"basis": "calibrated"} | _times(plan.time),
        "workers": {"basis": "estimated", "count": plan.workers, "memory_each": memory.each(plan.workers)} | _times(plan.spread),
        "in_the_way": list(plan.obstacles),
        "bases": _BASES,
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _times(time: Time) -> dict[str, float]:
    return {
        "preparation": time.preparation, "first": time.first, "pass": time.passes, "token": time.token, "total": time.total,
    }  # fmt: skip


def _of_row(plan: Plan) -> str:
    return f' (table "{plan.row}")' if plan.row else ", as the scout of an earlier run saw it"


def _free(plan: Plan) -> str:
    free = plan.memory.free
    return "this machine does not say what is free" if free is None else f"{shown(free)} are free"


def _spread(plan: Plan) -> str:
    """Nothing spreads a pass yet: so it is said."""
    spread, each = plan.spread, shown(plan.memory.each(plan.workers))
    return f"{lasting(spread.total)} if spread over {plan.workers:,}, {each} each; a pass {lasting(spread.passes)} (not yet done)"


def _runs(halves: Sequence[HalfPlan]) -> str:
    """18 × 2, 17 × 3, …"""
    return ", ".join(f"{limbs} × {len(list(same))}" for limbs, same in groupby(half.limbs for half in halves))


def _table(halves: Sequence[HalfPlan]) -> list[str]:
    """Halves of blocks with the same limbs, one after the other, in one line."""
    lines = [f"{'':<32}{'growth':>10}{'limbs':>8}{'bits':>7}{'seconds':>11}"]
    for limbs, same in groupby(halves, key=lambda half: half.limbs):
        group = list(same)
        name = group[0].name if len(group) == 1 else f"{group[0].name} to {group[-1].name}"
        bits, seconds = sum(half.bits for half in group), sum(half.seconds for half in group)
        lines.append(f"{name:<32}{f'{bits:.0f} bits':>10}{limbs:>8}{_bits(limbs):>7}{seconds:>11.3g}")
    return lines


def _bits(limbs: int) -> int:
    """Of the fraction; 53 stands for float64."""
    return BITS * (limbs - 1) if limbs else 53


def lasting(seconds: float) -> str:
    """
    >>> [lasting(x) for x in (0.0123, 3.15, 75, 117, 5400, 200000)]
    ['0.012 s', '3.1 s', '75 s', '117 s', '90 min', '56 h']
    """
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 99 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"
