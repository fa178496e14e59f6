"""Every lemma against exact arithmetic or Arb: thousands of cases drawn to hurt, none outside its bound; and negative controls.

A mutation shrinks one constant or drops one bound; the check of its lemma must then find a case outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import head_checks
import numpy as np
import pytest
from lemma_checks import CHECKS, ratio, ratios
from moving_checks import many_positions

from exactformer.certified import (
    attention,
    ball,
    bounds,
    choosing,
    constants,
    directions,
    elementwise,
    head_norms,
    limbs,
    moving,
    normalising,
    norms,
    perceptron,
    rotating,
    store,
    tables,
    weights,
)


@pytest.mark.parametrize("name", CHECKS)
def test_no_case_is_outside(name: str, record_property: Callable[[str, object], None]) -> None:
    worst = ratio(name)
    record_property("worst error over its bound", float(worst))
    assert 0 < worst <= 1
    assert np.isfinite(worst)


def test_the_bounds_are_not_slack() -> None:
    """Bounds that are many times too large would pass every check: most of them are nearly reached."""
    assert ratio("carry (Lemma 1)") > 0.99
    assert ratio("product entry by entry (Lemma 2)") > 0.99
    assert ratio("dot products (Lemma 7)") > 0.99
    assert ratio("slopes (Lemma 17)") > 0.99


def refuted(name: str) -> bool:
    return any(not ratio <= 1 for ratio in ratios(name))


def nothing(*values: Any, **named: Any) -> float:
    return 0.0


def times(factor: float, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: factor * function(*values)


GAIN = "matrices after a gain (Lemmas 16 to 18)"
RMS, SHARED = "RMSNorm (Lemmas 20 to 22)", "shared keys (Lemma 24)"
NORMED = "heads after an RMSNorm (Lemma 29)"
GATE = "MLPs with a gate (Lemma 28)"
THROUGH = "errors through matrices (Lemma 26)"
MATRIX = weights.Matrix
FULL = {name: getattr(bounds, name) for name in ("product", "horner", "exponential", "float_horner", "gamma")}
MUTATIONS: list[tuple[str, Any, str, Any]] = [
    ("carry (Lemma 1)", bounds, "CARRY", 0.499),
    ("product entry by entry (Lemma 2)", bounds, "CARRY", 0.49),
    ("product entry by entry (Lemma 2)", bounds, "product", lambda a, b, n: bounds.CARRY),
    ("product with slices (Lemma 3)", bounds, "CARRY", 0.4),
    ("dropped pairs of slices (Lemma 3)", bounds, "slices", lambda below, shift: bounds.CARRY),
    ("dropped pairs of slices (Lemma 3)", bounds, "slices", lambda below, shift: bounds.CARRY + 2.0 ** (-2 - shift) * below),
    ("conversions (Lemma 5)", bounds, "SPLIT", 0.49),
    ("conversions (Lemma 5)", bounds, "TO_FLOAT", 0.9 * bounds.UNIT),
    ("dot products (Lemma 7)", bounds, "dots", lambda width, n: bounds.CARRY),
    ("activations (Lemma 8)", bounds, "horner", times(0.7, FULL["horner"])),
    ("activations (Lemma 8)", bounds, "ENTRY", 0.0),
    ("exponentials (Lemma 8)", bounds, "exponential", times(0.2, FULL["exponential"])),
    ("functions of floats (Lemma 9)", bounds, "FLOAT_SELF", 0.5 * bounds.UNIT),
    ("functions of floats (Lemma 9)", bounds, "float_horner", nothing),
    ("functions of floats (Lemma 9)", bounds, "FLOAT_EXP", bounds.UNIT),
    ("functions of floats (Lemma 9)", bounds, "FLOAT_EXP_LEAST", 2.0**-117),
    ("LayerNorm (Lemmas 10 to 12)", bounds, "norm_scale", nothing),
    ("LayerNorm (Lemmas 10 to 12)", bounds, "norm_gain", nothing),
    ("LayerNorm (Lemmas 10 to 12)", bounds, "gamma", nothing),
    ("LayerNorm (Lemmas 10 to 12)", normalising, "reach", lambda radius, *rest: 0 * radius),
    ("LayerNorm (Lemmas 10 to 12)", normalising, "reach", lambda r, c, d, e: r / np.sqrt(c**2 / d + float(e))),
    ("attention (Lemmas 13 to 15)", moving, "by_value", lambda upper, *rest: np.zeros(upper.shape[1])),
    ("attention (Lemmas 13 to 15)", moving, "by_key", lambda upper, *rest: np.zeros(upper.shape[1])),
    ("attention (Lemmas 13 to 15)", moving, "by_query", lambda covariance, rq: 0 * rq.whole),
    ("attention (Lemmas 13 to 15)", bounds, "grown", lambda y: 0 * y),
    ("attention (Lemmas 13 to 15)", bounds, "product", nothing),
    ("attention (Lemmas 13 to 15)", bounds, "gamma", nothing),
    (RMS, bounds, "rms_scale", nothing),
    (RMS, bounds, "norm_gain", nothing),
    (RMS, bounds, "gamma", nothing),
    (RMS, normalising, "reach", lambda radius, *rest: 0 * radius),
    (RMS, normalising, "reach", lambda r, c, d, e: r / np.sqrt(c**2 / d + float(e))),
    (RMS, store, "one_more", lambda w: w),
    ("rotations (Lemma 23)", bounds, "FLOAT_TURN", 0.5 * bounds.UNIT),
    ("rotations of extreme limbs (Lemma 23)", bounds, "rotation", lambda n, entries, size: entries**0.5 * bounds.CARRY + 0 * size),
    ("cosines and sines (Lemma 23)", rotating, "nearest_integer", lambda ball, bits: tables.nearest_integer(ball, bits - 1) * 2),
    (SHARED, moving, "_shared_out", lambda weights, moves, groups: weights.max(axis=0)),  # as Lemma 15 has it: false here
    (SHARED, moving.Moves, "shares", property(lambda self, full=moving.Moves.shares.fget: 0.9 * full(self))),
    (SHARED, moving, "by_value", lambda upper, *rest: np.zeros(upper.shape[1])),
    (SHARED, moving, "by_key", lambda upper, *rest: np.zeros(upper.shape[1])),
    (SHARED, moving, "by_query", lambda covariance, rq: 0 * rq.whole),
    ("knapsacks (Lemma 25)", head_checks, "knapsack", lambda weights, caps, budget: weights.max() * min(budget, caps.max())),
    (THROUGH, moving, "by_key_read", lambda upper, *rest: np.zeros(upper.shape[1])),
    (THROUGH, directions.Paths, "keys", times(0.5, directions.Paths.keys)),
    (THROUGH, directions.Paths, "queries", times(0.2, directions.Paths.queries)),
    ("forms of what is read (Lemma 26)", directions.Paths, "keys", times(0.99, directions.Paths.keys)),
    ("forms of what is read (Lemma 26)", head_checks, "spectral_by_powers", times(0.99, directions.spectral_by_powers)),
    ("logistic function (Lemma 27)", bounds, "logistic", times(0.1, bounds.logistic)),
    ("activations (Lemma 8)", bounds, "silu", lambda inverse, size, n: bounds.product(n, n, n)),
    ("SiLU of large numbers (Lemma 27)", bounds, "FLOAT_SILU_LEAST", 0.0),
    ("functions of floats (Lemma 9)", bounds, "FLOAT_SILU", bounds.UNIT),
    ("slopes near a point (Lemma 28)", bounds, "CURVES", dict.fromkeys(bounds.CURVES, 0.1)),
    (GATE, perceptron, "steepness", times(0.9, elementwise.steepness)),
    (GATE, perceptron, "weighed", times(0.9, perceptron.weighed)),
    (GATE, perceptron, "_activated", lambda mid, n, kind, full=perceptron._activated: (full(mid, n, kind)[0], np.zeros(1))),
    ("MLPs that weigh their units (Lemma 28)", perceptron, "weighed", times(0.99, perceptron.weighed)),
    (NORMED, bounds, "BENT", 0.3),
    (NORMED, head_norms, "rms_parts", lambda x, *rest: (*normalising.rms_parts(x, *rest)[:1], *np.zeros((3, len(x))))),
    (NORMED, directions.Normed, "back", times(0.5, directions.Normed.back)),
    ("soft caps (Lemma 30)", bounds, "soft_cap", times(0.05, bounds.soft_cap)),
    ("soft caps (Lemma 30)", bounds, "FLOAT_CAP", bounds.UNIT),
    ("attention with a soft cap (Lemma 30)", moving, "by_cap", lambda upper, *rest: np.zeros(upper.shape[:2])),
    ("spectral norms (Lemma 16)", norms, "_bounds_of", lambda grams, *rest: 0.98 * np.linalg.norm(grams, 2, axis=(1, 2))),
    ("products of balls (Lemmas 3, 4, 18 and 19)", bounds, "gamma", nothing),
    ("products of balls (Lemmas 3, 4, 18 and 19)", bounds, "slices", nothing),
    ("products of balls (Lemmas 3, 4, 18 and 19)", weights.Matrix, "column_sizes", lambda self, gain: np.zeros(self.outputs)),
    ("slopes (Lemma 17)", bounds, "SLOPES", dict.fromkeys(("gelu", "gelu_tanh", "silu"), (-0.128, 1.128))),
    ("slopes (Lemma 17)", bounds, "SLOPES", bounds.SLOPES | {"silu": (-0.0995, 1.0995)}),
    ("growth (Lemma 0)", bounds, "grown", lambda y: y * (1 - 2.0**-50)),
    ("roundings and underflow (Lemma 0)", bounds, "UP", 1.0),
    ("roundings and underflow (Lemma 0)", bounds, "UP", 1 + 2.0**-39),
    ("roundings and underflow (Lemma 0)", bounds, "TINY", 0.0),
    ("dot products (Lemma 7)", attention, "_TERMS", 60_000),
    ("softmax of logits (Lemma 14)", bounds, "grown", lambda y: 0 * y),
    ("softmax of logits (Lemma 14)", bounds, "FLOAT_EXP_LEAST", 0.0),
    ("saturated attention (Lemma 15)", bounds, "COVARIANCE", 0),
    ("saturated attention (Lemma 15)", bounds, "APART", 0),
    ("kept keys (Lemma 5)", moving.Moves, "wider", lambda self, added: replace(self, heads=added, rest=added, whole=added[0])),
    ("kept keys (Lemma 5)", moving.Moves, "wider", lambda self, added: replace(self, heads=added, whole=ball.row_norms(added.T))),
    (GAIN, MATRIX, "frobenius", property(lambda self, full=MATRIX.__dict__["frobenius"].func: 0.99 * full(self))),
    (GAIN, MATRIX, "norm", times(0.99, MATRIX.norm)),
    (GAIN, MATRIX, "norm_through", times(0.99, MATRIX.norm_through)),
    (GAIN, MATRIX, "column_sizes", times(0.99, MATRIX.column_sizes)),
    (GAIN, bounds, "SLOPES", {"relu": (0.0, 0.99), "identity": (1.0, 1.0)}),
    (GAIN, bounds, "SLOPES", {"relu": (0.0, 1.0), "identity": (0.99, 0.99)}),
    ("rivals of the largest logit (Lemma 18)", choosing, "bounds", SimpleNamespace(UNIT=0, UP=1)),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m[2]} of {m[0]}")
def test_a_smaller_bound_is_refuted(mutation: tuple[str, Any, str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    name, where, what, smaller = mutation
    monkeypatch.setattr(where, what, smaller)
    assert refuted(name)


def test_a_slack_that_is_forgotten_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    spectral = norms.spectral
    monkeypatch.setattr(norms, "spectral", lambda matrix, slack=0.0: spectral(matrix))
    assert refuted("spectral norms (Lemma 16)")


def test_rational_weights_of_few_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few bits for what is no float, the error of the weights is what counts: it is in the radius, and must be."""
    name = "products of balls (Lemmas 3, 4, 18 and 19)"
    for module in (constants, weights):
        monkeypatch.setattr(module, "RATIONAL_BITS", 84)
    assert ratio(name) <= 1
    monkeypatch.setattr(weights, "_ROUNDED", 0.0)
    assert refuted(name)


