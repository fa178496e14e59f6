"""What a file holds of a pass, so that the page needs no server: its numbers, and the named ones among them opened."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from exactformer.model.axes import SPOKEN, TOKEN
from exactformer.numbers import Named
from exactformer.numbers.definitions import Symbols
from exactformer.render.values import largest
from exactformer.trace import Gradient, Step, Trace
from exactformer.web import document

_MOST_VALUES = 20_000  # numbers of a step that a file holds
_MOST_OPENED = 4_000
_OPENED_DIGITS = 50
_BLOCK = (16, 32)  # rows and columns that are fetched at once (book.js)
_LARGEST_LOGITS = 100  # of a position, where the vocabulary is large
_SHOWN = 48  # columns that a table shows at once (table.js)


def held(trace: Trace, digits: int, about: str = "", gradient: Gradient | None = None) -> dict[str, Any]:
    """The pass with its numbers, its backward pass where that is given, and the named numbers of both opened."""
    steps = [*trace.steps, *trace.weights]
    values = {step.name: document.values(step, digits) for step in steps if step.values.size <= _MOST_VALUES}
    graded = () if gradient is None else gradient.steps
    back = {step.name: document.values(step, digits) for step in graded if step.values.size <= _MOST_VALUES}
    numbers, opened = _opened([step for step in (*trace.steps, *graded) if step.name in values or step.name in back], digits)
    large = [step for step in steps if step.name not in values]
    blocks, words = _blocks(trace, large)
    cells = _cells(trace, large)
    if not (config := trace.model.config).outputs:  # else they are with the pass
        words |= {column: config.vocabulary[column] for columns in cells.values() for column in columns}
    found: dict[str, Any] = {
        "pass": document.outline(trace) | {"values": values, "about": about},
        "numbers": numbers,
        "opened": opened,
    }
    found |= {"blocks": blocks, "cells": cells, "words": words}
    return found if gradient is None else found | {"gradient": document.gradient_outline(gradient, digits) | {"values": back}}


def _cells(trace: Trace, steps: list[Step]) -> dict[str, dict[int, Any]]:
    """Of tables over a large vocabulary: the columns of the largest logits of each position, from top to bottom."""
    over_tokens = [step for step in steps if trace.axes(step.name)[-1] in (TOKEN, SPOKEN)]
    if not over_tokens:
        return {}
    columns = sorted({column for row in trace.logits for column in largest(row, _LARGEST_LOGITS)})
    return {
        step.name: {column: document.nested(step.values[..., column], document.brief) for column in columns} for step in over_tokens
    }


def _blocks(trace: Trace, steps: list[Step]) -> tuple[dict[str, Any], dict[int, str]]:
    """Of tables too large to be held: the blocks that show the largest logit of each position, and the rows of the input."""
    ids = trace.model.ids(trace.tokens)
    winners = [document.token_id(trace, out.token) for out in trace.output if out.token is not None]
    blocks: dict[str, Any] = {}
    words: dict[int, str] = {}
    count = 0
    for step in steps:
        high, wide = (-(-size // part) for size, part in zip(step.values.shape[-2:], _BLOCK, strict=True))
        kinds = trace.axes(step.name)
        rows = sorted({i // _BLOCK[0] for i in ids}) if kinds[0] is TOKEN else range(high)
        last = step.values.shape[-1]
        columns = sorted({c for w in winners for c in _around(w, last)}) if kinds[-1] in (TOKEN, SPOKEN) else range(wide)
        for r, c in product(rows, columns):
            across, down = (range(n * part, (n + 1) * part) for n, part in zip((r, c), _BLOCK, strict=True))
            shown = document.window(step, slice(across.start, across.stop), slice(down.start, down.stop))
            count += shown.size
            if count > _MOST_VALUES:
                return blocks, words
            blocks[f"{step.name} {r} {c}"] = document.nested(shown, document.brief)
            words |= document.words(trace, [step], across, down)
    return blocks, words


def _around(column: int, columns: int) -> range:
    """Blocks of the columns that the page shows when it goes to one."""
    left = max(0, min(column - 1, columns - _SHOWN))
    return range(left // _BLOCK[1], (left + _SHOWN - 1) // _BLOCK[1] + 1)


def _opened(steps: list[Step], digits: int) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Every named number once, and where it stands."""
    numbers: dict[str, int] = {}
    opened: list[dict[str, Any]] = []
    seen: dict[int, int] = {}
    symbols = Symbols()
    for step in steps:
        for place, value in _named(step):
            if id(value) not in seen:
                if len(opened) == _MOST_OPENED:
                    return numbers, opened
                seen[id(value)] = len(opened)
                opened.append(document.opened_value(value, max(digits, _OPENED_DIGITS), symbols))
            numbers[place] = seen[id(value)]
    return numbers, opened


def _named(step: Step) -> list[tuple[str, Named]]:
    if step.values.dtype != object:
        return []
    entries = ((index, step.values[index]) for index in np.ndindex(*step.values.shape))
    return [(f"{step.name}[{','.join(map(str, index))}]", value) for index, value in entries if isinstance(value, Named)]
