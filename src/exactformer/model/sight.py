"""Which positions may look at which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Mask = Literal["causal", "strict", "none"]
_HIDDEN = {"causal": ("j > i", "j>i"), "strict": ("j ≥ i", r"j\ge i"), "none": ("nothing", r"\text{nothing}")}


@dataclass(frozen=True)
class Sight:
    """causal: position i looks at j ≤ i; strict: at j < i; none: everywhere. With a window, at none that is so far back.

    >>> Sight("strict").seen(2, 3).tolist()
    [[True, False, False], [True, True, False]]
    >>> Sight("causal", 2).seen(1, 4).tolist()
    [[False, False, True, True]]
    """

    mask: Mask
    window: int = 0  # 0: none

    def seen(self, rows: int, length: int) -> Any:
        """Where the last `rows` of `length` positions may look: [rows, length] of booleans."""
        i, j = np.arange(length - rows, length)[:, None], np.arange(length)
        seen = {"none": j == j, "causal": j <= i, "strict": j < i}[self.mask] & np.ones((rows, 1), bool)
        return seen & (j > i - self.window) if self.window else seen

    def sees(self, i: int, j: int) -> bool:
        """May position i look at position j?"""
        near = not self.window or j > i - self.window
        return near and (self.mask == "none" or j < i or (j == i and self.mask == "causal"))

    def blind(self, positions: range) -> list[int]:
        """Those of the last positions that may look nowhere, counted from the first of them."""
        seen = self.seen(len(positions), positions.stop)
        return [i for i, row in enumerate(seen) if not row.any()]

    @property
    def known(self) -> dict[str, str]:
        """What is hidden, as text and as LaTeX."""
        text, latex = _HIDDEN[self.mask]
        if self.window:
            text, latex = f"{text} or j ≤ i - {self.window}", rf"{latex}\text{{ or }}j\le i-{self.window}"
        return {"hidden": text, "hidden_latex": latex}
