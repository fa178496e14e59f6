"""What an engine gave: for every prompt its ids, and logits, log-probabilities, tokens or the values of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from exactformer.messages import Refused
from exactformer.model import Model
from exactformer.numbers.formats import FORMATS, Format
from exactformer.reading import times


class OutputsError(Refused):
    """Why somebody's outputs are refused, in one line that names the file and what is wrong in it."""


@dataclass(frozen=True, eq=False)
class Given:
    """One prompt of an engine. Rows belong to positions: the first to `first`, the others to those that follow.

    A row says what follows the token at its position. Numbers are float64, which holds those of every format.
    """

    ids: tuple[int, ...]
    first: int
    logits: Any = None  # [rows, outputs]
    logprobs: Any = None  # [rows, outputs]
    picked: tuple[Mapping[int, float], ...] = ()  # log-probabilities of some tokens alone, for every row
    tokens: tuple[int, ...] = ()  # that were chosen, where they are given apart from the numbers
    steps: Mapping[str, Any] = field(default_factory=dict)
    fed_back: bool = False  # are the ids after `first` tokens that the engine chose?

    @cached_property
    def rows(self) -> int:
        found = [len(rows) for rows in (self.logits, self.logprobs, self.picked, self.tokens) if rows is not None and len(rows)]
        return max(found, default=0)

    def chosen(self, row: int) -> tuple[int, ...]:
        """The engine's token: the one it chose, or all that have the largest number; none where these are not numbers.

        Of several, whoever reads the numbers takes one by chance: an engine whose logits are all 0 has chosen every token.
        """
        if self.tokens:
            return (self.tokens[row],)
        numbers = self.logits if self.logits is not None else self.logprobs
        if numbers is None or np.isnan(numbers[row]).any():
            return ()
        return tuple(int(token) for token in np.flatnonzero(numbers[row] == numbers[row].max()))


@dataclass(frozen=True, eq=False)
class Engine:
    """One engine: its name, the format that it computes in, and what it gave.

    One that is `quantised` computes with other weights than it was given: what it gets wrong is not the rounding of its format.
    One whose tokens were `sampled` is judged by its log-probabilities alone.
    """

    name: str
    format: Format
    prompts: Sequence[Given]
    quantised: bool = False
    sampled: bool = False
    narrower: str = ""  # a format of fewer bits that holds all numbers, where there is one; known when it is judged

    def judged(self) -> Engine:
        """What is kept of it in a report: not what it gave."""
        return replace(self, prompts=(), narrower=self._narrower())

    def _narrower(self) -> str:
        numbers = [
            rows for given in self.prompts for rows in (given.logits, given.logprobs, *given.steps.values()) if rows is not None
        ]
        formats = sorted(FORMATS.values(), key=lambda format: format.precision)
        found = (
            format.name
            for format in formats
            if format.precision < self.format.precision and all(_holds(format, rows) for rows in numbers)
        )
        return next(found, "") if any(map(np.any, numbers)) else ""

    def checked(self, model: Model) -> Engine:
        """The same, if every prompt and every row fits the model."""
        size = len(model.config.spoken)
        for number, given in enumerate(self.prompts):
            where = f"{self.name}: prompt {number}"
            try:
                model.checked(given.ids)
            except Refused as error:
                raise OutputsError(f"{where}: {error}") from None
            if given.fed_back and given.rows > 1 and model.config.outputs:
                raise OutputsError(f"{where}: the model says other tokens than it reads: answers of 1 token alone can be judged")
            for what, problem in _problems(given, size):
                raise OutputsError(f"{where}: {what}: {problem}")
        return self


def _holds(format: Format, rows: Any) -> bool:
    """Are all of these numbers of the format?"""
    values = np.asarray(rows).astype(np.float64)
    return bool((format.nearest(values) == values).all())


def _problems(given: Given, size: int) -> Iterator[tuple[str, str]]:
    """What does not fit, and why."""
    if not given.rows and not given.steps:
        yield "outputs", "there are none"
    if given.first < 0 or given.first + given.rows > len(given.ids):
        yield "rows", f"{given.rows:,} from position {given.first} on, where the prompt has {len(given.ids):,} tokens"
    for name in ("logits", "logprobs"):
        numbers = getattr(given, name)
        if numbers is not None and (numbers.ndim != 2 or numbers.shape[1] != size):
            yield name, f"have the shape {times(numbers.shape)}, where the model says {size:,} tokens"
    for name in ("picked", "tokens"):
        found = getattr(given, name)
        if found and len(found) != given.rows:
            yield name, f"there are {len(found):,} for {given.rows:,} rows"
    for token in (*given.tokens, *(token for row in given.picked for token in row)):
        if not 0 <= token < size:
            yield "tokens", f"{token} is not one of {size:,}"
    positive = next((x for row in given.picked for x in row.values() if x > 0), None)
    if given.logprobs is not None and (given.logprobs > 0).any():
        positive = float(given.logprobs.max())
    if positive is not None:
        yield "logprobs", f"one is {positive:.6g}, where a logarithm of a probability is at most 0: are these logits?"
