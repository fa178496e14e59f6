"""Arrays with a proved radius."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from exactformer.certified import bounds
from exactformer.certified.limbs import BITS, check_terms, resized, split, to_float, to_integers, ulp
from exactformer.numbers.enclosure import precision

FLOAT = 0  # the number of limbs that stands for a midpoint in float64


@dataclass(frozen=True, eq=False)
class Gained:
    """What a LayerNorm knows of its error: γ times a vector of at most `inner`, and one of at most `outer` besides."""

    gain: Any  # weights.Vector
    inner: Any  # [T]
    outer: Any  # [T]


@dataclass(frozen=True, eq=False)
class Ball:
    """A midpoint in n limbs, [n, …], or in floats (n = 0); and radii: of every entry, or of the L2 norm over the last axis."""

    mid: Any
    n: int
    radius: Any
    gained: Gained | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mid.shape[1:] if self.n else self.mid.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def by_row(self) -> bool:
        """Is a radius that of a row?"""
        return bool(self.radius.ndim < self.ndim)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Ball:
        """Some of the first axis."""
        return Ball(self.mid[:, rows] if self.n else self.mid[rows], self.n, self.radius[rows])

    def midpoint(self) -> Any:
        """Floats near the midpoint."""
        return to_float(self.mid) if self.n else self.mid

    def spread(self) -> Any:
        """A radius for every entry."""
        return np.broadcast_to(self.radius[..., None] if self.by_row else self.radius, self.shape)

    def at(self, bits: int) -> Any:
        """The midpoints times 2^bits, as integers and fractions of them."""
        if self.n:
            return to_integers(self.mid) * Fraction(2) ** (bits - BITS * (self.n - 1))
        exact = np.array([Fraction(x) * (1 << bits) for x in self.mid.ravel().tolist()], dtype=object)
        return exact.reshape(self.shape)

    def exact_row(self, row: int, entries: Any) -> list[Fraction]:
        """The midpoints of some entries of a row, as they are."""
        if not self.n:
            return list(map(Fraction, self.mid[row, entries].tolist()))
        unit = 1 << (BITS * (self.n - 1))
        return [Fraction(int(mid), unit) for mid in to_integers(self.mid[:, row, entries])]

    def enclosure(self, place: tuple[int, ...]) -> tuple[Fraction, Fraction]:
        """Two ends around an entry."""
        mid = (
            Fraction(int(to_integers(self.mid[(slice(None), *place)][:, None])[0]), 1 << (BITS * (self.n - 1)))
            if self.n
            else Fraction(float(self.mid[place]))
        )
        radius = Fraction(float(self.spread()[place]))
        return mid - radius, mid + radius

    def balls(self) -> Any:
        """Every entry as a ball of Arb; one whose midpoint is no number is the whole line."""
        known = np.isfinite(self.midpoint())
        if not known.all():
            return Ball(np.where(known, self.mid, 0.0), self.n, np.where(known, self.spread(), np.inf)).balls()
        mids, unit = (to_integers(self.mid), arb((1, -BITS * (self.n - 1)))) if self.n else (self.mid, arb(1))
        result, radii = np.empty(mids.size, dtype=object), self.spread().ravel().tolist()
        with precision(BITS * (self.n + 4) + 64):  # enough for every midpoint: the products are exact
            for i, (mid, radius) in enumerate(zip(mids.ravel().tolist(), radii, strict=True)):
                result[i] = arb(arb(mid) * unit, radius)
        return result.reshape(self.shape)


def resize(x: Ball, n: int) -> Ball:
    """The same in n limbs (0: in floats), with what that costs added to the radius."""
    if x.n == n:
        return x
    if n == FLOAT:
        mid = to_float(x.mid)
        return _wider(Ball(mid, n, x.radius), bounds.TO_FLOAT * np.abs(mid))
    if x.n == FLOAT:
        limbs, exact = split(x.mid, n)
        return _wider(Ball(limbs, n, x.radius), 0.0 if exact else bounds.SPLIT * ulp(n))
    limbs, error = resized(x.mid, n)
    return _wider(Ball(limbs, n, x.radius), error)


def _wider(x: Ball, error: Any) -> Ball:
    """With the errors of single entries on top."""
    if not np.any(error):
        return x
    entries = np.broadcast_to(error, x.shape)
    added = row_norms(entries) if x.by_row else entries
    return Ball(x.mid, x.n, outwards(x.radius + added))


def outwards(radius: Any) -> Any:
    """A radius that was computed in floats, made so large that their rounding does no harm (Lemma 0)."""
    return np.maximum(radius * bounds.UP, bounds.FLOOR)


def row_norms(x: Any) -> Any:
    """L2 norms over the last axis, not too small (Lemma 0)."""
    check_terms(np.shape(x)[-1])
    return np.sqrt(np.square(x).sum(axis=-1)) * bounds.UP + bounds.TINY
