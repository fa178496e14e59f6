"""Many numbers are made at once, and none of them is garbage: Python need not look for it at every few hundred."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """While it lasts, nobody looks for cycles of garbage; afterwards it is as it was.

    >>> with uncollected():
    ...     gc.isenabled()
    False
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
