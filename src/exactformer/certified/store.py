"""All weights of a model, each prepared once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from exactformer.certified.constants import as_numbers, one_more
from exactformer.certified.weights import Keeping, Matrix, Vector, VerifiedNorms
from exactformer.model.weights import place

Kept = TypeVar("Kept")


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


def _joined(arrays: list[Any]) -> Any:
    """One after the other; as numbers where some are no floats."""
    if len({array.dtype == object for array in arrays}) > 1:
        arrays = [array if array.dtype == object else as_numbers(array) for array in arrays]
    return np.concatenate(arrays)
