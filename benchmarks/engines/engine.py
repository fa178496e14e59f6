"""What an engine is here: one function from a model folder and ids to logits, with its package and how it is set up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

BATCH = 20  # texts at a time
THREADS = 1

Outputs = dict[str, Any]  # `logits` or `logprobs` [N, T, vocabulary], and what else the referee reads: tokens, hidden_states.N
Weights = dict[str, Any]  # by the names of the folder's file, in float32


class Unable(Exception):
    """Why an engine does not run a model, in one line."""


@dataclass(frozen=True)
class Engine:
    """One row of the table. `format` is what it was asked to compute in; one that is `quantised` rounds its weights further."""

    name: str
    packages: tuple[str, ...]
    settings: str
    format: str
    run: Callable[[Path, Any], Outputs]  # a model folder; ids [N, T]
    quantised: bool = False
    dequantised: Callable[[Path], Weights] | None = None  # the weights that it computes with

    def versions(self) -> dict[str, str]:
        try:
            return {name: version(name) for name in self.packages}
        except PackageNotFoundError as error:
            raise Unable(f"{error.name} is not installed") from None


def batches(ids: Any) -> Iterator[Any]:
    """Some texts at a time [BATCH, T]. All have the same length, so there is no padding."""
    if len(ids) % BATCH:
        raise ValueError(f"{len(ids)} texts are not a multiple of {BATCH}")
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))
