"""Upper bounds of spectral norms, proved after the fact (Lemma 16)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.limbs import check_terms

_STEPS = 60  # of the power iteration that guesses the norm
_ABOVE = 1.01  # the guess is made larger by this, and by more where that is not enough


def frobenius(matrix: Any) -> float:
    """Not too small: rows are summed first, so that no sum has more terms than Lemma 0 allows."""
    rows = np.atleast_2d(matrix)
    check_terms(*rows.shape)
    return float(np.sqrt(np.square(rows, dtype=np.float64).sum(axis=-1).sum())) * bounds.UP + bounds.TINY


@bounds.MAY_BE_INFINITE
def spectral(matrix: Any, slack: float = 0.0) -> float:
    """At least ‖A‖₂ for every A with ‖A − matrix‖_F ≤ slack.

    >>> bound = spectral(np.diag([3.0, 4.0]))
    >>> 4 <= bound < 4.05
    True
    """
    a = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    norm = frobenius(a)
    if not math.isfinite(norm):
        return math.inf
    bound = min([norm, *(math.sqrt(b) for b in _gram_bounds(a, norm))])
    return (bound + slack) * bounds.UP


def _gram_bounds(a: Any, norm: float) -> list[float]:
    """Bounds of λ_max(A Aᵀ): μ + ‖μI − G − LLᵀ‖ for any L whatever, since LLᵀ has no negative eigenvalue."""
    size = len(a)
    gram = np.tril(a @ a.T)
    gram = gram + np.tril(gram, -1).T  # each entry is a computed dot product, and the matrix is symmetric
    rounding = bounds.gamma(a.shape[1]) * np.square(norm)
    guess = _largest_eigenvalue(gram)
    for attempt in range(8):
        mu = guess * _ABOVE ** (1 + attempt**2)
        rest = -gram
        rest[np.diag_indices(size)] += mu
        rounding_diagonal = 2 * bounds.UNIT * math.sqrt(size) * (mu + float(gram.diagonal().max()))
        try:
            factor = np.linalg.cholesky(rest)
        except np.linalg.LinAlgError:
            continue
        residual = (
            frobenius(rest - factor @ factor.T) * (1 + 4 * bounds.UNIT)
            + bounds.gamma(size + 2) * np.square(frobenius(factor)) * bounds.UP
        )
        if math.isfinite(residual):
            return [(mu + residual + rounding_diagonal + rounding) * bounds.UP]
    return []


def _largest_eigenvalue(gram: Any) -> float:
    """Only a guess."""
    x = np.random.default_rng(0).standard_normal(len(gram))
    for _ in range(_STEPS):
        x = gram @ x
        size = float(np.linalg.norm(x))
        if size == 0 or not math.isfinite(size):
            return float(np.trace(gram))
        x /= size
    return float(x @ gram @ x)
