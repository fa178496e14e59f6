"""The HTTP server around the application: a request that is not sent whole within some seconds is dropped."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

SECONDS = 15.0  # for a request to be sent whole
_KEPT = 5  # seconds more that a connection without a request is kept: whoever thinks about a number comes back to it


def server(app: Any, seconds: float = SECONDS, **options: Any) -> uvicorn.Server:
    """A server that waits for no client longer than so many seconds."""
    prompt = type("Prompt", (_Prompt,), {"seconds": seconds})
    config = uvicorn.Config(
        app, http=prompt, server_header=False, timeout_graceful_shutdown=1, timeout_keep_alive=round(seconds) + _KEPT, **options
    )
    return uvicorn.Server(config)


class _Prompt(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection that is closed where a request was begun, or none was, and its rest does not come."""

    seconds: float
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_whole():
            self._expect_nothing()
        elif self._timer is None:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def _is_whole(self) -> bool:
        """Has the client said all that belongs to the request that is being answered?"""
        cycle = self.cycle
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    def _expect(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
