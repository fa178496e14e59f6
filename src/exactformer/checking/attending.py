"""Attention alone, q, k and v as they stand: a claim of it is the claims of its steps, so that a slip is followed through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from exactformer.checking.record import Index
from exactformer.numbers import exact, sqrt
from exactformer.numbers.arrays import Array

Operand = Array | tuple[str, Index]  # numbers that stand there, or a node and the part of it that is read


class Part(NamedTuple):
    """A step on the way: its name, the operation, what that reads, and with what parameters; which operand may not fit."""

    name: str
    operation: str
    operands: Sequence[Operand]
    parameters: dict[str, Any]
    fits: str = "q"


def parts(name: str, q: Operand, k: Operand, v: Operand, width: int, scale: Any, mask: str) -> list[Part]:
    """softmax(q kᵀ · scale, masked) v: `name.qk`, `name.scores`, `name.masked`, `name.pattern`, and `name` itself."""
    factor = 1 / sqrt(exact(width)) if scale == "sqrt" else exact(1) if scale == "none" else scale
    qk, scores, masked, pattern = (f"{name}.{step}" for step in ("qk", "scores", "masked", "pattern"))
    return [
        Part(qk, "scores", (q, k), {}, "k"),
        Part(scores, "scale", ((qk, ()),), {"factor": factor}),
        Part(masked, "mask", ((scores, ()),), {"mask": mask}),
        Part(pattern, "softmax", ((masked, ()),), {}),
        Part(name, "matmul", ((pattern, ()), v), {}, "v"),
    ]
