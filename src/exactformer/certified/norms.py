"""Upper bounds of spectral norms, proved after the fact (Lemma 16)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.limbs import check_terms

_STEPS = 16  # of the iteration that guesses the norm
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
    return _least(norm, _gram_bounds(a, norm), slack)


@bounds.MAY_BE_INFINITE
def spectral_beside(pieces: Iterator[Any], slack: float) -> tuple[list[float], float]:
    """The same of each of several wide matrices, and of all side by side, whose Gram matrix is the sum of theirs.

    `slack` is in units of the Frobenius norm of each.

    >>> (first, second), both = spectral_beside(iter((np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]]))), 0.0)
    >>> 3 <= first < 3.04, 4 <= second < 4.05, 5 <= both < 5.06
    (True, True, True)
    """
    found, together, columns, norms = [], None, 0, []
    for a in pieces:
        norms.append(frobenius(a))
        gram = _gram(a)
        found.append(_least(norms[-1], _bounds_of(gram, a.shape[1], norms[-1]), slack * norms[-1]))
        together, columns = gram if together is None else together + gram, columns + a.shape[1]
    norm = frobenius(np.array(norms))
    return found, _least(norm, _bounds_of(together, columns, norm), slack * norm)


def _least(norm: float, squares: list[float], slack: float) -> float:
    return (min([norm, *map(math.sqrt, squares)]) + slack) * bounds.UP if math.isfinite(norm) else math.inf


def _gram(a: Any) -> Any:
    """A Aᵀ: each entry is a computed dot product, and the matrix is symmetric."""
    gram = np.tril(a @ a.T)
    return gram + np.tril(gram, -1).T


def _gram_bounds(a: Any, norm: float) -> list[float]:
    return _bounds_of(_gram(a), a.shape[1], norm)


def _bounds_of(gram: Any, terms: int, norm: float) -> list[float]:
    """Bounds of λ_max(A Aᵀ): μ + ‖μI − G − LLᵀ‖ for any L whatever, since LLᵀ has no negative eigenvalue."""
    size = len(gram)
    rounding = bounds.gamma(terms) * np.square(norm)
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
    """Only a guess: by the method of Lanczos."""
    x, before, off = np.random.default_rng(0).standard_normal(len(gram)), np.zeros(len(gram)), 0.0
    x /= float(np.linalg.norm(x))
    small = np.zeros((_STEPS, _STEPS))
    for i in range(_STEPS):
        y = gram @ x
        small[i, i] = x @ y
        y -= small[i, i] * x + off * before
        off = float(np.linalg.norm(y))
        if i + 1 == _STEPS or not off > 0 or not math.isfinite(off):
            break
        small[i, i + 1] = small[i + 1, i] = off
        x, before = y / off, x
    return float(np.linalg.eigvalsh(small)[-1]) if np.isfinite(small).all() else float(np.trace(gram))
