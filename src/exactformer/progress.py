"""Signs of life for long work: nothing for what is quick, one changing line on a terminal, plain lines elsewhere.

A thread tells them, so that they go on inside of a step that takes long; whoever works only says how far it is.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from types import TracebackType

_PATIENCE = 2.0  # seconds before the first word
_PAUSE = {True: 0.2, False: 5.0}  # seconds between words, on a terminal and elsewhere
_BAR, _NARROW = 24, 72  # characters of a bar, and of a terminal that has no room for one
_BLOCK = re.compile(r"blocks\.(\d+)\.")
_MINUTE, _HOUR = 60, 3600


class Progress:
    """Called with the name of each thing that is done; or, where the number of cases is known, with how many are."""

    def __init__(self, what: str = "working") -> None:
        self.terminal = sys.stderr.isatty()
        self.start = time.monotonic()
        self.done = 0
        self.reached = "nothing"
        self.blocks = 0  # of the model whose steps are shown; 0: not known
        self.what = what  # is being done; empty: nothing
        self._begun: tuple[float, float] | None = None  # when it was first known how much is done, and how much that was
        self._share = 0.0
        self._drawn = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._teller = threading.Thread(target=self._tell, daemon=True)

    def __call__(self, name: str) -> None:
        self.done += 1
        if self.blocks and (found := _BLOCK.search(name)):
            self.part(int(found[1]), self.blocks)
        self.what = f"{self.done} steps done, last {name}"

    def cases(self, done: int, total: int, of: str = "cases") -> None:
        self.reached = f"{done:,} of {total:,} {of}"
        self.part(done, total)
        self.what = self.reached

    def part(self, done: float, total: float) -> None:
        """How much of all there is to do is done: what the bar and the time that is left are drawn from."""
        self._share = done / max(total, 1)
        if self._begun is None or self._share < self._begun[1]:
            self._begun = time.monotonic(), self._share

    def line(self, now: float, columns: int | None = None) -> str:
        """What is shown at a moment; on a terminal of so many columns with a bar, where it has room for one."""
        left = self._left(now)
        said = f"{self.what}{f', about {duration(left)} left' if left is not None else ''}"
        if columns is not None and columns >= _NARROW and self._begun is not None:
            filled = int(_BAR * self._share)
            said = f"[{'#' * filled}{'.' * (_BAR - filled)}] {said}"
        line = f"exactformer: {now - self.start:.0f} s, {said}"
        return line if columns is None or len(line) < columns else line[: columns - 2] + "…"

    def _left(self, now: float) -> float | None:
        """Seconds, if it goes on as it went from the moment when it was first known how much is done."""
        if self._begun is None or self._share <= self._begun[1]:
            return None
        return (now - self._begun[0]) * (1 - self._share) / (self._share - self._begun[1])

    def _tell(self) -> None:
        pause = _PATIENCE
        while not self._ended.wait(pause):
            with self._lock:
                if self.what:
                    self._draw()
            pause = _PAUSE[self.terminal]

    def _draw(self) -> None:
        if not self.terminal:
            print(self.line(time.monotonic()), file=sys.stderr, flush=True)
            return
        line = self.line(time.monotonic(), os.get_terminal_size(sys.stderr.fileno()).columns)
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        self._drawn = True

    def clear(self) -> None:
        """Wipe the line, and tell nothing before something else is done."""
        with self._lock:
            self.what = ""
            if self._drawn:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
                self._drawn = False

    def __enter__(self) -> Progress:
        self._teller.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._teller.join()
        self.clear()


def duration(seconds: float) -> str:
    """
    >>> [duration(seconds) for seconds in (0.2, 59, 61, 150, 3600, 9000)]
    ['1 s', '59 s', '2 min', '3 min', '1 h', '2 h 30 min']
    """
    if round(seconds) < _MINUTE:
        return f"{max(1, round(seconds))} s"
    minutes = -int(-seconds // _MINUTE)
    hours, rest = divmod(minutes, _HOUR // _MINUTE)
    return f"{minutes} min" if not hours else f"{hours} h{f' {rest} min' if rest else ''}"
