"""One named line of a pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactformer.model.axes import POSITION, Axis
from exactformer.model.operations.operation import Operation
from exactformer.showing import Plotted

if TYPE_CHECKING:
    from exactformer.model.config import Config

Remarks = tuple[tuple[int, str], ...]  # a position, and what is said of it


class Words(NamedTuple):
    """What positions and tokens are called."""

    positions: tuple[str, ...] = ()
    config: Config | None = None  # which has names for tokens and outputs

    def along(self, axis: Axis) -> tuple[str, ...]:
        """The names of what an axis counts; () where it has none."""
        if axis is POSITION:
            return self.positions
        return () if axis.names is None or self.config is None else axis.names(self.config)


@dataclass(frozen=True)
class Step(Plotted):
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
    words: Words = field(default=Words(), compare=False)

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
        return self.to_numpy() if dtype == np.float64 else np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def to_numpy(self) -> Any:
        """An array of the float64 nearest to each number, proved; what is hidden is −∞, what is undefined NaN."""
        from exactformer.model.floating import nearest_floats  # which knows the arithmetics, and they know steps

        return nearest_floats(self.values)

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
        return f"<step {self.name} = {self.formula}, {' × '.join(map(str, self.shape))}>"
