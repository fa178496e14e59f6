"""For the test suites of others: are an engine's logits right, by a golden file?

    pytest_plugins = ["exactformer.testing"]            # in conftest.py

    def test_next_token(golden):
        truth = golden("golden.safetensors")
        logits = engine(truth.document["prompts"][0]["ids"])  # [tokens of the prompt, vocabulary]
        assert_right(logits[-1], truth)  # one row: after the last token of prompt 0

Golden files are made once, by `exactformer judge MODEL --golden golden.safetensors`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.numbers.formats import FORMATS, Format, format_of
from exactformer.referee.golden import Golden, GoldenError, GoldenRow, read
from exactformer.referee.judging import largest_row, most_allowed
from exactformer.referee.verdicts import BY_ROUNDING, NEAR_TIE, RIGHT, TRUE_TIE, Verdict, verdict

__all__ = ["Golden", "assert_right", "load_golden"]


def load_golden(path: Path | str) -> Golden:
    """The golden file of that name."""
    return read(Path(path))


def assert_right(
    logits: Any,
    golden: Golden | Path | str,
    *,
    prompt: int = 0,
    position: int | None = None,
    dtype: str | None = None,
    allow_rounding: bool = False,
    steps: Mapping[str, Any] | None = None,
) -> None:
    """Fail unless the token that these logits choose is right, tied or nearly tied; the message says which, by how much, and where.

    `logits` is one row, [vocabulary]: what an engine gives after a position of a prompt, by default after its last token.
    `dtype` is the format that was computed in, where the array does not say it. With `steps`, arrays by the names of steps, the
    message names the first one that is farther off than careful floats, and one that is fails even where the token is right.
    """
    __tracebackhide__ = True  # pytest shows the message, not these lines
    held = golden if isinstance(golden, Golden) else load_golden(golden)
    numbers = np.asarray(logits)
    format = _format(numbers, dtype)
    row = held.row(prompt, position)
    values = numbers.astype(np.float64)
    if values.shape != row.logits.shape:
        raise GoldenError(f"logits: {_misshapen(values, row)}")
    first = None if steps is None else _first_step(held, prompt, steps, format)
    tokens = () if np.isnan(values).any() else tuple(map(int, np.flatnonzero(values == values.max())))
    found = verdict(row, row.position, tokens, format, lambda: row.careful(format.name))
    fine = found.name in (RIGHT, TRUE_TIE, NEAR_TIE) or (allow_rounding and found.name == BY_ROUNDING)
    if not fine or first is not None:
        raise AssertionError(_message(row, values, tokens, format, found, first))


def _misshapen(values: Any, row: GoldenRow) -> str:
    """What is wrong with the shape of logits, and which row to give where it is among them."""
    tokens, size = len(row.golden.document["prompts"][row.prompt]["ids"]), len(row.logits)
    wanted = f"give one row of {size:,}, after position {row.position} of prompt {row.prompt}, which has {tokens:,} tokens"
    if values.shape == (tokens, size):
        wanted += f": logits[{row.position}]"
    elif values.ndim == 3 and values.shape[1] >= tokens and values.shape[2] == size:  # of one prompt, or of all
        prompt = 0 if len(values) == 1 else row.prompt
        wanted += f": logits[{prompt}, {row.position}]" if prompt < len(values) else ""
    return f"have the shape {values.shape}: {wanted}"


def _format(numbers: Any, dtype: str | None) -> Format:
    name = numbers.dtype.name if dtype is None else dtype
    if dtype is None and name not in FORMATS:
        raise GoldenError(f"logits: hold {name}; say in which format was computed: dtype=")
    return format_of(name, "dtype")


def _first_step(golden: Golden, prompt: int, steps: Mapping[str, Any], format: Format) -> str | None:
    said = golden.document["prompts"][prompt].get("steps")
    if said is None:
        raise GoldenError("steps: the golden file has none; make it with --steps")
    unknown = next((name for name in steps if name not in said), None)
    if unknown is not None:
        raise GoldenError(f"steps: {unknown}: the golden file has no such step")
    for name, known in said.items():
        if name in steps:
            true = golden.arrays[f"steps.{prompt}.{name}"]
            given = np.asarray(steps[name]).astype(np.float64)
            if given.shape != true.shape:
                raise GoldenError(f"steps: {name}: has the shape {given.shape}, where the file has {true.shape}")
            off, careful = largest_row(given - true, True), float(known["careful"][format.name])
            if not off <= most_allowed(careful, format.ulp(true), True) + float(known["error"]):
                return f"{name} is off by {off:.3g}, where careful {format.name} is off by {careful:.3g}"
    return None


def _message(row: GoldenRow, values: Any, tokens: tuple[int, ...], format: Format, found: Verdict, first: str | None) -> str:
    """One line: verdict, tokens, margin, error in units of the last place, and the step."""
    off = np.abs(values - row.logits)
    at = int(np.nanargmax(off)) if np.isfinite(off).any() else 0
    units = float(off[at] / format.ulp(np.maximum(np.abs(values[at]), np.abs(row.logits[at]))))
    others = f" and {len(tokens) - 1:,} others with the same logit" if len(tokens) > 1 else ""
    chosen = f"token {tokens[0]}{others}" if tokens else "no token"
    lead = f", ahead by {row.said['margin'][0]} (proved)" if row.said.get("margin") else ""
    true = f"the true one is {row.said['token']}{lead}"
    parts = [
        f"{found.name}: after position {row.position} of prompt {row.prompt} the engine says {chosen}; {true}",
        f"logit {at} is off by {off[at]:.3g}, which is {units:.3g} ulps of {format.name}",
    ]
    return "; ".join([*parts, *([f"first step that is off: {first}"] if first else [])])


if importlib.util.find_spec("pytest") is not None:
    import pytest

    @pytest.fixture(scope="session")
    def golden() -> Callable[[Path | str], Golden]:
        """Opens golden files, each once a session."""
        return cache(load_golden)
