"""The weights of a model as certified passes use them: exact slices, floats, and verified norms. All made when first asked for."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.ball import row_norms
from exactformer.certified.constants import RATIONAL_BITS, VECTOR_BITS, floats_of, integers
from exactformer.certified.directions import Grams, grams
from exactformer.certified.limbs import BITS, Limbs, from_integers, split
from exactformer.certified.norms import frobenius, spectral, spectral_beside
from exactformer.certified.slices import Sliced, check_blas, from_floats
from exactformer.certified.slices import from_integers as slices_from_integers

Kept = TypeVar("Kept")
_PART = 1 << 20  # entries of a matrix that are cut, or made floats, at a time
_ROUNDED = 0.51  # in units of 2^−RATIONAL_BITS: the error of such a weight (Lemma 19)


class Vector:
    """A bias, a gain, or a table to look up in."""

    def __init__(self, weights: Any, name: str) -> None:
        self.weights, self.name = weights, name
        self.held: dict[int, tuple[Limbs, bool]] = {}

    @functools.cached_property
    def floats(self) -> Any:
        return floats_of(self.weights)

    @functools.cached_property
    def largest(self) -> float:
        return float(np.abs(self.floats).max()) * bounds.UP if self.floats.size else 0.0

    def limbs(self, n: int) -> tuple[Limbs, bool]:
        """In n limbs, right to 0.75 ulp, and whether exactly."""
        if n not in self.held:
            self.held[n] = self.rows(n, slice(None))
        return self.held[n]

    def rows(self, n: int, rows: Any) -> tuple[Limbs, bool]:
        part = self.weights[rows]
        if part.dtype != object:
            return split(floats_of(part), n)
        values, exact = integers(part, VECTOR_BITS)
        drop = VECTOR_BITS - BITS * (n - 1)
        kept = (values + ((1 << drop) >> 1)) >> drop
        return from_integers(kept, n), exact and not ((kept << drop) - values).any()


class Matrix:
    """One matrix [K, N], or several side by side that multiply the same rows.

    Its slices and floats are made some columns at a time: they take eight bytes for each weight, or more, and whether they are kept
    for the next product is a matter of memory (`Store.keeping`).
    """

    def __init__(self, pieces: tuple[Any, ...], name: str, verified: VerifiedNorms, keeping: Keeping | None = None) -> None:
        check_blas()
        self.pieces, self.name, self.verified = pieces, name, verified
        self.keeping = Keeping() if keeping is None else keeping
        self.inputs = pieces[0].shape[0]
        self.outputs = sum(piece.shape[1] for piece in pieces)
        self.made: dict[str, list[Any]] = {}

    @property
    def rational(self) -> bool:
        return any(piece.dtype == object for piece in self.pieces)

    @functools.cached_property
    def _integers(self) -> tuple[Any, bool]:
        return integers(np.concatenate(self.pieces, axis=1), RATIONAL_BITS)

    def sliced(self) -> Iterator[Sliced]:
        """The slices of some columns, of the next ones, …"""
        return self._each("sliced", self._slices)

    def dense(self) -> Iterator[Any]:
        """The floats of some columns, of the next ones, …"""
        return self._each("dense", self._floats)

    def _each(self, kind: str, make: Callable[[slice], Kept]) -> Iterator[Kept]:
        if kind not in self.made and self.keeping.kept:
            self.made[kind] = list(map(make, self._parts()))
        return iter(self.made[kind]) if kind in self.made else map(make, self._parts())

    def _slices(self, columns: slice) -> Sliced:
        if self.rational:
            return slices_from_integers(self._integers[0][:, columns], RATIONAL_BITS)
        return from_floats(self._floats(columns))

    def _parts(self) -> list[slice]:
        """A wide matrix some columns at a time: what is made on the way is as large as a part."""
        width = max(1, _PART // max(1, self.inputs))
        return [slice(start, min(start + width, self.outputs)) for start in range(0, self.outputs, width)]

    def _floats(self, columns: slice) -> Any:
        """[K, columns]: of the pieces that they belong to."""
        first, last, _ = columns.indices(self.outputs)
        found, start = [], 0
        for piece in self.pieces:
            stop = start + piece.shape[1]
            if start < last and first < stop:
                found.append(floats_of(piece[:, max(first, start) - start : min(last, stop) - start]))
            start = stop
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)

    @functools.cached_property
    def slack(self) -> float:
        """At least the Frobenius norm of what the slices leave out (Lemma 19)."""
        if not self.rational or self._integers[1]:
            return 0.0
        return math.sqrt(self.inputs * self.outputs) * _ROUNDED * 2.0**-RATIONAL_BITS * bounds.UP

    @functools.cached_property
    def dense_slack(self) -> float:
        """The same of the floats."""
        return 2 * bounds.UNIT * self.frobenius * bounds.UP if self.rational else 0.0

    @functools.cached_property
    def frobenius(self) -> float:
        """At least the Frobenius norm of the whole matrix."""
        return self._known("all", lambda: frobenius(np.array([frobenius(floats_of(piece)) for piece in self.pieces])) * bounds.UP)

    @functools.cached_property
    def row_sizes(self) -> Any:
        """At least the L2 norms of the rows."""
        return row_norms(self._floats(slice(None)))

    def column_sizes(self, gain: Vector | None) -> Any:
        """At least the L2 norms of the columns, with the rows times γ if there is a gain: Lemma 18."""
        name = "" if gain is None else gain.name
        if name not in self._columns:
            factor = 1.0 if gain is None else gain.floats[:, None]
            sizes = [row_norms((self._floats(columns) * factor).T) for columns in self._parts()]
            self._columns[name] = np.concatenate(sizes) * bounds.UP
        return self._columns[name]

    def largest_column(self, gain: Vector | None) -> float:
        """At least the largest of these."""
        return float(self.column_sizes(gain).max(initial=0.0))

    @functools.cached_property
    def _columns(self) -> dict[str, Any]:
        return {}

    def norm(self, piece: int | None = 0, gain: Vector | None = None) -> float:
        """At least ‖diag(γ) W‖₂ (Lemma 16), of one piece or of all side by side. Then those of the pieces are known, too."""

        def gained(piece: Any) -> Any:
            a = floats_of(piece)
            return a if gain is None else gain.floats[:, None] * a

        def compute() -> float:
            if piece is not None:
                a = gained(self.pieces[piece])
                return spectral(a, 4 * bounds.UNIT * frobenius(a))
            if any(part.shape[1] < self.inputs for part in self.pieces):
                a = np.concatenate(list(map(gained, self.pieces)), axis=1)
                return spectral(a, 4 * bounds.UNIT * frobenius(a))
            each, together = spectral_beside(map(gained, self.pieces), 4 * bounds.UNIT)
            for n, norm in enumerate(each):
                self._known(named(n), functools.partial(float, norm))
            return together

        def named(piece: int | None) -> str:
            name = "side by side" if piece is None else str(piece)
            return name if gain is None else f"{name}|{gain.name}"

        return self._known(named(piece), compute)

    def head_norms(self, piece: int, heads: int, gain: Vector | None = None) -> Any:
        """[heads]: the same of each head, which has the columns of a piece that are next to each other."""
        name = "" if gain is None else gain.name
        each = (functools.partial(self._head_norm, piece, heads, gain, h) for h in range(heads))
        return np.array([self._known(f"{piece}.{h}|{name}", compute) for h, compute in enumerate(each)])

    def _head_norm(self, piece: int, heads: int, gain: Vector | None, head: int) -> float:
        whole = self.pieces[piece]
        width = whole.shape[1] // heads
        a = floats_of(whole[:, head * width : (head + 1) * width])
        if gain is not None:
            a = gain.floats[:, None] * a
        return spectral(a, 4 * bounds.UNIT * frobenius(a))

    def heads(self, piece: int, heads: int, gain: Vector | None) -> Any:
        """diag(γ) W of each head, [heads, inputs, width], right to 4u."""
        a = floats_of(self.pieces[piece])
        if gain is not None:
            a = gain.floats[:, None] * a
        return np.ascontiguousarray(a.reshape(len(a), heads, -1).transpose(1, 0, 2))

    def grams(self, piece: int, heads: int, gain: Vector | None) -> Grams:
        """For errors in the directions in which heads read them (Lemma 26)."""
        key = (piece, heads, "" if gain is None else gain.name)
        if key not in self._grams:
            self._grams[key] = grams(self.heads(piece, heads, gain), self.head_norms(piece, heads, gain))
        return self._grams[key]

    @functools.cached_property
    def _grams(self) -> dict[Any, Grams]:
        return {}

    def norm_through(self, second: Matrix, gain: Vector | None) -> float:
        """At least ‖diag(γ) W₁ W₂‖₂ (Lemma 16)."""

        def compute() -> float:
            a, b = floats_of(self.pieces[0]), floats_of(second.pieces[0])
            if gain is not None:
                a = gain.floats[:, None] * a
            return spectral(a @ b, bounds.gamma(self.outputs + 8) * frobenius(a) * frobenius(b))

        return self._known(f"{'' if gain is None else gain.name}|{second.name}", compute)

    def _known(self, what: str, compute: Callable[[], float]) -> float:
        return self.verified.known(f"{self.name}[{what}]", compute)


class Keeping:
    """Are slices and floats of matrices kept for the next pass, or made anew for each?"""

    def __init__(self) -> None:
        self.kept = True


class VerifiedNorms:
    """Verified norms by name. They are believed: so they are computed here, or come from a file that was written by this program
    about the same weights (`storage.prepared`), and from nowhere else."""

    def __init__(self) -> None:
        self._held: dict[str, float] = {}

    def known(self, name: str, compute: Callable[[], float]) -> float:
        if name not in self._held:
            self._held[name] = compute()
        return self._held[name]

    def as_dict(self) -> dict[str, float]:
        return dict(self._held)

    def _believe(self, norms: dict[str, float]) -> None:
        self._held |= norms
