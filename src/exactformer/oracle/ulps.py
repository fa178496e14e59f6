"""What an error in ulps is given as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Ulps:
    """Proved bounds of the error of every entry, in ulps: it is at least `low` and at most `high`."""

    low: Any
    high: Any
    format: str

    @property
    def most(self) -> float:
        """No entry is further off than this."""
        return float(self.high.max(initial=0.0))

    @property
    def least(self) -> float:
        """Some entry is at least so far off."""
        return float(self.low.max(initial=0.0))

    @property
    def where(self) -> tuple[int, ...]:
        """The index of the largest error."""
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(self.high)), self.high.shape)) if self.high.size else ()

    @property
    def median(self) -> float:
        """Half of the entries are not further off than this."""
        return float(np.median(self.high)) if self.high.size else 0.0

    def __repr__(self) -> str:
        return f"Ulps(most={self.most:.4g}, median={self.median:.4g}, where={self.where}, format={self.format!r})"