def test_how_many_roundings_a_radius_may_take() -> None:
    """Lemma 0: 2^16 of them; and what underflows is less than what is added to roots, and to the least radius."""
    down = Fraction(2**53 - 1, 2**53)
    assert down**65537 * Fraction(bounds.UP) > 1
    lost = Fraction(1, 2**1075)  # of a product, at most
    assert Fraction(bounds.TINY) ** 2 > 2**40 * 2**16 * lost
    assert Fraction(bounds.FLOOR) * (Fraction(bounds.UP) - 1) / 2 > 2**500 * 2**24 * lost  # of a row of 2^16 sums of as many
    assert limbs.ulp(limbs.MOST) / 2 > bounds.FLOOR
    assert ball.outwards(np.zeros(1))[0] == bounds.FLOOR


def test_dot_products_of_a_thousand_positions_are_exact() -> None:
    """Lemma 7: 15 limbs at 1,024 positions, in blocks, against integers; only the last carry rounds."""
    random, n, others, width = np.random.default_rng(0), 15, 1024, 2
    powers, v = (2.0**20 - random.integers(0, 3, (n, 1, *shape)) for shape in ((1, others), (others, width)))
    a, b = powers[:, 0].astype(np.int64), v[:, 0].astype(np.int64)
    kept = sum(
        (a[i] @ b[j]).astype(object) * (1 << (21 * (n + 1 - i - j))) for i in range(n) for j in range(n) if i + j <= n + 1
    )  # fmt: skip
    computed = limbs.to_integers(attention._sums(powers, v))[0] * (1 << 42)
    assert 0 < max(abs(int(apart)) for apart in (computed - kept).ravel()) <= bounds.CARRY * 2**42


@pytest.mark.parametrize("n", [0, 8, 15])
def test_attention_to_a_thousand_positions(n: int) -> None:
    assert 0 < many_positions(n) <= 1


def test_heads_one_by_one_are_what_they_are_together(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    q, k, v = (limbs.split(random.standard_normal((5, t, 3)), 4)[0] for t in (2, 6, 6))
    seen, factor = np.arange(6) <= np.array([[3], [5]]), limbs.split(np.array([0.5]), 5)[0][:, 0]
    whole = attention.attend_limbs(q, k, v, seen, factor, 2.0**-90)
    monkeypatch.setattr(attention, "_AT_ONCE", 100)  # two heads
    parts = attention.attend_limbs(q, k, v, seen, factor, 2.0**-90)
    for name in ("z", "pattern", "dots", "scores", "score_error", "dot_error"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))
    assert np.allclose(whole.rounding, parts.rounding, rtol=1e-9)
    assert np.allclose(whole.pattern_error, parts.pattern_error, rtol=1e-9)
    assert attention.attend_limbs(q, k, v, seen, factor, 2.0**-90, keep=False).scores is None
