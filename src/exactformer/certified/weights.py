"""The weights of a model as certified passes use them: exact slices, floats, and verified norms. All made when first asked for."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.constants import RATIONAL_BITS, VECTOR_BITS, floats_of, in_lines, integers, pieces
from exactformer.certified.directions import Grams, grams
from exactformer.certified.limbs import BITS, Limbs, check_terms, from_integers, split
from exactformer.certified.norms import Gram, frobenius, spectral, spectral_each
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
        return from_floats(self._given(columns))

    def _parts(self) -> list[slice]:
        """A wide matrix some columns at a time: what is made on the way is as large as a part."""
        width = max(1, _PART // max(1, self.inputs))
        return [slice(start, min(start + width, self.outputs)) for start in range(0, self.outputs, width)]

    def _floats(self, columns: slice) -> Any:
        """[K, columns] in float64."""
        return floats_of(self._given(columns))

    def _given(self, columns: slice) -> Any:
        """[K, columns]: of the pieces that they belong to."""
        first, last, _ = columns.indices(self.outputs)
        found, start = [], 0
        for piece in self.pieces:
            stop = start + piece.shape[1]
            if start < last and first < stop:
                found.append(piece[:, max(first, start) - start : min(last, stop) - start])
            start = stop
        if len({part.dtype for part in found}) > 1:
            found = list(map(floats_of, found))
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
        check_terms(self.inputs, self.outputs)
        return self._known("all", lambda: math.sqrt(float(self._squares[0].sum())) * bounds.UP + bounds.TINY)

    @functools.cached_property
    def row_sizes(self) -> Any:
        """At least the L2 norms of the rows."""
        check_terms(self.outputs)
        return np.sqrt(self._squares[0]) * bounds.UP + bounds.TINY

    def column_sizes(self, gain: Vector | None) -> Any:
        """At least the L2 norms of the columns, with the rows times γ if there is a gain: Lemma 18."""
        check_terms(self.inputs)
        name = "" if gain is None else gain.name
        if name not in self._columns:
            sums = self._squares[1] if gain is None else self._squares_of(gain)[1]
            self._columns[name] = (np.sqrt(sums) * bounds.UP + bounds.TINY) * bounds.UP
        return self._columns[name]

    @functools.cached_property
    def _squares(self) -> tuple[Any, Any]:
        return self._squares_of(None)

    def _squares_of(self, gain: Vector | None) -> tuple[Any, Any]:
        """Sums of the squares of each row, and of each column; who uses them asks whether they are too long (Lemma 0)."""
        rows, columns = np.zeros(self.inputs), np.zeros(self.outputs)
        start = 0
        for piece in self.pieces:
            lines, turned = in_lines(piece)
            by_line, by_place = (columns[start : start + piece.shape[1]], rows)[:: 1 if turned else -1]
            for some in pieces(lines):
                part = floats_of(lines[some])
                if gain is not None:
                    part = part * (gain.floats if turned else gain.floats[some, None])
                by_line[some] += np.einsum("ij,ij->i", part, part)
                by_place += np.einsum("ij,ij->j", part, part)
            start += piece.shape[1]
        return rows, columns

    def largest_column(self, gain: Vector | None) -> float:
        """At least the largest of these."""
        return float(self.column_sizes(gain).max(initial=0.0))

    @functools.cached_property
    def _columns(self) -> dict[str, Any]:
        return {}

    def norm(self, piece: int | None = 0, gain: Vector | None = None) -> float:
        """At least ‖diag(γ) W‖₂ (Lemma 16), of one piece or of all side by side. Then those of the pieces are known, too."""

        def spectral(gram: Gram) -> float:
            return gram.spectral(4 * bounds.UNIT * gram.norm)

        def compute() -> float:
            if piece is not None:
                whole = self.pieces[piece]
                return spectral(Gram.of(_gained(whole, gain, by_rows=whole.shape[0] <= whole.shape[1])))
            if any(part.shape[1] < self.inputs for part in self.pieces):
                by_rows = self.inputs <= self.outputs
                return spectral(Gram.of(_gained(np.concatenate(list(map(floats_of, self.pieces)), axis=1), gain, by_rows)))
            together = None
            for n, each in enumerate(self.pieces):
                gram = Gram.of(_gained(each, gain, by_rows=True))
                self._known(named(n), functools.partial(spectral, gram))
                together = gram if together is None else together.beside(gram)
            assert together is not None
            return spectral(together)

        def named(piece: int | None) -> str:
            name = "side by side" if piece is None else str(piece)
            return name if gain is None else f"{name}|{gain.name}"

        return self._known(named(piece), compute)

    def head_norms(self, piece: int, heads: int, gain: Vector | None = None) -> Any:
        """[heads]: the same of each head, which has the columns of a piece that are next to each other."""
        name = "" if gain is None else gain.name

        @functools.cache
        def computed() -> list[float]:
            return spectral_each(self.heads(piece, heads, gain), 4 * bounds.UNIT)

        return np.array([self._known(f"{piece}.{h}|{name}", functools.partial(lambda h: computed()[h], h)) for h in range(heads)])

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
            product, norms = np.zeros((self.inputs, second.outputs)), []
            read, written = _gained(self.pieces[0], gain, True), _gained(second.pieces[0], None, False, self.inputs)
            for a, b in zip(read, written, strict=True):
                product += a @ b.T
                norms.append([frobenius(a), frobenius(b)])
            first, last = map(frobenius, np.transpose(norms))
            return spectral(product, bounds.gamma(self.outputs + 8) * first * last)

        return self._known(f"{'' if gain is None else gain.name}|{second.name}", compute)

    def _known(self, what: str, compute: Callable[[], float]) -> float:
        return self.verified.known(f"{self.name}[{what}]", compute)


def _gained(matrix: Any, gain: Vector | None, by_rows: bool, width: int | None = None) -> Iterator[Any]:
    """diag(γ) W in float64, some columns at a time, as many as fit with `width` rows; or, unless `by_rows`, its transpose."""
    count, length = matrix.shape if by_rows else matrix.shape[::-1]
    step = max(1, _PART // max(1, width or count))
    for start in range(0, length, step):
        here = slice(start, start + step)
        part = floats_of(matrix[:, here] if by_rows else matrix[here])
        if gain is not None:
            part = gain.floats[slice(None) if by_rows else here, None] * part
        yield part if by_rows else part.T


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
