"""One named line of a pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.model.axes import Axis
from exactformer.model.operations.operation import Operation

Remarks = tuple[tuple[int, str], ...]  # a position, and what is said of it


@dataclass(frozen=True)
class Step:
    """What was done, what was read, what came out."""

    name: str
    operation: Operation
    reads: tuple[str, ...]
    values: Any  # numpy.ndarray, or what the arithmetic has in its place: [T, …] or [heads, T, …]
    remarks: Remarks = ()
    stage: str = ""  # what this part of a pass is called; "" goes with its neighbour
    axes: tuple[Axis, ...] = ()  # what its axes count
    labels: tuple[tuple[str, ...], ...] = ()  # what the columns stand for, for each head, where they have names
    note: str = ""  # what the worksheet says of it, which is the first of its remarks

    @property
    def op(self) -> str:
        return self.operation.name

    @property
    def title(self) -> str:
        return self.operation.title

    @property
    def formula(self) -> str:
        return self.operation.written(self.reads).text

    @property
    def latex(self) -> str:
        return self.operation.written(self.reads).latex

    @property
    def gradient(self) -> str:
        """The name of its gradient."""
        return f"grad.{self.name}"

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    @property
    def by_head(self) -> bool:
        return bool(self.values.ndim == 3)

    def at(self, position: int) -> list[Any]:
        """The rows of one position: one, or one for each head."""
        rows = self.values[:, position] if self.by_head else self.values[position : position + 1]
        return list(rows)

    def __repr__(self) -> str:
        return f"{self.name} = {self.formula}\n{np.array2string(self.values, formatter={'all': str})}"
