"""What an interruption must not divide: doing a thing and counting it as done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def undivided() -> Iterator[None]:
    """An interruption comes after all that is within; a second one at once, for a reader of the output may keep us waiting.

    Where nothing is interrupted by a KeyboardInterrupt (another thread, a shell's background job), nothing changes.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def later(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
