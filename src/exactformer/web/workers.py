"""Computations in processes of their own: each with a budget of time and memory, each ended when nobody waits for it.

Answers that were given before are kept, within a bound; a question that is being computed is not computed a second time, however
many ask it meanwhile. A computation that turns out to be long does not count among the `size` that run at once: another process
takes its place (up to as many again), so that quick ones are not kept waiting by those that run into their budget.

Where all of these are busy, one more process is the lane of quick questions: it tries what waits, the newest first, for a short
while each. What is not answered by then goes back to its place in the line, and is known to be long.
"""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import hashlib
import itertools
import json
import multiprocessing
import os
import signal
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from exactformer.web.worker import serve

_MOST_WAITING = 1000
_QUICK = 1.5  # seconds after which a computation counts as long
_TRIED = 0.5  # seconds of the processor that the lane of quick questions gives to each
_LOOK = 0.05  # seconds after which it looks again
_MOST_TRIED = 15.0  # seconds that it gives at most, where the processor is busy with other things
_KEPT_BYTES = 32 * 2**20
_LARGEST_KEPT = 2**20
_LONG_KNOWN = 1000  # subjects that are remembered to take long
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
        process = self._process  # the thread that asks may take leave of it meanwhile
        if process is not None:
            process.kill()

    @property
    def doomed(self) -> bool:
        """Killed when it had just answered: nobody has taken leave of its process, and nothing more is to be asked of it."""
        return self._doomed

    def processor_seconds(self) -> float:
        """What the process has used of the processor so far; 0 where there is none, or the system does not tell."""
        with contextlib.suppress(OSError, AttributeError, ValueError, IndexError):
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return 0.0

    def _start(self) -> None:
        context = multiprocessing.get_context(start_method())
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, self.memory), daemon=True)  # type: ignore[attr-defined]
        process.start()
        there.close()
        self._process, self._connection = process, here  # a process that has not started cannot be killed
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


@dataclass(order=True)
class Place:
    """A place in the line: the process, once one is free, and whether it is the quick lane's."""

    number: int
    about: str = field(compare=False)
    tried: bool = field(compare=False)
    given: asyncio.Future[tuple[Worker, bool]] = field(compare=False)


@dataclass
class Flight:
    """A computation on its way, and how many wait for it."""

    task: asyncio.Task[Answer]
    waiting: int = 0


