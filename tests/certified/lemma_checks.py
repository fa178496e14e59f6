"""Each lemma of docs/certified.md put to the test, in as many rounds as say something. A ratio above 1 refutes a lemma."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from bound_checks import kept_keys, outwards, overlooked_rivals, probabilities, through_matrices
from gate_checks import gated, units
from head_checks import (
    capped_attention,
    caps,
    factors,
    grouped,
    knapsacks,
    normed,
    read_forms,
    rotation,
    rotation_of_extremes,
    tables,
    through_matrix,
)
from limb_checks import (
    activation,
    carry,
    conversion,
    dots,
    exponential,
    float_functions,
    grown,
    logistic,
    product,
    silu_far_out,
    slice_product,
    slice_product_low,
    slopes,
    steepness,
)
from moving_checks import attend, layer_norm, linear, rms_norm, saturated, spectral

CHECKS: dict[str, tuple[Callable[[np.random.Generator], float], int]] = {
    "carry (Lemma 1)": (carry, 40),
    "product entry by entry (Lemma 2)": (product, 60),
    "product with slices (Lemma 3)": (slice_product, 80),
    "dropped pairs of slices (Lemma 3)": (slice_product_low, 40),
    "conversions (Lemma 5)": (conversion, 60),
    "dot products (Lemma 7)": (dots, 60),
    "exponentials (Lemma 8)": (exponential, 60),
    "activations (Lemma 8)": (activation, 60),
    "functions of floats (Lemma 9)": (float_functions, 60),
    "LayerNorm (Lemmas 10 to 12)": (layer_norm, 500),
    "attention (Lemmas 13 to 15)": (attend, 700),
    "saturated attention (Lemma 15)": (saturated, 150),
    "kept keys (Lemma 5)": (kept_keys, 300),
    "softmax of logits (Lemma 14)": (probabilities, 300),
    "spectral norms (Lemma 16)": (spectral, 400),
    "products of balls (Lemmas 3, 4, 18 and 19)": (linear, 150),
    "slopes (Lemma 17)": (slopes, 2000),
    "matrices after a gain (Lemmas 16 to 18)": (through_matrices, 60),
    "rivals of the largest logit (Lemma 18)": (overlooked_rivals, 40),
    "RMSNorm (Lemmas 20 to 22)": (rms_norm, 400),
    "rotations (Lemma 23)": (rotation, 120),
    "rotations of extreme limbs (Lemma 23)": (rotation_of_extremes, 60),
    "cosines and sines (Lemma 23)": (tables, 20),
    "shared keys (Lemma 24)": (grouped, 400),
    "knapsacks (Lemma 25)": (knapsacks, 200),
    "errors through matrices (Lemma 26)": (through_matrix, 150),
    "forms of what is read (Lemma 26)": (read_forms, 300),
    "factors of Gram matrices (Lemma 26)": (factors, 60),
    "logistic function (Lemma 27)": (logistic, 40),
    "SiLU of large numbers (Lemma 27)": (silu_far_out, 40),
    "slopes near a point (Lemma 28)": (steepness, 1500),
    "MLPs with a gate (Lemma 28)": (gated, 250),
    "MLPs that weigh their units (Lemma 28)": (units, 200),
    "heads after an RMSNorm (Lemma 29)": (normed, 120),
    "soft caps (Lemma 30)": (caps, 80),
    "attention with a soft cap (Lemma 30)": (capped_attention, 200),
    "growth (Lemma 0)": (grown, 2000),
    "roundings and underflow (Lemma 0)": (outwards, 40),
}


def ratio(name: str, seed: int = 0) -> float:
    """The largest error over its bound in all cases of a check."""
    return max(ratios(name, seed))


def ratios(name: str, seed: int = 0) -> Iterator[float]:
    check, rounds = CHECKS[name]
    random = np.random.default_rng(seed)
    return (check(random) for _ in range(rounds))
