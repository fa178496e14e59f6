"""Processes that tests start: one that can be interrupted, and how long any of them is waited for."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PATIENCE = 600  # seconds after which a child hangs. A limit, not an expectation: the machine may be slow, or have other work


def interruptible(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """A child that SIGINT interrupts, even where it is ignored here (a shell's `make test &`), which children would inherit."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a handler: the child has the default again
    try:
        return subprocess.Popen(command, **options)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def unread() -> Iterator[int]:
    """A pipe for a child's output whose reader has gone before the child begins."""
    reader, pipe = os.pipe()
    os.close(reader)
    try:
        yield pipe
    finally:
        os.close(pipe)