class Pool:
    """`size` processes and one for quick questions, each with `memory` bytes; a computation may take `seconds`."""

    def __init__(self, size: int = 4, seconds: float = 20, memory: int = 2**30) -> None:
        self.seconds = seconds
        self.size, self.memory = size, memory
        self._idle = [Worker(memory) for _ in range(size)]
        self._quick: Worker | None = Worker(memory)
        self._busy: set[Worker] = set()
        self._threads = ThreadPoolExecutor(2 * size + 1, "worker")
        self._line: list[Place] = []
        self._numbers = itertools.count()
        self._long = 0
        self._flights: dict[bytes, Flight] = {}
        self._known_long: OrderedDict[bytes, None] = OrderedDict()
        self._kept: OrderedDict[bytes, Answer] = OrderedDict()
        self._kept_bytes = 0
        if start_method() == "forkserver":
            multiprocessing.get_context("forkserver").set_forkserver_preload(["exactformer.web.tasks"])

    def close(self) -> None:
        for worker in (*self._idle, *self._busy, *([self._quick] if self._quick else [])):
            worker.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, task: str, arguments: dict[str, Any], seconds: float | None = None, keep: bool = True) -> Answer:
        """What the task answers, or why there is no answer. When all who asked have cancelled, the computation ends at once.

        Answers that depend on files are not to be kept.
        """
        message = json.dumps([task, arguments], sort_keys=True).encode()
        if message in self._kept:
            self._kept.move_to_end(message)
            return self._kept[message]
        flight = self._flights.get(message)
        if flight is None:
            if len(self._line) >= _MOST_WAITING:
                return refusal(503, "the server is busy: try again in a while")
            about = json.dumps(arguments.get("source"), sort_keys=True)
            flight = Flight(asyncio.ensure_future(self._computed(message, about, seconds or self.seconds, keep)))
            self._flights[message] = flight
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and self._flights.get(message) is flight:
                del self._flights[message]
                flight.task.cancel()

    async def _computed(self, message: bytes, about: str, seconds: float, keep: bool) -> Answer:
        place = Place(next(self._numbers), about, _digest(about) in self._known_long, asyncio.get_running_loop().create_future())
        while True:
            worker, quick = await self._turn(place)
            try:
                answer = await (self._try(worker, message) if quick else self._ask(worker, message, seconds))
            except BaseException:
                worker.kill()
                self._return(worker, quick, lost=True)
                raise
            self._return(worker, quick)
            if answer is not None:
                if keep:
                    self._keep(message, answer)
                return answer
            self._remember_long(about)
            place = Place(place.number, about, True, asyncio.get_running_loop().create_future())

    async def _turn(self, place: Place) -> tuple[Worker, bool]:
        """Wait in the line for a process."""
        bisect.insort(self._line, place)
        self._dispatch()
        try:
            return await place.given
        except BaseException:
            if place in self._line:
                self._line.remove(place)
            elif place.given.done() and not place.given.cancelled():  # a process was given, and nobody is here to take it
                self._return(*place.given.result())
            raise

    def _dispatch(self) -> None:
        """Idle processes to those who have waited longest; the lane of quick questions to the newest that it has not tried."""
        self._line = [place for place in self._line if not place.given.done()]  # without those who have just gone
        while self._line and self._idle:
            place = self._line.pop(0)
            place.given.set_result((self._taken(place.about), False))
        untried = next((place for place in reversed(self._line) if not place.tried), None)
        if untried is not None and self._quick is not None:
            self._line.remove(untried)
            worker, self._quick = self._quick, None
            worker.about = untried.about
            self._busy.add(worker)
            untried.given.set_result((worker, True))

    def _taken(self, about: str) -> Worker:
        """An idle process: the one that knows the subject, if there is one."""
        worker = next((each for each in self._idle if each.about == about), self._idle[0])
        self._idle.remove(worker)
        self._busy.add(worker)
        worker.about, worker.replaced = about, False
        return worker

    def _return(self, worker: Worker, quick: bool, lost: bool = False) -> None:
        """Idle again, or a new one for one that is lost. Where another had taken its place, the longest idle one retires."""
        self._busy.discard(worker)
        again = Worker(self.memory) if lost or worker.doomed else worker
        if quick:
            self._quick = again
        else:
            self._idle.append(again)
            if worker.replaced:
                self._long -= 1
                self._idle.pop(0).kill()
        self._dispatch()

    def _replace(self, worker: Worker) -> None:
        """Let another process take the place of one that is busy for long."""
        if self._long < self.size:
            self._long += 1
            worker.replaced = True
            self._idle.append(Worker(self.memory))
            self._dispatch()

    def _remember_long(self, about: str) -> None:
        self._known_long[_digest(about)] = None
        while len(self._known_long) > _LONG_KNOWN:
            self._known_long.popitem(last=False)

    async def _try(self, worker: Worker, message: bytes) -> Answer | None:
        """The answer, where it comes within a short while: of the processor, since the long ones leave little of it."""
        loop = asyncio.get_running_loop()
        begin, before = loop.time(), worker.processor_seconds()
        answer = loop.run_in_executor(self._threads, worker.ask, message)
        while loop.time() - begin < _MOST_TRIED and worker.processor_seconds() - before < _TRIED:
            await asyncio.wait({answer}, timeout=_LOOK)
            if answer.done():
                return answer.result()
        worker.kill()
        await answer
        return None

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


def _digest(about: str) -> bytes:
    return hashlib.sha256(about.encode()).digest()
