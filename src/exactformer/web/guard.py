"""What every request must pass: the right host, the same origin, a length that is allowed; and what every answer carries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

LARGEST_BODY = 4 * 2**20
CONTENT_SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class Guard:
    """Around the application: a page elsewhere can neither read nor ask, whatever name it gives this machine."""

    def __init__(self, app: Any, hosts: Iterable[str]) -> None:
        self.app, self.hosts = app, {host.lower() for host in hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        problem = self._problem(scope)
        if problem is not None:
            await _refuse(send, *problem)
            return
        heard = 0

        async def bounded() -> Any:
            nonlocal heard
            message = await receive()
            heard += len(message.get("body", b""))
            if heard > LARGEST_BODY:
                raise TooLong
            return message

        await self.app(scope, bounded, _with_headers(send))

    def _problem(self, scope: Any) -> tuple[int, str] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "").lower()
        if _name(host) not in self.hosts:
            return 403, "the host of the request is not one that this server answers for (exactformer serve --allow-host)"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            return 403, "the request comes from another page"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"].startswith("/api/"):
            return 403, "the request comes from another page"
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()) or len(length) > 20 or int(length) > LARGEST_BODY:
            return 413, f"the request has more than {LARGEST_BODY:,} bytes"
        return None


class TooLong(Exception):
    """A request that did not tell its length, and goes on and on."""


def _name(host: str) -> str:
    """The host without its port.

    >>> _name("localhost:8000"), _name("[::1]:8000"), _name("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    head, colon, port = host.rpartition(":")
    return head if colon and port.isascii() and port.isdecimal() else host


def _with_headers(send: Any) -> Any:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in there]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending


async def _refuse(send: Any, status: int, line: str) -> None:
    body = json.dumps({"error": line}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
