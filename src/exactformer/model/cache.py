"""Keys and values of the positions that were computed before: what decoding one token at a time needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.model.errors import InputError

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Values
    from exactformer.model.forward import Model


class Cache:
    """Grows with every pass that it is given to.

    It knows of which model, of which tokens and in which arithmetic its keys and values are, and serves no other. A pass extends a
    copy of its own, which replaces all that the cache holds when the pass is done: so the tokens and their keys belong together
    whatever ends a pass early, and whoever else uses the cache, or a copy of it, meanwhile.
    """

    def __init__(self) -> None:
        self.ids: tuple[int, ...] = ()  # the tokens of the positions that are done
        self.model: Model | None = None
        self.kind: tuple[type, str] | None = None  # of the arithmetic
        self.held: dict[str, tuple[Any, Any]] = {}

    @property
    def length(self) -> int:
        """Positions that are done."""
        return len(self.ids)

    def after(self, ids: Sequence[int]) -> list[int]:
        """Those of `ids` that are new: the others must be the tokens whose keys and values are kept.

        >>> cache = Cache()
        >>> cache.ids = (4, 5)
        >>> cache.after([4, 5, 6])
        [6]
        >>> cache.after([4, 6, 6])
        Traceback (most recent call last):
        exactformer.model.errors.InputError: position 1: the cache was made with the token 5, the input has 6
        """
        if self.length >= len(ids):
            held = f"the cache holds {self.length} positions, the input {len(ids)} tokens"
            raise InputError(f"position {len(ids)}: {held}: none is new")
        for position, (old, new) in enumerate(zip(self.ids, ids, strict=False)):
            if old != new:
                raise InputError(f"position {position}: the cache was made with the token {old}, the input has {new}")
        return list(ids[self.length :])

    def begin(self, model: Model, ops: Values) -> Cache:
        """Before a pass: is it the model and the arithmetic of the passes before? Then a copy, which the pass extends."""
        kind = (type(ops), ops.name)
        if self.length and self.kind != kind:
            raise InputError(f"the cache was made in the arithmetic {self.kind and self.kind[1]}, by passes of another kind")
        if self.length and not (self.model is not None and self.model.same_as(model)):
            raise InputError("the cache was made with another model")
        result = Cache()
        result.ids, result.model, result.kind, result.held = self.ids, model, kind, dict(self.held)
        return result

    def finish(self, extended: Cache, ids: Sequence[int] = ()) -> None:
        """After a pass over `ids`, all at once."""
        self.__dict__.update(vars(extended), ids=extended.ids + tuple(ids))

    def clear(self) -> None:
        """As it was before the first pass."""
        self.ids, self.model, self.kind, self.held = (), None, None, {}

    def extended(self, name: str, k: Any, v: Any) -> tuple[Any, Any]:
        """All keys and values of an attention layer, the new ones last: [heads, T, head_dim]."""
        if self.length:
            k, v = (np.concatenate([old, new], axis=1) for old, new in zip(self.held[name], (k, v), strict=True))
        self.held[name] = (k, v)
        return k, v
