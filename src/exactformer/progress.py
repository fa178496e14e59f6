"""Signs of life for long work: nothing for what is quick, one changing line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_PATIENCE = 2.0  # seconds before the first word
_PAUSE = {True: 0.1, False: 10.0}  # seconds between words, on a terminal and elsewhere


class Progress:
    """Called with the name of each thing that is done."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.start = time.monotonic()
        self.next = self.start + _PATIENCE
        self.done = 0

    def __call__(self, name: str) -> None:
        self.done += 1
        now = time.monotonic()
        if now >= self.next:
            self.next = now + _PAUSE[self.terminal]
            line = f"exactformer: {now - self.start:.0f} s, {self.done} steps done, last {name}"
            print(f"\r\x1b[K{line}" if self.terminal else line, end="" if self.terminal else "\n", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.terminal and self.next > self.start + _PATIENCE:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
