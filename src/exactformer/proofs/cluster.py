"""Cases computed by the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import platform
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import flint

import exactformer
from exactformer.proofs.chunks import Chunks, Outcome, RunError, compute, one_line

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT = 5.0  # seconds for a scheduler to answer
_PATIENCE = 60.0  # seconds without any worker; a cluster that grows on demand needs some
_LOOK = 1.0  # seconds between two looks at how many workers there are
_AHEAD = 2  # chunks under way for each thread of the cluster: one computed, one waiting in its place
_TRIES = 2  # times that Dask may give up on a case, each after workers that it took down
one_at_a_time = threading.Lock()  # python-flint's precision belongs to the process, and a Dask worker may have many threads


class ClusterError(RunError):
    """Why a cluster cannot be used, in one line that names its address."""


def environment() -> str:
    """What a proof rests on, and so must be the same everywhere."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"Python {python}, exactformer {exactformer.__version__}, python-flint {flint.__version__}"


def identity(value: Any) -> Any:
    return value


def _compute(function: Callable[[Any], Any], cases: list[Any], expected: str) -> Outcome | str:
    """On a worker: the outcome of a chunk, or the environment there if it is another one."""
    if environment() != expected:
        return environment()
    with one_at_a_time:
        return compute(function, cases)


def connect(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(f"cluster {address}: Dask is not installed; install exactformer[distributed]") from error
    client = Client.__new__(Client)
    try:
        client.__init__(address, timeout=_CONNECT, set_as_default=False, asynchronous=False)
        return client
    except (OSError, ValueError) as error:
        client.close()  # a client that failed and is left to the garbage collector can block the start of the next one
        raise ClusterError(f"cluster {address}: no Dask scheduler answers there ({one_line(error)})") from error


def on_cluster(function: Callable[[Any], Any], chunks: Chunks, address: str) -> Iterator[tuple[list[int], Outcome]]:
    """Chunks with their outcomes as they finish. Dask computes a chunk again whose worker was lost, before or after it finished."""
    here = environment()
    running: dict[Future, list[int]] = {}
    seats, looked, manned = 1, 0.0, time.monotonic()
    with contextlib.closing(connect(address)) as client:  # when it closes, the scheduler forgets what is still to be done
        # A task and not scattered data: should all its holders be lost, Dask makes it again.
        remote = _submit(client, "the function of the cases", identity, function)
        try:
            while chunks.left:
                if time.monotonic() > looked + _LOOK:
                    threads = sum(client.nthreads().values())
                    seats, looked = max(threads, 1), time.monotonic()
                    manned = looked if threads else manned
                    if looked > manned + _PATIENCE:
                        raise ClusterError(f"cluster {address}: no workers for {_PATIENCE:.0f} seconds")
                # Dask blames a lost worker on every task that it was given, so cases under suspicion run when nothing else does.
                most = 1 if chunks.suspects else _AHEAD * seats
                while len(running) < most and (chunk := chunks.take(most)):
                    cases = [chunks.cases[index] for index in chunk]
                    running[_submit(client, chunks.names(chunk), _compute, remote, cases, here)] = chunk
                for future in finished(client, list(running)):
                    chunk = running.pop(future)
                    outcome = _outcome(future, chunks, chunk, address, here)
                    if outcome is not None:
                        chunks.settle(chunk, outcome)
                        yield chunk, outcome
        except (OSError, CancelledError) as error:  # Dask's own: the cases' exceptions are in their outcomes
            if remote.status == "error":
                raise unloadable(address, remote.exception(), here) from error
            raise ClusterError(f"cluster {address}: the scheduler was lost ({one_line(error)})") from error


def _submit(client: Client, what: str, function: Callable[..., Any], *arguments: Any) -> Future:
    try:
        return client.submit(function, *arguments, pure=False)  # not pure: a key of its own, also for what is submitted again
    except TypeError as error:
        raise RunError(f"{what} cannot be sent to a cluster ({one_line(error.__cause__ or error)})") from error


def finished(client: Client, futures: list[Future]) -> list[Future]:
    """Those that are finished, after a wait for the first one; none if that takes long."""
    from distributed import wait

    with contextlib.suppress(TimeoutError), client.as_current():
        wait(futures, timeout=_LOOK, return_when="FIRST_COMPLETED")
    return [future for future in futures if future.done()]


def _outcome(future: Future, chunks: Chunks, chunk: list[int], address: str, here: str) -> Outcome | None:
    """What came of a chunk; None if it is to be computed again."""
    from distributed.scheduler import KilledWorker

    if future.status == "error":
        error = future.exception()
        if isinstance(error, KilledWorker):
            chunks.lost(chunk, f"Dask gave up after it lost {error.allowed_failures + 1} workers", _TRIES)
            return None
        raise unloadable(address, error, here)
    answer: Outcome | str = future.result()
    if isinstance(answer, str):
        raise ClusterError(f"cluster {address}: a worker has {answer}; here it is {here}")
    return answer


def unloadable(address: str, error: BaseException, here: str) -> ClusterError:
    why = one_line(error.__cause__ or error)  # Dask wraps what happened in advice
    return ClusterError(f"cluster {address}: the cases cannot be loaded there ({why}); all of it must have {here}")
