"""Errors of queries and keys in the directions in which they are read (Lemma 26)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import row_norms
from exactformer.certified.norms import frobenius
from exactformer.certified.rotating import Pairs, rotate_floats

_AT_ONCE = 1 << 20  # floats of the largest array that is made on the way


@dataclass(frozen=True, eq=False)
class Grams:
    """Of the matrix A = diag(γ) W of every head, [inputs, width]: floats near AᵀA, and L with ‖AᵀA − LLᵀ‖ ≤ off."""

    grams: Any  # [heads, width, width]
    factors: Any  # L: [heads, width, width]
    off: Any  # [heads]
    slack: Any  # [heads]: the rounding of yᵀ(AᵀA)y, for ‖y‖ = 1
    sizes: Any  # [heads]: at least ‖A‖


def grams(matrices: Any, sizes: Any) -> Grams:
    """Of matrices [heads, inputs, width] whose entries are right to 4u, and bounds of their norms."""
    _, inputs, width = matrices.shape
    products = np.matmul(matrices.transpose(0, 2, 1), matrices)
    products = (products + products.transpose(0, 2, 1)) / 2
    squares = np.square([frobenius(each) for each in matrices])
    values, vectors = np.linalg.eigh(products)  # a guess: what it misses is computed
    factors = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    rest = np.array([frobenius(each) for each in products - np.matmul(factors, factors.transpose(0, 2, 1))])
    sums = np.square([frobenius(each) for each in factors])
    off = rest * (1 + 4 * bounds.UNIT) + bounds.gamma(width + 4) * sums + bounds.gamma(inputs + 24) * squares
    return Grams(products, factors, off * bounds.UP, bounds.gamma(inputs + 2 * width + 24) * squares * bounds.UP, sizes)


@dataclass(frozen=True, eq=False)
class Normed:
    """Rows of heads that went through an RMSNorm with a gain: floats near φ = x/ρ and 1/ρ (Lemma 29)."""

    unit: Any  # φ: [heads, T, width]
    inverse: Any  # [heads, T]
    gain: Any  # [width]

    def steep(self, head: int) -> Any:
        """[T]: at least ‖JΓ‖."""
        return self.inverse[head] * (float(np.abs(self.gain).max()) * (1 + 2.0**-30))

    def back(self, x: Any, head: int, by_last: bool) -> Any:
        """J Γ x for x [T, S, width], with J = (I − φφᵀ/w)/ρ of the S rows (`by_last`) or of the T rows."""
        unit, inverse = self.unit[head], self.inverse[head]
        unit, inverse = (unit[None], inverse[None, :, None]) if by_last else (unit[:, None], inverse[:, None, None])
        x = x * self.gain
        return (x - unit * ((x * unit).sum(axis=-1, keepdims=True) / x.shape[-1])) * inverse

    def joined(self, new: Normed) -> Normed:
        unit, inverse = np.concatenate([self.unit, new.unit], axis=1), np.concatenate([self.inverse, new.inverse], axis=1)
        return Normed(unit, inverse, self.gain)


@dataclass(frozen=True, eq=False)
class Paths:
    """The matrices that keys and queries come through, and the turns after them: cosines and sines in floats, or None."""

    key: Grams
    query: Grams
    key_turns: tuple[Any, Any] | None = None  # [S, pairs]
    query_turns: tuple[Any, Any] | None = None  # [T, pairs]
    pairs: Pairs = "halves"

    def keys(self, q: Any, normed: Normed | None = None) -> Any:
        """[heads, T, S] or [heads, T, 1]: at least ‖A R_sᵀ q‖, or ‖A J_s Γ R_sᵀ q‖."""
        heads, length, width = q.shape
        of = np.arange(heads) // (heads // len(self.key.grams))
        sizes, steep, off = row_norms(q), np.ones((heads, 1)), bounds.READ
        if normed is not None:
            steep, off = np.stack([normed.steep(g) for g in of]), bounds.READ + bounds.gamma(3 * width + 64)  # [heads, S]
        if self.key_turns is None and normed is None:
            square = (np.matmul(q, self.key.grams[of]) * q).sum(axis=-1)[:, :, None]
        else:
            others = steep.shape[1] if self.key_turns is None else len(self.key_turns[0])
            square = np.empty((heads, length, others))
            together = max(1, _AT_ONCE // (others * width))
            for h in range(heads):
                for start in range(0, length, together):
                    back = self._back(q[h, start : start + together, None, :], self.key_turns)
                    back = (back if normed is None else normed.back(back, of[h], True)).reshape(-1, width)
                    square[h, start : start + together] = ((back @ self.key.grams[of[h]]) * back).sum(axis=-1).reshape(-1, others)
        slack, size = (x[of][:, None] for x in (self.key.slack, self.key.sizes))
        lengths = sizes[:, :, None] * steep[:, None, :]
        root = np.sqrt(np.maximum(square, 0) + slack[:, :, None] * np.square(lengths)) + bounds.TINY
        return (root + off * size[:, :, None] * lengths) * bounds.UP

    def queries(
        self, at: Any, p: Any, a: Any, b: Any, along: Any, more: Any, rounding: Any, normed: Normed | None = None
    ) -> Any:  # fmt: skip
        """[heads, rows `at`]: at least ‖Cov R_t Aᵀ‖ of a covariance Σ p a bᵀ − …, at most `along`, and of one of at most `more`.

        `rounding` is that of the covariance in floats, over that of L. With a norm before the turn, ‖Cov R_t Γ J_t Aᵀ‖.
        """
        heads, _, others = p.shape
        width = b.shape[-1]
        result = np.empty((heads, len(at)))
        together = max(1, _AT_ONCE // (others * width))
        for h in range(heads):
            for start in range(0, len(at), together):
                rows = at[start : start + together]
                mean = np.matmul(p[h, rows], a[h])[:, None, :]  # [rows, 1, width]
                back = b[h][None]
                if self.query_turns is not None:
                    back = self._back(back, tuple(x[rows, None, :] for x in self.query_turns))
                if normed is not None:
                    each = Normed(normed.unit[:, rows], normed.inverse[:, rows], normed.gain)
                    back = each.back(back, h, False)
                read = np.matmul(back, self.query.factors[h])  # [rows, S, width], or the same for all rows
                weighted = ((a[h] - mean) * p[h, rows, :, None]).transpose(0, 2, 1)  # [rows, width, S]
                result[h, start : start + together] = spectral_by_powers(np.matmul(weighted, read))
            steep = 1.0 if normed is None else normed.steep(h)[at]
            result[h] += rounding[h] * frobenius(self.query.factors[h]) * steep
            result[h] += (np.sqrt(self.query.off[h]) * along[h, at] + self.query.sizes[h] * more[h, at]) * steep
        return result * bounds.UP

    def _back(self, x: Any, turns: Any) -> Any:
        """Rᵀ x for floats x that are broadcast against the turns; x without any."""
        if turns is None:
            return x
        cosines, sines = turns
        return rotate_floats(x, (cosines, -sines), self.pairs)


def spectral_by_powers(matrices: Any) -> Any:
    """At least the spectral norms of [T, w, w]: ‖C‖⁴ = ‖(CᵀC)²‖, at most the Frobenius norm of that."""
    width = matrices.shape[-1]
    size = np.sqrt(np.square(matrices).sum(axis=-1).sum(axis=-1)) * bounds.UP + bounds.TINY
    unit = matrices / size[:, None, None]
    gram = np.matmul(unit.transpose(0, 2, 1), unit)
    square = np.square(np.matmul(gram, gram)).sum(axis=-1).sum(axis=-1)
    fourth = np.sqrt(square) * bounds.UP + bounds.POWERS * bounds.gamma(width + 8)
    return size * np.minimum(1.0, np.sqrt(np.sqrt(fourth))) * bounds.UP
