"""Signs of life for long work: nothing for what is quick, one changing line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_PATIENCE = 2.0  # seconds before the first word
_PAUSE = {True: 0.1, False: 10.0}  # seconds between words, on a terminal and elsewhere
_BAR = 30  # characters


class Progress:
    """Called with the name of each thing that is done; or, where the number of cases is known, with how many are."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.start = time.monotonic()
        self.next = self.start + _PATIENCE
        self.done = 0
        self.reached = "nothing"

    def __call__(self, name: str) -> None:
        self.done += 1
        self._say(f"{self.done} steps done, last {name}")

    def cases(self, done: int, total: int) -> None:
        self.reached = f"{done:,} of {total:,} cases"
        filled = _BAR * done // max(total, 1)
        self._say(f"[{'#' * filled}{'.' * (_BAR - filled)}] {self.reached}" if self.terminal else self.reached)

    def _say(self, what: str) -> None:
        now = time.monotonic()
        if now >= self.next:
            self.next = now + _PAUSE[self.terminal]
            line = f"exactformer: {now - self.start:.0f} s, {what}"
            print(f"\r\x1b[K{line}" if self.terminal else line, end="" if self.terminal else "\n", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.terminal and self.next > self.start + _PATIENCE:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.clear()
