"""A server of the page for tests."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from children import PATIENCE
from exactformer.cli.serve import _listener
from exactformer.web.app import application
from exactformer.web.listening import SECONDS, server

T = TypeVar("T")


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def awaited(coroutine: Coroutine[Any, Any, T]) -> T:
    """What it answers, in a thread of its own: where a browser is open, this one has an event loop already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


class Serving:
    """The application on a port of its own, in a thread."""

    def __init__(self, patience: float = SECONDS, **options: Any) -> None:
        self.listener = _listener("127.0.0.1", 0)
        self.port = self.listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.app = application(**{"seconds": PATIENCE, **options})
        self.server = server(self.app, patience, log_level="error")
        self.thread = threading.Thread(target=self.server.run, args=([self.listener],), daemon=True)

    def __enter__(self) -> Serving:
        self.thread.start()
        until(lambda: self.server.started)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.listener.close()
