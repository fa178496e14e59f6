"""The cross-entropy of many rows of logits, enclosed (Lemma 33)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb

from exactformer.certified import bounds
from exactformer.certified.ball import Ball
from exactformer.certified.elementwise import exp_float
from exactformer.numbers.enclosure import precision

_SMALL = 2.0**-10  # up to here log(1 + s) is a polynomial and a remainder
_TOGETHER = 16  # rows whose sums are multiplied before a logarithm is taken


@bounds.MAY_BE_INFINITE
def cross_entropies(logits: Ball, targets: Any) -> tuple[float, float]:
    """Two ends around Σ −log softmax(row)[target], for rows [n, N] of floats with one radius each; infinite where a radius is."""
    mid, radius = logits.mid, logits.radius[:, 0]
    rows = np.arange(len(mid))
    best = mid.argmax(axis=1)
    behind = mid[rows, best] - mid[rows, targets]
    powers = exp_float(mid - mid[rows, best][:, None])
    powers[rows, best] = 0.0
    sums, tokens = powers.sum(axis=1), mid.shape[1]
    share = (bounds.grown(2 * radius + 81 * bounds.UNIT) + 8 * bounds.UNIT + 2 * bounds.gamma(tokens + 2)) * bounds.UP
    below = np.where(best == targets, 0.0, 2 * radius + 2 * bounds.UNIT * behind) * bounds.UP
    if not np.isfinite(share).all():
        return 0.0, math.inf
    small = sums < _SMALL
    low, high = _series(sums[small], share[small])
    far = ~small
    logarithms = _logarithms(1.0 + sums[far], share[far])
    ends = (
        [behind - below, low, [logarithms[0]]],
        [behind + below, high, [logarithms[1]], [len(mid) * tokens * 2.0**-113]],
    )
    return max(0.0, _sum(ends[0], -math.inf)), _sum(ends[1], math.inf)


def _series(s: Any, share: Any) -> tuple[Any, Any]:
    """log(1 + s) = s − s²/2 + s³/3 − s⁴/4 + at most s⁵/5, for sums that are right to a share of themselves."""
    value = s * (1 - s * (0.5 - s * (1 / 3 - s * 0.25)))
    room = share + 16 * bounds.UNIT
    return value * (1 - room * bounds.UP), (value * (1 + room) + s**5) * bounds.UP


def _logarithms(totals: Any, share: Any) -> tuple[float, float]:
    """Σ log of 1 + s: of products of some of them, by Arb; each is rounded once, and so is every product."""
    if not totals.size:
        return 0.0, 0.0
    padded = np.concatenate([totals, np.ones(-len(totals) % _TOGETHER)]).reshape(-1, _TOGETHER)
    products, room = padded.prod(axis=1), 2 * bounds.gamma(2 * _TOGETHER)  # a factor of 1 ± γ moves a logarithm by less than this
    with precision(96):
        total = sum((arb(product).log() for product in products.tolist()), arb(0))
        most = arb(float(share.max())) + arb(2) ** -40
        low, high = total * (1 - most) - len(products) * room, total * (1 + most) + len(products) * room
        return float(low.lower()) - 2.0**-60, float(high.upper()) + 2.0**-60


def _sum(parts: list[Any], towards: float) -> float:
    """Rounded outwards: `fsum` is right to one unit of the last place."""
    return math.nextafter(math.nextafter(math.fsum(x for part in parts for x in np.ravel(part).tolist()), towards), towards)
