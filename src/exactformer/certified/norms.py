"""Upper bounds of spectral norms, proved after the fact (Lemma 16)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.limbs import check_terms

_STEPS = 16  # of the iteration that guesses the norm
_ABOVE = 1.01  # the guess is made larger by this, and by more where that is not enough
_PANEL = 64  # rows of a factor that are found together


def frobenius(matrix: Any) -> float:
    """Not too small: rows are summed first, so that no sum has more terms than Lemma 0 allows."""
    rows = np.atleast_2d(matrix)
    check_terms(*rows.shape)
    return math.sqrt(float(squares(rows).sum())) * bounds.UP + bounds.TINY


def squares(rows: Any) -> Any:
    """Of every row, the sum of the squares of its entries, in float64: no array as large is made on the way."""
    return np.einsum("...j,...j->...", rows, rows, dtype=np.float64)


@bounds.MAY_BE_INFINITE
def spectral(matrix: Any, slack: float = 0.0) -> float:
    """At least ‖A‖₂ for every A with ‖A − matrix‖_F ≤ slack.

    >>> bound = spectral(np.diag([3.0, 4.0]))
    >>> 4 <= bound < 4.05
    True
    """
    a = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    return Gram.of([a]).spectral(slack)


@bounds.MAY_BE_INFINITE
def spectral_each(matrices: Any, slack: float) -> list[float]:
    """The same of each of several matrices of one shape, [count, rows, columns]. `slack` is in units of the Frobenius norm of each.

    >>> [round(bound, 1) for bound in spectral_each(np.array([np.diag([3.0, 4.0]), np.diag([1.0, 2.0])]), 0.0)]
    [4.0, 2.0]
    """
    a = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.transpose(0, 2, 1)
    norms = np.array([frobenius(each) for each in a])
    if not np.isfinite(norms).all():
        return [spectral(each, slack * norm) for each, norm in zip(a, norms, strict=True)]
    found = _bounds_of(np.matmul(a, a.transpose(0, 2, 1)), a.shape[2], norms)
    return [_least(norm, square, slack * norm) for norm, square in zip(norms, found, strict=True)]


@dataclass
class Gram:
    """A Aᵀ of a wide matrix A, found part by part: each entry is a computed sum of products."""

    products: Any
    columns: int
    norm: float  # at least ‖A‖_F

    @classmethod
    @bounds.MAY_BE_INFINITE
    def of(cls, parts: Iterable[Any]) -> Gram:
        """Of some columns of A, the next ones, …, each in float64."""
        products, columns, norms = None, 0, []
        for part in parts:
            norms.append(frobenius(part))
            products = part @ part.T if products is None else np.add(products, part @ part.T, out=products)
            columns += part.shape[1]
        return cls(products, columns, frobenius(np.array(norms)))

    @bounds.MAY_BE_INFINITE
    def beside(self, other: Gram) -> Gram:
        """Of both matrices side by side."""
        return Gram(self.products + other.products, self.columns + other.columns, frobenius(np.array([self.norm, other.norm])))

    @bounds.MAY_BE_INFINITE
    def spectral(self, slack: float = 0.0) -> float:
        """At least ‖B‖₂ for every B with ‖A − B‖_F ≤ slack (Lemma 16)."""
        if not math.isfinite(self.norm):
            return math.inf
        (square,) = _bounds_of(self.products[None], self.columns, np.array([self.norm]))
        return _least(self.norm, square, slack)


def _least(norm: float, square: float, slack: float) -> float:
    return float((min(norm, math.sqrt(square)) + slack) * bounds.UP) if math.isfinite(norm) else math.inf


def _bounds_of(grams: Any, terms: int, norms: Any) -> Any:
    """Bounds of λ_max(A Aᵀ), for each of several: μ + ‖μI − G − LLᵀ‖ for any L whatever, since LLᵀ has no negative eigenvalue."""
    size = grams.shape[-1]
    guess = np.array([_largest_eigenvalue(gram) for gram in grams])
    for attempt in range(8):
        mu = guess * _ABOVE ** (1 + attempt**2)
        try:
            rest, factor = _rest(grams, mu)
        except np.linalg.LinAlgError:
            if len(grams) > 1:  # one of them: each by itself, then
                each = [_bounds_of(grams[i : i + 1], terms, norms[i : i + 1]) for i in range(len(grams))]
                return np.concatenate(each)
            continue
        diagonal = 2 * bounds.UNIT * math.sqrt(size) * (mu + grams.diagonal(axis1=-2, axis2=-1).max(axis=-1))
        residual = rest * (1 + 4 * bounds.UNIT) + bounds.gamma(size + 2) * np.square(factor) * bounds.UP
        if np.isfinite(residual).all():
            return (mu + residual + diagonal + bounds.gamma(terms) * np.square(norms)) * bounds.UP
    return np.full(len(grams), np.inf)


def _rest(grams: Any, mu: Any) -> tuple[Any, Any]:
    """At least ‖μI − G − LLᵀ‖_F and ‖L‖_F for the L of a Cholesky decomposition, found some rows of Lᵀ at a time.

    What is left of these rows for those before them is needed for L as well as for the residual. It is found from the diagonal on:
    an entry beyond it stands for its mirror image, too.
    """
    size = grams.shape[-1]
    check_terms(size, size)
    upper = np.zeros_like(grams)  # Lᵀ
    rests, factors = [], []
    for start in range(0, size, _PANEL):
        rows, beyond = slice(start, start + _PANEL), slice(start + _PANEL, None)
        left = -grams[:, rows, start:]
        at = np.arange(left.shape[1])
        left[:, at, at] += mu[:, None]
        if start:
            left -= upper[:, :start, rows].transpose(0, 2, 1) @ upper[:, :start, start:]
        corner = np.linalg.cholesky(left[:, :, : len(at)])
        upper[:, rows, rows] = corner.transpose(0, 2, 1)
        if start + len(at) < size:
            upper[:, rows, beyond] = np.linalg.inv(corner) @ left[:, :, len(at) :]
        left -= corner @ upper[:, rows, start:]
        rests.append(squares(left[:, :, : len(at)]) + 2 * squares(left[:, :, len(at) :]))
        factors.append(squares(upper[:, rows, start:]))
    return tuple(np.sqrt(np.concatenate(each, axis=1).sum(axis=1)) * bounds.UP + bounds.TINY for each in (rests, factors))


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
