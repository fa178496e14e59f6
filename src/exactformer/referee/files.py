"""Files of outputs, by their kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from exactformer.numbers.formats import Format
from exactformer.referee.arrays import read_arrays
from exactformer.referee.completions import read_completions
from exactformer.referee.outputs import Engine, OutputsError

ARRAYS, LINES = (".npy", ".npz", ".safetensors"), (".jsonl", ".ndjson")


def read_outputs(
    path: Path,
    *,
    ids: Sequence[int] | None = None,
    dtype: Format | None = None,
    modules: Mapping[str, str] | None = None,
    quantised: bool = False,
) -> Engine:
    """The engine whose outputs a file holds; it is named after the file.

    `ids` are the prompt of a .npy file, which holds logits alone. `dtype` is the format that was computed in, where the file does
    not say it. `modules` gives names of modules the steps that are their outputs.
    """
    if path.suffix in ARRAYS:
        return read_arrays(path, ids, dtype, dict(modules or {}), quantised)
    if path.suffix in LINES:
        return read_completions(path, dtype, quantised)
    raise OutputsError(f"{path}: is not one of {', '.join((*ARRAYS, *LINES))}")
