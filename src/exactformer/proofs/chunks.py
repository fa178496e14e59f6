"""The cases of a proof in chunks: handed out, computed for a fraction of a second, taken back."""

from __future__ import annotations

import json
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from exactformer.messages import Refused

SECONDS = 0.25  # that a chunk is worked on: long against the overhead of a chunk (about 1 ms), short enough to lose
_MOST = 10_000  # cases in a chunk


class RunError(Refused):
    """Why the cases could not be run, in one line."""


class CaseError(RunError):
    """One case that could not be run; its message names the case, its note tells where."""


@dataclass(frozen=True)
class Outcome:
    """Of one chunk: the results, as JSON, of its first cases; and what the next case raised, if it did."""

    results: list[str]
    seconds: float
    failure: tuple[str, str] | None = None  # the exception in one line, and its traceback


def compute(function: Callable[[Any], Any], cases: Sequence[Any], seconds: float = SECONDS) -> Outcome:
    """The cases in order until they end, `seconds` are over, or one raises; at least one is tried.

    >>> compute(lambda n: {"inverse": 12 // n}, [3, 2]).results
    ['{"inverse":4}', '{"inverse":6}']
    >>> outcome = compute(lambda n: [12, 6][n], [0, 2, 1])
    >>> outcome.results, outcome.failure[0]
    (['12'], 'IndexError: list index out of range')
    """
    results: list[str] = []
    start = time.monotonic()
    for case in cases:
        try:
            # JSON at once, so that a result is the same whether it comes from this process, another one or a journal.
            results.append(json.dumps(function(case), allow_nan=False, separators=(",", ":")))
        except Exception as error:
            return Outcome(results, time.monotonic() - start, (one_line(error), traceback.format_exc()))
        if time.monotonic() - start >= seconds:
            break
    return Outcome(results, time.monotonic() - start)


def one_line(error: BaseException) -> str:
    """An exception as `Type: message`, without line breaks."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


class Chunks:
    """The cases that are not `done`, each handed out until it is finished.

    >>> chunks = Chunks("abcd", bytearray([0, 1, 0, 0]))
    >>> chunks.take(1)
    [0]
    >>> chunks.settle([0], Outcome(['"A"'], 0.01))
    >>> chunks.take(1), chunks.left
    ([2], 2)
    >>> chunks.lost([2], "out of memory", tries=2)
    >>> chunks.take(1)
    [2]
    >>> chunks.lost([2], "out of memory", tries=2)
    Traceback (most recent call last):
    exactformer.proofs.chunks.CaseError: case 2 ('c'): the process that computed it was lost, 2 times: out of memory
    """

    def __init__(self, cases: Sequence[Any], done: bytearray) -> None:
        self.cases = cases
        self.left = done.count(0)  # cases that are not finished
        self._waiting = self.left  # of them, those that nobody works on
        self._fresh = (index for index, held in enumerate(done) if not held)
        self._returned: deque[int] = deque()  # time was over before their turn
        self._alone: deque[int] = deque()  # lost with a worker: one by one, to find out which case it was
        self.suspects = Counter[int]()  # cases that are not finished, and how often they were lost with a worker
        self._size = 1

    def take(self, seats: int) -> list[int]:
        """The next chunk, empty if nothing waits; `seats` is how many chunks are worked on at once."""
        if self._alone:
            chunk = [self._alone.popleft()]
        else:
            size = max(1, min(self._size, self._waiting // (2 * seats)))  # smaller near the end, so that all finish together
            chunk = [self._returned.popleft() if self._returned else next(self._fresh) for _ in range(min(size, self._waiting))]
        self._waiting -= len(chunk)
        return chunk

    def settle(self, chunk: list[int], outcome: Outcome) -> None:
        """Take back a chunk that was worked on."""
        finished = len(outcome.results)
        self.left -= finished
        for index in chunk[:finished]:
            self.suspects.pop(index, None)
        self._returned.extend(chunk[finished:])
        self._waiting += len(chunk) - finished
        rate = finished / max(outcome.seconds, 1e-6)
        self._size = max(1, min(int(rate * SECONDS), 2 * self._size, _MOST))

    def lost(self, chunk: list[int], how: str, tries: int) -> None:
        """Take back a chunk whose worker ended before it answered; `tries` is how often that may happen to a case."""
        for index in chunk:
            self.suspects[index] += 1
            if self.suspects[index] >= tries:
                raise CaseError(f"{self.name(index)}: the process that computed it was lost, {tries} times: {how}")
        self._alone.extend(chunk)
        self._waiting += len(chunk)

    def name(self, index: int) -> str:
        """A case in words, for a message."""
        text = " ".join(repr(self.cases[index]).split())
        return f"case {index} ({text if len(text) <= 100 else text[:99] + '…'})"

    def names(self, chunk: list[int]) -> str:
        """A chunk in words, for a message."""
        return self.name(chunk[0]) if len(chunk) == 1 else f"one of {len(chunk)} cases from {self.name(chunk[0])} on"
