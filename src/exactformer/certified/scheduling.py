"""How many limbs each block gets. A guess, which proves nothing: a schedule that is too short ends in an undecided pass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.certified.arithmetic import CertifiedArithmetic, Schedule
from exactformer.certified.ball import FLOAT, Ball
from exactformer.certified.weights import Store
from exactformer.model.forward import Model, forward

FEWEST, MOST = 4, 15
_SMALL = 2.0**-26  # the radius that the scout starts every block with: beyond the rounding of floats, too small to bend
_LIMB_NOISE = 11.0  # bits: what rounding in limbs amounts to, as a radius of the stream: in ulps times the size of the stream
_FLOAT_NOISE = -35.5  # the same of floats
_SPARE = 3.0  # bits by which the radius should stay below the lead: one for two radii, the rest for several blocks at once

_WIDEST = -2.0  # bits of a lead that is made use of: radii any larger no longer grow in proportion


@dataclass(frozen=True)
class Growth:
    """In bits: by how much each block, then the head, multiplies a radius; and the size of the stream before each."""

    blocks: tuple[float, ...]
    sizes: tuple[float, ...]


def scout(model: Model, ids: list[int], store: Store) -> tuple[Growth, float]:
    """A pass in floats whose radius is made small again before every block: its growth, and the lead of the largest logit."""
    growth, sizes = [], []

    def note(name: str, op: str, value: Any, *reads: str, remarks: tuple[tuple[int, str], ...] = ()) -> Any:
        if not name.endswith(("resid_pre", "resid_post")) or (name.endswith("resid_pre") and name != "blocks.0.resid_pre"):
            return value
        most = float(np.max(value.radius))
        if name.endswith("resid_post"):
            growth.append(_bits(most / _SMALL))
        near = value.midpoint()
        sizes.append(_bits(float(np.sqrt(np.square(near).mean(axis=-1)).max())))
        known = name.endswith("resid_post") and 0 < most < math.inf
        radius = value.radius * (_SMALL / most) if known else np.full(value.radius.shape, _SMALL)
        return Ball(value.mid, value.n, np.maximum(radius, _SMALL * 2.0**-10))

    logits = forward(model, ids, CertifiedArithmetic(store, (FLOAT,), last_only=True), note)
    growth.append(_bits(float(np.max(logits.spread()[-1])) / _SMALL))
    top = np.sort(logits.midpoint()[-1])[-2:]
    return Growth(tuple(growth), (*sizes, 0.0)[: len(growth)]), float(top[-1] - top[0])


def _bits(x: float) -> float:
    return min(200.0, max(-200.0, math.log2(x))) if x > 0 else -200.0 if x == 0 else 200.0


def schedule_for(growth: Growth, margin: float, extra: float = 0.0) -> Schedule:
    """The fewest limbs that should do: for all blocks, then for the head."""
    blocks = len(growth.blocks) - 1
    target = min(_bits(margin), _WIDEST) - _SPARE - extra
    result: list[int] = []
    ahead, floats = 0.0, True
    for n in range(blocks, -1, -1):
        ahead += growth.blocks[n]
        floats = floats and ahead + growth.sizes[n] + _FLOAT_NOISE <= target
        limbs = math.ceil((ahead + growth.sizes[n] + _LIMB_NOISE - target) / 21) + 1
        result.append(FLOAT if floats else max(FEWEST, limbs, *result))
    return tuple(reversed(result))
