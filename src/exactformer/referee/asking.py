"""`exactformer.judge`: outputs that are arrays in memory, or files, judged in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.model import Model
from exactformer.numbers.formats import FORMATS, format_of
from exactformer.referee.files import read_outputs
from exactformer.referee.outputs import Engine, Given, OutputsError
from exactformer.referee.report import Judgements
from exactformer.referee.running import Models, judge_all


def judge(
    model: Any,
    outputs: Mapping[str, Any],
    ids: Sequence[int] | Sequence[Sequence[int]] | None = None,
    *,
    dtype: str | Mapping[str, str] | None = None,
    quantised: Sequence[str] = (),
) -> Judgements:
    """Hold the outputs of engines against the true values of a model.

    `outputs` has for every engine its logits as an array, after the last of `ids` or after each; or a table of arrays with
    `logits`, `logprobs`, `tokens` and steps by name; or the path of a file. `ids` are one prompt or several. `dtype` says in which
    format was computed where the array does not: "bfloat16", or a table by engine.

    >>> from exactformer.worksheets import load
    >>> report = judge(load("capstone"), {"mine": np.array([3.3, 2.2, -1.1], dtype=np.float32)}, [0, 1])
    >>> report.records[0]["verdict"], report.records[0]["true_token"]
    ('right', 0)
    """
    found: Model = getattr(model, "model", model)
    prompts = None if ids is None else [tuple(map(int, each)) for each in _several(ids)]
    formats = dtype if isinstance(dtype, Mapping) else dict.fromkeys(outputs, dtype)
    engines = [
        _engine(name, given, prompts, formats.get(name), name in quantised).checked(found) for name, given in outputs.items()
    ]
    return judge_all(lambda: Models(found), lambda: engines)


def _several(ids: Sequence[Any]) -> Sequence[Any]:
    return ids if len(ids) and isinstance(ids[0], Sequence | np.ndarray) else [ids]


def _engine(name: str, given: Any, prompts: list[tuple[int, ...]] | None, dtype: str | None, quantised: bool) -> Engine:
    format = None if dtype is None else format_of(dtype, f"{name}: dtype")
    if isinstance(given, str | Path):
        ids = prompts[0] if prompts is not None and len(prompts) == 1 else None
        read = read_outputs(Path(given), ids=ids, dtype=format, quantised=quantised)
        return Engine(name, read.format, read.prompts, quantised, read.sampled)
    if prompts is None:
        raise OutputsError(f"{name}: ids: are missing: which tokens was the engine given?")
    table = dict(given) if isinstance(given, Mapping) else {"logits": given}
    arrays = {key: np.asarray(value) for key, value in table.items()}
    kinds = {array.dtype.name for array in arrays.values() if array.dtype.kind not in "iu"}
    if format is None:
        if len(kinds) > 1 or not kinds <= set(FORMATS):
            raise OutputsError(f"{name}: dtype: say which format was computed in; the arrays hold {', '.join(sorted(kinds))}")
        format = FORMATS[kinds.pop() if kinds else "float32"]
    return Engine(name, format, [_given(name, arrays, prompts, n) for n in range(len(prompts))], quantised)


def _given(name: str, arrays: Mapping[str, Any], prompts: list[tuple[int, ...]], number: int) -> Given:
    ids, several = prompts[number], len(prompts) > 1
    own = {key: array[number] if several else array for key, array in arrays.items()}
    rows: dict[str, Any] = {}
    for key in ("logits", "logprobs"):
        if key in own:
            rows[key] = np.atleast_2d(own.pop(key).astype(np.float64))[: len(ids)]
    if "tokens" in own:
        rows["tokens"] = tuple(int(token) for token in np.atleast_1d(own.pop("tokens"))[: len(ids)])
    counts = {len(values) for values in rows.values()}
    if len(counts) > 1 or not counts <= {1, len(ids)}:
        raise OutputsError(f"{name}: prompt {number}: rows are of the last position or of all {len(ids):,}, not {sorted(counts)}")
    return Given(ids, len(ids) - 1 if counts == {1} else 0, **rows, steps=own)
