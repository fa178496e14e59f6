"""Computations in processes of their own: each with a budget of time and memory, each ended when nobody waits for it.

Answers that were given before are kept, within a bound. A computation that turns out to be long does not count among the `size`
that run at once: another process takes its place (up to as many again), so that quick ones are not kept waiting by those that run
into their budget.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from exactformer.web.worker import serve

_MOST_WAITING = 1000
_QUICK = 1.5  # seconds after which a computation counts as long
_KEPT_BYTES = 32 * 2**20
_LARGEST_KEPT = 2**20
_LARGEST_ANSWER = 64 * 2**20


class Answer(NamedTuple):
    """An HTTP status and JSON."""

    status: int
    body: bytes


def refusal(status: int, line: str) -> Answer:
    return Answer(status, json.dumps({"error": line}, ensure_ascii=False).encode())


class Worker:
    """One process, started when it is first asked for something, and again after it has ended."""

    def __init__(self, memory: int) -> None:
        self.memory, self.about = memory, ""  # `about` is what it was asked about last, and so remembers
        self.replaced = False  # has another process taken its place, since it is busy for long?
        self._process: Any = None
        self._connection: Connection | None = None
        self._doomed = False

    def ask(self, message: bytes) -> Answer:
        """The answer; blocks, so it is called in a thread."""
        if self._process is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send_bytes(message)
            answer = self._connection.recv_bytes(_LARGEST_ANSWER)
        except (EOFError, OSError):
            return refusal(507, f"the computation needs more than {self.memory >> 20} MB ({self._ended()})")
        last, status, body = answer[:1], int(answer[1:4]), answer[4:]
        if last == b"1":
            self._ended()
        return Answer(status, body)

    def kill(self) -> None:
        """End the process, whatever it is doing; whoever waits for it gets a message."""
        self._doomed = True
        if self._process is not None:
            self._process.kill()

    def _start(self) -> None:
        context = multiprocessing.get_context(start_method())
        here, there = context.Pipe()
        self._process = context.Process(target=serve, args=(there, self.memory), daemon=True)  # type: ignore[attr-defined]
        self._process.start()
        there.close()
        self._connection = here
        if self._doomed:
            self._process.kill()

    def _ended(self) -> str:
        """Take leave of the process; how it ended."""
        assert self._process is not None and self._connection is not None  # noqa: PT018
        self._process.join(1)
        self._process.kill()
        self._process.join()
        code = self._process.exitcode or 0
        self._connection.close()
        self._process, self._connection, self._doomed, self.about = None, None, False, ""
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def start_method() -> str:
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


class Pool:
    """`size` processes, each with `memory` bytes; a computation may take `seconds`."""

    def __init__(self, size: int = 4, seconds: float = 20, memory: int = 2**30) -> None:
        self.seconds = seconds
        self.size, self.memory = size, memory
        self._idle = [Worker(memory) for _ in range(size)]
        self._busy: set[Worker] = set()
        self._free = asyncio.Semaphore(size)
        self._threads = ThreadPoolExecutor(2 * size, "worker")
        self._waiting, self._long = 0, 0
        self._kept: OrderedDict[bytes, Answer] = OrderedDict()
        self._kept_bytes = 0
        if start_method() == "forkserver":
            multiprocessing.get_context("forkserver").set_forkserver_preload(["exactformer.web.tasks"])

    def close(self) -> None:
        for worker in (*self._idle, *self._busy):
            worker.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, task: str, arguments: dict[str, Any], seconds: float | None = None) -> Answer:
        """What the task answers, or why there is no answer. Cancelling ends the computation at once."""
        message = json.dumps([task, arguments], sort_keys=True).encode()
        if message in self._kept:
            self._kept.move_to_end(message)
            return self._kept[message]
        if self._waiting >= _MOST_WAITING:
            return refusal(503, "the server is busy: try again in a while")
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        worker = self._take(json.dumps(arguments.get("source")))
        try:
            answer = await self._ask(worker, message, seconds or self.seconds)
        except BaseException:
            worker.kill()
            raise
        finally:
            self._return(worker)
        self._keep(message, answer)
        return answer

    def _take(self, about: str) -> Worker:
        """An idle process: the one that knows the subject, if there is one."""
        worker = next((each for each in self._idle if each.about == about), self._idle[0])
        self._idle.remove(worker)
        self._busy.add(worker)
        worker.about, worker.replaced = about, False
        return worker

    def _return(self, worker: Worker) -> None:
        """Idle again. Where another process had taken its place, the one that has been idle longest retires."""
        self._busy.discard(worker)
        self._idle.append(worker)
        if worker.replaced:
            self._long -= 1
            self._idle.pop(0).kill()
        else:
            self._free.release()

    def _replace(self, worker: Worker) -> None:
        """Let another process take the place of one that is busy for long."""
        if self._long < self.size:
            self._long += 1
            worker.replaced = True
            self._idle.append(Worker(self.memory))
            self._free.release()

    async def _ask(self, worker: Worker, message: bytes, seconds: float) -> Answer:
        answer = asyncio.get_running_loop().run_in_executor(self._threads, worker.ask, message)
        await asyncio.wait({answer}, timeout=min(_QUICK, seconds))
        if not answer.done():
            self._replace(worker)
            await asyncio.wait({answer}, timeout=max(seconds - _QUICK, 0))
        if answer.done():
            return answer.result()
        return await self._give_up(worker, answer, 504, f"the computation takes more than {seconds:g} seconds")

    async def _give_up(self, worker: Worker, answer: asyncio.Future[Answer], status: int, line: str) -> Answer:
        worker.kill()
        await answer
        return refusal(status, line)

    def _keep(self, message: bytes, answer: Answer) -> None:
        size = len(message) + len(answer.body)
        if answer.status != 200 or size > _LARGEST_KEPT or message in self._kept:
            return
        self._kept[message] = answer
        self._kept_bytes += size
        while self._kept_bytes > _KEPT_BYTES:
            old, given = self._kept.popitem(last=False)
            self._kept_bytes -= len(old) + len(given.body)
