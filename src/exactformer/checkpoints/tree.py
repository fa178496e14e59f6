"""The tensors of a model by their names, each checked against config.json as it is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.safetensors import Tensor, shape_alone
from exactformer.messages import quoted


class Tree:
    """Without the prefix that the names of some files have."""

    def __init__(self, config: Path, tensors: dict[str, Tensor] | None, prefix: str, first: str) -> None:
        """`config` is the file that asks for shapes, `first` a tensor that every model has: it shows whether there is a prefix.

        Where there are no tensors, None, whatever is asked for is there, as a shape.
        """
        self.config, self.shapes_alone = config, tensors is None
        tensors = tensors or {}
        prefix = prefix if prefix + first in tensors else ""
        self.tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
        if len(self.tensors) < len(tensors):
            name = next(name for name in tensors if prefix + name in tensors)
            raise tensors[name].error(f"is there twice, with and without the prefix {prefix!r}")
        self.left = set(self.tensors)

    def get(self, name: str, *shape: int, fields: str = "") -> Any:
        """The tensor, whose shape must be what the `fields` of the settings say."""
        if self.shapes_alone:
            return shape_alone(shape)
        if name not in self.tensors:
            raise CheckpointError(self.config.parent, f"tensor {quoted(name)}", "is missing")
        tensor = self.tensors[name]
        if tensor.shape != shape:
            said = f" ({fields})" if fields else ""
            raise tensor.error(f"has the shape {_shape(tensor.shape)}, where {self.config.name} asks for {_shape(shape)}{said}")
        self.left.discard(name)
        return tensor.array()

    def error(self, name: str, problem: str) -> CheckpointError:
        return self.tensors[name].error(problem)

    def check_tied(self, name: str, embedding: str, values: Any) -> None:
        """A head that is said to be the embedding, and is in the file as well, must be equal to it."""
        if name in self.tensors and not np.array_equal(self.get(name, *values.shape), values, equal_nan=True):
            raise self.error(name, f"differs from {embedding}, though {self.config.name} says that the two are tied")

    def check_nothing_left(self) -> None:
        for name in sorted(self.left):
            raise self.error(name, f"has no place in the model that {self.config.name} describes")


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "of a single number"
