"""One attention head in words: what its query and key read, how strongly they match, and what it copies where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exactformer.numbers import Exact, exact


@dataclass(frozen=True, kw_only=True)
class Head:
    """A head scores `strength` for each code of the key's subspace that equals that of the query's, and copies `value` to `to`.

    Several subspaces may be read side by side: the scores add up. With an `offset` n, code k of the query matches code k − n of the
    key: on positions, n places back. Codes need not be one-hot; what counts is their dot product.

    >>> Head(query="position", key="position", offset=1, strength=100, value="token", to="previous").sentence
    'attends to 1 before, strength 100; copies token to previous'
    """

    query: str | tuple[str, ...]
    key: str | tuple[str, ...]
    strength: Any
    value: str
    to: str
    offset: int = 0

    def __post_init__(self) -> None:
        for name in ("query", "key"):
            reads = getattr(self, name)
            object.__setattr__(self, name, (reads,) if isinstance(reads, str) else tuple(reads))
        if not isinstance(self.strength, Exact):
            object.__setattr__(self, "strength", exact(self.strength))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Which subspace of the query is matched with which of the key."""
        return list(zip(self.query, self.key, strict=True))

    @property
    def sentence(self) -> str:
        """What the head does, in words."""
        if self.offset:
            match = f"attends to {self.offset} before"
        else:
            match = "matches " + " and ".join(f"{q} with {k}" for q, k in self.pairs)
        return f"{match}, strength {self.strength}; copies {self.value} to {self.to}"
