"""The weights of a model as certified passes use them: exact slices, floats, and verified norms. All made when first asked for."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from flint import arb

from exactformer.certified import bounds
from exactformer.certified.ball import row_norms
from exactformer.certified.directions import Grams, grams
from exactformer.certified.limbs import BITS, Limbs, OutOfRangeError, check_range, from_integers, split, ulp
from exactformer.certified.norms import frobenius, spectral, spectral_beside
from exactformer.certified.slices import Sliced, check_blas, from_floats
from exactformer.certified.slices import from_integers as slices_from_integers
from exactformer.model.errors import InputError
from exactformer.model.weights import as_float64, place
from exactformer.numbers import Exact, Named, Number, exact
from exactformer.numbers.enclosure import ball, precision

Kept = TypeVar("Kept")
RATIONAL_BITS = 20 * BITS  # of the fraction of a weight that is no float
_PART = 1 << 20  # entries of a matrix that are cut, or made floats, at a time
_ROUNDED = 0.51  # in units of those bits: the error of such a weight (Lemma 19)


def integers(numbers: Any) -> tuple[Any, bool]:
    """Numbers times 2^RATIONAL_BITS, rounded, and whether they are exactly that."""
    result, all_exact = np.empty(numbers.size, dtype=object), True
    for i, number in enumerate(numbers.flat):
        if type(number) is Exact:
            scaled = number.fraction * (1 << RATIONAL_BITS)
            result[i] = round(scaled)
            all_exact = all_exact and scaled.denominator == 1
        elif type(number) is Named:
            all_exact = False
            result[i] = _nearest(ball(number, RATIONAL_BITS + 128))
        else:
            raise InputError(f"a weight that is not a number: {number}")
    return result.reshape(numbers.shape), all_exact


def _nearest(value: arb) -> int:
    with precision(RATIONAL_BITS + 256):
        scaled = value * arb(2) ** RATIONAL_BITS
        if not scaled.rad() < arb(2) ** -10:
            raise OutOfRangeError("weights too large: a closed form is not known to the last limb")
        return int((scaled.mid() + arb(1) / 2).floor().unique_fmpz())


def floats_of(weights: Any) -> Any:
    """The floats nearest to the weights: themselves, or with a relative error of u (Lemma 19)."""
    if weights.dtype != object:
        floats = as_float64(weights)
        if not np.isfinite(floats).all():
            raise InputError("a weight is infinite or not a number")
        return floats
    return np.array([_nearest_float(number) for number in weights.flat]).reshape(weights.shape)


def one_more(weights: Any) -> Any:
    """1 + w, exactly: in floats where each is one, else in fractions."""
    if weights.dtype != object:
        w = floats_of(weights)
        total = 1.0 + w
        above = total - 1.0
        if not ((1.0 - (total - above)) + (w - above)).any():  # what the sum lost, exactly
            return total
        weights = _numbers(w)
    return weights + exact(1)


def _nearest_float(number: Any) -> float:
    if type(number) is not Exact and type(number) is not Named:
        raise InputError(f"a weight that is not a number: {number}")
    if type(number) is Exact and not number.fraction:
        return 0.0
    return near(number, "a weight")


def near(number: Number, name: str) -> float:
    """The float nearest to a number that is not 0, right to u of itself."""
    try:
        value = number.to_float()
    except OverflowError:
        raise OutOfRangeError(f"{name}: beyond the range of float64") from None
    if not value:
        raise OutOfRangeError(f"{name}: beyond what floats hold with all their digits")
    check_range(name, value)
    return value


def constant_limbs(number: Number, n: int) -> tuple[Any, float]:
    """A constant in n limbs, and its error."""
    values, exact = integers(np.array([number], dtype=object))
    drop = RATIONAL_BITS - BITS * (n - 1)
    kept = (values + (1 << (drop - 1))) >> drop
    error = 0.0 if exact and not ((kept << drop) - values).any() else 0.75 * ulp(n)
    return from_integers(kept, n)[:, 0], error


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
        values, exact = integers(part)
        drop = RATIONAL_BITS - BITS * (n - 1)
        if drop < 0:
            return from_integers(values << -drop, n), exact
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
        return integers(np.concatenate(self.pieces, axis=1))

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


def _joined(arrays: list[Any]) -> Any:
    """One after the other; as numbers where some are no floats."""
    if len({array.dtype == object for array in arrays}) > 1:
        arrays = [array if array.dtype == object else _numbers(array) for array in arrays]
    return np.concatenate(arrays)


def _numbers(floats: Any) -> Any:
    return np.array([exact(Fraction(x)) for x in floats.ravel().tolist()], dtype=object).reshape(floats.shape)


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


class Store:
    """Every weight by its place in memory, so that it is prepared once. Those of a model do not change."""

    def __init__(self) -> None:
        self.verified, self.keeping = VerifiedNorms(), Keeping()
        self.names: dict[Any, str] = {}
        self.held: dict[Any, Any] = {}

    def name(self, array: Any, name: str) -> None:
        self.names[place(array)] = name

    def name_of(self, array: Any) -> str:
        return self.names.setdefault(place(array), f"weights {len(self.names)}")

    def vector(self, array: Any) -> Vector:
        return self._once(("vector", place(array)), lambda: (Vector(array, self.name_of(array)), array))

    def some_vector(self, array: Any | None) -> Vector | None:
        return None if array is None else self.vector(array)

    def biases(self, *arrays: Any | None) -> Vector | None:
        """Of matrices side by side: all of them, or none."""
        given = [array for array in arrays if array is not None]
        if not given:
            return None

        def make() -> tuple[Vector, Any]:
            zeros = np.zeros(given[0].shape)
            return Vector(_joined([zeros if array is None else array for array in arrays]), "biases"), arrays

        return self._once(("biases", *(None if array is None else place(array) for array in arrays)), make)

    def kept(self, thing: Any, make: Callable[[], Kept]) -> Kept:
        """What is made of a thing, as long as it is there."""
        return self._once(("of", id(thing)), lambda: (make(), thing))

    def gain(self, array: Any, unit: bool = False) -> Vector:
        """The gain of a norm: w, or 1 + w where it is kept as what it differs from 1 by."""
        if not unit:
            return self.vector(array)
        return self._once(("gain", place(array)), lambda: (Vector(one_more(array), self.name_of(array) + "+1"), array))

    def matrix(self, array: Any) -> Matrix:
        return self._once(("matrix", place(array)), lambda: (self._matrix((array,), self.name_of(array)), array))

    def _matrix(self, pieces: tuple[Any, ...], name: str) -> Matrix:
        return Matrix(pieces, name, self.verified, self.keeping)

    def projections(self, *arrays: Any) -> Matrix:
        """[heads, dim, head_dim] for queries, keys and values, side by side: [dim, 3 · heads · head_dim]."""

        def make() -> tuple[Matrix, Any]:
            pieces = tuple(a.transpose(1, 0, 2).reshape(a.shape[1], -1) for a in arrays)
            return self._matrix(pieces, "+".join(map(self.name_of, arrays))), arrays

        return self._once(("projections", *map(place, arrays)), make)

    def beside(self, *arrays: Any) -> Matrix:
        """[dim, width] each, side by side."""

        def make() -> tuple[Matrix, Any]:
            return self._matrix(arrays, "+".join(map(self.name_of, arrays))), arrays

        return self._once(("beside", *map(place, arrays)), make)

    def output(self, array: Any) -> Matrix:
        """[heads, head_dim, dim] → [heads · head_dim, dim]"""
        return self._once(
            ("output", place(array)),
            lambda: (self._matrix((array.reshape(-1, array.shape[-1]),), self.name_of(array)), array),
        )

    def trim(self, limbs_at: Callable[[str], int]) -> None:
        """Forget the floats of matrices that are multiplied in limbs, and the slices of the others: one of the two is enough."""
        for value, _ in self.held.values():
            if isinstance(value, Matrix):
                value.made.pop("dense" if limbs_at(value.name) else "sliced", None)

    @contextlib.contextmanager
    def passing_through(self) -> Iterator[None]:
        """Each matrix is read once or twice: nothing is kept of it but its norms."""
        before, self.keeping.kept = self.keeping.kept, False
        try:
            yield
        finally:
            self.keeping.kept = before

    def _once(self, key: Any, make: Callable[[], tuple[Kept, Any]]) -> Kept:
        if key not in self.held:
            self.held[key] = make()
        return self.held[key][0]  # type: ignore[no-any-return]
