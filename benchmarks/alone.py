"""A measurement in a process of its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


@contextlib.contextmanager
def started_with(threads: int) -> Iterator[None]:
    """Processes that are started here have so many threads, a number that is fixed when NumPy and torch are loaded."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def alone(threads: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function finds with so many threads."""
    with started_with(threads), get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def resident() -> int:
    """Most bytes resident so far."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024
