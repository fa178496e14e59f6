"""Lemmas about bounds themselves: that they are rounded outwards, and how they pass through matrices and softmax."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from limb_checks import BITS, as_arb, exact, fractions, worst

from exactformer.certified import attention, ball, bounds, choosing, limbs, norms
from exactformer.certified.arithmetic import CertifiedArithmetic, _kept
from exactformer.certified.ball import Ball, Gained
from exactformer.certified.moving import Moves
from exactformer.certified.weights import Vector
from exactformer.model import Config, MlpWeights
from exactformer.numbers.enclosure import precision

PLAIN: dict[str, Any] = {"vocabulary": ("a",), "blocks": 1, "norm": "none", "mask": "none", "scale": "none", "heads": 1}


def over(true: Fraction, bound: Any) -> float:
    """A quotient that is above 1 also where floats cannot tell."""
    if not bound:
        return math.inf if true else 0.0
    quotient = true / Fraction(float(bound))
    return max(float(quotient), 1 + 2.0**-52) if quotient > 1 else min(float(quotient), 1.0)


def outwards(random: np.random.Generator) -> float:
    """Floats that are rounded down as often as they can be, and squares that underflow."""
    k = int(random.integers(1, 10_000))
    ratios = [over(Fraction(k, 2**53 - k), bounds.gamma(k))]
    lost = np.full((60_000, 2), 2.0**-26.5 * (1 - 2.0**-30))  # the square of each is lost when it is added to 1
    lost[0] = 1
    tiny = np.full((3, 2), 2.0 ** -float(random.integers(530, 545)))
    for column in (lost, tiny):
        size = Fraction(column[0, 0]) ** 2 + (len(column) - 1) * Fraction(column[1, 0]) ** 2
        ratios += [over(size, Fraction(float(bound)) ** 2) for bound in ball.row_norms(column.T)]
        ratios.append(over(2 * size, Fraction(norms.frobenius(np.asfortranarray(column.T))) ** 2))
    return max(ratios)


def through_matrices(random: np.random.Generator) -> float:
    """An error that came through a LayerNorm, as γ ξ or besides, and passes a matrix, the logits, or an MLP: as far as it can.

    All matrices are of rank one, where no norm is larger than another.
    """
    rows, inner, n = int(random.integers(1, 20)), int(random.integers(1, 20)), int(random.choice([0, 4]))
    first = np.outer(random.standard_normal(rows), random.uniform(0.1, 1, inner)).astype(np.float32)
    second = np.outer(first[0], random.standard_normal(rows)).astype(np.float32)
    gain = Vector((random.standard_normal(rows) * 2.0 ** random.integers(-9, 9, rows)).astype(np.float32), "gain")
    by_gain = bool(random.random() < 0.5)
    along = first[:, 0] * (gain.floats if by_gain else np.ones(rows))
    along *= (1 - 1e-12) / np.sqrt((along**2).sum())
    step = fractions(along) * (fractions(gain.floats) if by_gain else 1)
    near = np.sign(first[:, :1].T) * 3000.0  # so that all of a ReLU is on
    x = Ball(limbs.split(near, n)[0] if n else near, n, np.ones(1), Gained(gain, np.ones(1) * by_gain, np.ones(1) * (not by_gain)))
    ops = CertifiedArithmetic(schedule=(n,))
    passed = step @ fractions(first)
    ratios = [over(sum(passed**2), Fraction(float(ops._reach(x, ops.store.matrix(first))[0])) ** 2)]
    ratios.append(over(sum(fractions(first[0]) ** 2), Fraction(float(ops.store.matrix(first).row_sizes[0])) ** 2))
    ratios.append(over(abs(passed[0]), ops.linear(x, first, None).spread()[0, 0]))
    config = Config(**PLAIN, dim=rows, mlp=inner, activation=str(random.choice(["identity", "relu"])))
    weights = MlpWeights(W_in=first, W_out=second, b_in=None, b_out=None)
    out = ops.mlp(x, weights, config, "blocks.0.mlp")["blocks.0.mlp.out"]
    pre = fractions(near)[0] @ fractions(first) + passed
    assert min(pre) > 0
    apart = pre @ fractions(second) - (exact(out.mid) if n else fractions(out.mid))[0]
    return max(*ratios, over(sum(apart**2), Fraction(float(out.radius[0])) ** 2))


def kept_keys(random: np.random.Generator) -> float:
    """Keys of several heads in other limbs than before: errors of single heads, and of a token over all heads."""
    heads, length, width = int(random.integers(1, 5)), int(random.integers(1, 4)), int(random.integers(1, 4))
    before, after = (int(n) for n in random.choice([0, 4, 5, 7], 2))
    near = random.standard_normal((heads, length, width)) * 2.0 ** random.integers(-30, 12, (heads, 1, 1))
    near[0] *= float(random.choice([0.0, 1.0]))
    mid = limbs.split(near, before)[0] if before else near
    if before:
        mid[2:] = 2.0**20 - random.integers(0, 2, mid[2:].shape)
    x, moves = Ball(mid, before, np.zeros((heads, length))), Moves.alike(np.zeros(length), heads)
    kept, moves = _kept(x, replace(moves, rest=moves.heads), after)
    centres = [exact(y.mid) if y.n else fractions(y.mid) for y in (x, kept)]
    errors = ((centres[0] - centres[1]) ** 2).sum(axis=2)  # [heads, T]
    known = ((errors.sum(axis=0), moves.whole), (errors, moves.heads), (errors, moves.rest), (errors, kept.radius))
    return max(over(e, Fraction(float(r)) ** 2) for es, rs in known for e, r in zip(es.ravel(), rs.ravel(), strict=True))


def probabilities(random: np.random.Generator) -> float:
    """Softmax of logits with a radius for every entry, each somewhere in its ball."""
    count, n = int(random.integers(1, 9)), int(random.choice([0, 5]))
    near = random.standard_normal((1, count)) * float(random.choice([0.01, 1.0, 60.0, 500.0]))
    mid = limbs.split(near, n)[0] if n else near
    radius = np.full((1, count), float(random.choice([0.0, 1e-9, 1e-2, 1.0, 60.0])))
    rows = attention.softmax(Ball(mid, n, radius))
    true = (exact(mid) if n else fractions(mid))[0] + fractions(radius[0] * random.choice((-1.0, 1.0), count))
    with precision(BITS):
        powers = [as_arb(x - max(true)).exp() for x in true]
        errors = [float(abs(p / sum(powers) - as_arb(q)).upper()) for p, q in zip(powers, fractions(rows.mid[0]), strict=True)]
    return worst(np.array(errors), rows.radius[0])


def overlooked_rivals(random: np.random.Generator) -> float:
    """Logits next to the middle between two floats, which differ in their last limb: how many rivals are not found, plus a half."""
    n, count = 6, 8
    mid = np.zeros((n, 1, count))
    mid[0], mid[1], mid[2] = 2, *(random.integers(-(1 << 20), 1 << 20, (2, 1, 1)))
    mid[3] = int(random.integers(-100, 100)) * 2.0**12 + 2.0**11
    mid[5] = random.integers(-100, 100, (1, count))
    logits = Ball(mid, n, np.full((1, count), 2.0**-110))
    winner = int(np.argmax(logits.midpoint()[0]))
    low = logits.enclosure((0, winner))[0]
    true = {i for i in range(count) if i != winner and logits.enclosure((0, i))[1] >= low}
    return len(true - set(choosing.rivals(logits, 0, winner))) + 0.5
