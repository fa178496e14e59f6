"""Cases computed by processes of this machine.

Processes and not threads, because python-flint's precision belongs to the whole process. A pool of our own and not the one of
`concurrent.futures`, because that one gives up everything when one worker is killed, and its workers wait for ever when the process
that started them is.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

from exactformer.proofs.chunks import Chunks, Outcome, RunError, compute, one_line

_TRIES = 3  # processes that a case may take down
_FUNCTION = "the function of the cases (define it in a module, or use 1 worker)"
_STARTS = 3  # processes that may end, one after the other, before their first case


def _serve(connection: Connection) -> None:
    """The work of one process: a function first, then chunks of cases until the connection ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        function = connection.recv()
        connection.send(None)
        while True:
            connection.send(compute(function, connection.recv()))
    except (EOFError, OSError):  # the run is over
        return
    except Exception as error:
        connection.send(f"cannot be loaded by another process ({one_line(error)})")


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # in the middle of a case: nobody waits for it


class _Worker:
    """A process and the chunk that it works on."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there,), daemon=True)
        self.ready = False
        self.chunk: list[int] = []
        # The process inherits that SIGINT is blocked, so Ctrl-C reaches only the one that can stop them all. The first start of a
        # process also starts multiprocessing's tracker, which ends with SIGINT unblocked, so that has to be done before.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        except OSError as error:
            raise RunError(f"no process can be started for the cases: {error.strerror}") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        there.close()

    def send(self, data: memoryview) -> None:
        with contextlib.suppress(OSError):  # it has ended, and the next look at its connection says so
            self.connection.send_bytes(data)

    def stop(self) -> str:
        """End the process; how it ended."""
        self.process.kill()
        self.process.join()
        code = self.process.exitcode or 0
        self.connection.close()
        self.process.close()
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def _pickled(what: str, value: object) -> memoryview:
    try:
        return ForkingPickler.dumps(value)
    except Exception as error:
        raise RunError(f"{what} cannot be sent to another process ({one_line(error)})") from error


def in_processes(function: Callable[[Any], Any], chunks: Chunks, workers: int) -> Iterator[tuple[list[int], Outcome]]:
    """Chunks with their outcomes as they finish. A worker that ends is replaced, and its chunk is computed again."""
    code = _pickled(_FUNCTION, function)
    pool: dict[object, _Worker] = {}
    failed_starts = 0

    def start() -> _Worker:
        worker = _Worker()
        pool[worker.connection] = worker
        return worker

    try:
        for worker in [start() for _ in range(min(workers, chunks.left))]:  # all start before the first waits for its function
            worker.send(code)
        while chunks.left:
            for worker in pool.values():
                if worker.ready and not worker.chunk and (chunk := chunks.take(workers)):
                    worker.chunk = chunk
                    worker.send(_pickled(chunks.names(chunk), [chunks.cases[index] for index in chunk]))
            for connection in wait([worker.connection for worker in pool.values()]):
                worker = pool[connection]
                try:
                    answer = worker.connection.recv()
                except (EOFError, OSError):
                    del pool[connection]
                    worker.process.join(1)  # it is ending by itself: its own status tells more than our kill
                    how = worker.stop()
                    failed_starts += not worker.ready
                    if failed_starts == _STARTS:
                        raise RunError(
                            f'worker processes end before their first case ({how}); a script needs `if __name__ == "__main__":` '
                            "around what it runs"
                        ) from None
                    chunks.lost(worker.chunk, how, _TRIES)
                    start().send(code)
                    continue
                if isinstance(answer, str):
                    raise RunError(f"{chunks.names(worker.chunk) if worker.ready else _FUNCTION} {answer}")
                failed_starts = 0
                worker.ready, chunk, worker.chunk = True, worker.chunk, []
                if answer is not None:
                    chunks.settle(chunk, answer)
                    yield chunk, answer
    finally:
        for worker in pool.values():
            worker.process.kill()
        for worker in pool.values():
            worker.stop()
