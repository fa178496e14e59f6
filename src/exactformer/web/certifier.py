"""The model that was given at the start, as the server sees it: one process, its state, and a queue of those who ask it.

A question that takes too long, or that nobody waits for any more, ends with its process. The next process starts at once, finds the
norms of the model kept on disk, and serves those who were waiting.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from exactformer.web.certified_worker import ANSWER, serve
from exactformer.web.workers import Answer, refusal, start_method
from exactformer.worksheets.models import built_in

_MOST_WAITING = 50
_STARTING = {"state": "loading", "share": 0}
_GRACE = 2.0  # seconds in which a token that nobody waits for may still be finished


class Certifier:
    """Proves tokens of the model `source`, or of the worksheet `text`; each may take `seconds`. Made and used in one event loop."""

    def __init__(self, source: str, seconds: float, text: str | None = None) -> None:
        self.source, self.seconds, self.text = source, seconds, text
        self.about: dict[str, Any] = {"name": Path(source).name, "built_in": source in built_in()} | _STARTING
        self._turn, self._settled = asyncio.Lock(), asyncio.Event()  # settled: ready, or failed for good
        self._waiting = 0
        self._asked: asyncio.Future[Answer] | None = None
        self._doomed = self._closed = False
        self._thread = ThreadPoolExecutor(1, "certifier")
        self._process: Any = None
        self._connection: Connection | None = None
        self._life = asyncio.ensure_future(self._live())

    def close(self) -> None:
        self._closed = True
        self._life.cancel()
        self._kill()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def ask(self, task: str, arguments: dict[str, Any]) -> Answer:
        """The answer, in turn. Cancelling ends the work on it, and leaves the place to the next."""
        if self._waiting >= _MOST_WAITING:
            return refusal(503, f"{_MOST_WAITING} questions wait for the model: try again in a while")
        self._waiting += 1
        try:
            async with self._turn:
                await self._settled.wait()
                if self.about["state"] == "failed":
                    return refusal(503, self.about["line"])
                return await self._ask(json.dumps([task, arguments]).encode())
        finally:
            self._waiting -= 1

    async def _ask(self, message: bytes) -> Answer:
        assert self._connection is not None
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked = answer
        try:
            self._connection.send_bytes(message)
        except OSError:
            return refusal(503, "the process of the model has ended: try again")
        try:
            await asyncio.wait({answer}, timeout=self.seconds)
        except asyncio.CancelledError:
            await asyncio.wait({answer}, timeout=_GRACE)
            if not answer.done():
                self._kill()
            raise
        if answer.done():
            return answer.result()
        self._kill()
        return refusal(504, f"the token takes more than {self.seconds:g} seconds")

    def _kill(self) -> None:
        self._settled.clear()
        self._doomed = True
        self.about |= _STARTING
        if self._process is not None:
            self._process.kill()

    async def _live(self) -> None:
        """Start the process and hear it; and again, where it had to be ended."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.run_in_executor(self._thread, self._start)
            except OSError as error:
                self.about |= {"state": "failed", "line": f"the process of the model cannot be started: {error.strerror}"}
                self._settled.set()
                return
            await self._hear()
            ended = await loop.run_in_executor(self._thread, self._ended)
            if self.about["state"] != "ready" and not self._doomed:
                if self.about["state"] != "failed":
                    self.about |= {"state": "failed", "line": f"the process of the model {ended} while it was prepared"}
                self._settled.set()
                return
            self._settled.clear()
            if self._asked is not None and not self._asked.done():
                self._asked.set_result(refusal(507, f"the process of the model {ended}: it may need more memory than there is"))
            self.about |= _STARTING

    def _start(self) -> None:
        context = multiprocessing.get_context(start_method())
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, self.source, self.text), daemon=True)  # type: ignore[attr-defined]
        process.start()
        there.close()
        self._process, self._connection, self._doomed = process, here, False  # a process that has not started cannot be killed
        if self._closed:
            process.kill()

    async def _hear(self) -> None:
        """Everything that the process says, until it ends."""
        assert self._connection is not None
        loop = asyncio.get_running_loop()
        while True:
            try:
                said = await loop.run_in_executor(self._thread, self._connection.recv_bytes)
            except (EOFError, OSError):
                return
            if said[:1] == ANSWER:
                if self._asked is not None and not self._asked.done():
                    self._asked.set_result(Answer(int(said[1:4]), said[4:]))
            elif not self._doomed:
                self.about |= json.loads(said[1:])
                if self.about["state"] == "ready":
                    self._settled.set()

    def _ended(self) -> str:
        assert self._connection is not None
        self._process.join(1)
        self._process.kill()
        self._process.join()
        self._connection.close()
        code = self._process.exitcode or 0
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
