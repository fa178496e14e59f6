"""Keys and values of the positions that were computed before: what decoding one token at a time needs."""

from __future__ import annotations

from typing import Any

import numpy as np


class Cache:
    """Grows with every pass that it is given to. The one mutable thing of a pass, so it belongs to one decoding alone."""

    def __init__(self) -> None:
        self.length = 0  # positions that are done
        self.held: dict[str, tuple[Any, Any]] = {}

    def extended(self, name: str, k: Any, v: Any) -> tuple[Any, Any]:
        """All keys and values of an attention layer, the new ones last: [heads, T, head_dim]."""
        if name in self.held:
            k, v = (np.concatenate([old, new], axis=1) for old, new in zip(self.held[name], (k, v), strict=True))
        self.held[name] = (k, v)
        return k, v
