"""A server of the page for tests."""

from __future__ import annotations

import threading
import time
from typing import Any

import uvicorn

from exactformer.cli.serve import _listener
from exactformer.web.app import application


class Serving:
    """The application on a port of its own, in a thread."""

    def __init__(self, **options: Any) -> None:
        self.listener = _listener("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.app = application(**options)
        self.server = uvicorn.Server(uvicorn.Config(self.app, log_level="error", timeout_graceful_shutdown=1))
        self.thread = threading.Thread(target=self.server.run, args=([self.listener],), daemon=True)

    def __enter__(self) -> Serving:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.listener.close()
