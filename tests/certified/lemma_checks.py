"""Each lemma of docs/certified.md put to the test, in as many rounds as say something. A ratio above 1 refutes a lemma."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from bound_checks import kept_keys, outwards, overlooked_rivals, probabilities, through_matrices
from limb_checks import (
    activation,
    carry,
    conversion,
    dots,
    exponential,
    float_functions,
    grown,
    product,
    slice_product,
    slice_product_low,
    slopes,
)
from moving_checks import attend, layer_norm, linear, saturated, spectral

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
