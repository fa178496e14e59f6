"""A model that is larger than one machine: its blocks are spread over the workers of a Dask cluster.

Each worker opens the model, of which it reads, prepares and keeps some blocks; the stream with its radii goes from one to the next.
Nothing but the stream is handed on, so a worker that is lost loses only the passes that were on their way: they begin again.
"""

from __future__ import annotations

import contextlib
import mmap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from exactformer.certificates import Prepared
from exactformer.certificates.hash import part_hash
from exactformer.certificates.passes import Pass
from exactformer.certified.scheduling import Outlook, Scout
from exactformer.certified.tables import tables_digest
from exactformer.model import InputError, Model
from exactformer.model.cache import Cache
from exactformer.model.recorder import Handle
from exactformer.model.taking import owner
from exactformer.model.weights import block_of
from exactformer.numbers import Undecided
from exactformer.proofs.chunks import one_line
from exactformer.proofs.cluster import ClusterError, connect, environment, finished, identity, one_at_a_time, unloadable
from exactformer.proofs.elsewhere import Elsewhere

if TYPE_CHECKING:
    from distributed import Client, Future

_PATIENCE = 120.0  # seconds without any worker
_REPLACED = 60.0  # seconds for another worker to come in the place of one that was lost; then the others take its blocks
_TRIES = 5  # times that a pass may lose a worker
Gone = TypeVar("Gone")


@dataclass(frozen=True)
class Stage(Elsewhere[Model]):
    """Consecutive blocks: a worker opens the model from its path, checks that these are the ones meant, and prepares them alone."""

    blocks: range

    def fingerprint(self, found: Model) -> str:
        return part_hash(found, self.blocks)

    @cached_property
    def _prepared(self) -> Prepared:
        return Prepared(self.opened)

    def passed(self, asked: Pass) -> Pass:
        done = asked.through(self._prepared, self.blocks)
        release(self.opened)
        return replace(done, tables=done.tables | {tables_digest()})

    def scouted(self, seen: tuple[Scout, Handle | None] | None) -> tuple[Scout, Handle | None] | None:
        """The scout goes on; none does after it has gone astray."""
        if seen is None:
            return None
        scouting, x = seen
        store = self._prepared.store
        with contextlib.suppress(Undecided), store.passing_through():
            found = scouting.through(self.opened, store, self.blocks, x)
            release(self.opened)
            return found
        return None


def release(model: Model) -> None:
    """Bytes of mapped files that were read need not stay in memory: what is computed with is kept apart."""
    owners = [owner(array) for _, array in model.weights.named()]
    files = {id(each.obj): each.obj for each in owners if isinstance(each, memoryview) and isinstance(each.obj, mmap.mmap)}
    for file in files.values():
        if hasattr(mmap, "MADV_DONTNEED"):
            file.madvise(mmap.MADV_DONTNEED)


def shares(model: Model, count: int) -> list[range]:
    """The blocks in `count` consecutive parts that take about as much memory: a matrix that multiplies takes three times as much as
    a table in which rows are looked up.

    >>> from exactformer.worksheets import load
    >>> shares(load("induction").model, 2)
    [range(0, 1), range(1, 2)]
    """
    sizes = [0] * model.config.blocks
    for name, array in model.weights.named():
        if (block := block_of(name)) is not None:
            sizes[block] += 3 * array.size
    weights = model.weights
    head = 0 if model.config.unembedding == "none" else 3 * (weights.W_E if weights.W_U is None else weights.W_U).size
    count = min(count, len(sizes))
    ends: list[int] = []
    total, so_far = weights.W_E.size + sum(sizes) + head, weights.W_E.size
    for n, size in enumerate(sizes, 1):
        so_far += size
        left = count - 1 - len(ends)  # ends that are still to be set, each with a block after it
        if left and (so_far + sizes[min(n, len(sizes) - 1)] / 2 >= total * (len(ends) + 1) / count or len(sizes) - n == left):
            ends.append(n)
    return [range(start, stop) for start, stop in zip([0, *ends], [*ends, len(sizes)], strict=True)]


def _on_worker(stage: Stage, method: str, value: Any, expected: str) -> Any:
    if environment() != expected:
        return environment()
    with one_at_a_time:
        return getattr(stage, method)(value)


@dataclass
class Seat:
    """A stage, the worker that has it, and the stage there."""

    stage: Stage
    worker: str = ""
    there: Future | None = None


@dataclass
class Spread:
    """Passes through blocks that several workers keep: the same interface as `Prepared`, for proofs by `proved_by`."""

    client: Client
    address: str
    model: Model
    seats: list[Seat]
    outlook: Outlook | None = None
    tables: set[str] = field(default_factory=set)  # hashes of those that the workers computed with so far
    turn: threading.Lock = field(default_factory=threading.Lock)  # held by the thread that is not waiting for a pass
    _scouted: bool = False
    _seating: threading.Lock = field(default_factory=threading.Lock)

    def prepare(self, progress: Callable[[str], None] = lambda step: None) -> None:
        """The scout's way through all stages."""
        if not self._scouted:
            seen = self._through("scouted", (Scout.of(self.model.config), None))
            self.outlook = None if seen is None or seen[1] is None else seen[0].outlook(seen[1])
            self._scouted = True

    def passed(self, asked: Pass, cache: Cache | None = None, progress: Callable[[str], None] = lambda step: None) -> Pass:
        """A pass from worker to worker. Others may be on their way at the same time, asked for by other threads."""
        if cache is not None:
            raise InputError("a cache: blocks that are spread keep nothing but their weights")
        done = self._through("passed", asked)
        self.tables |= done.tables
        return done

    def _through(self, method: str, value: Gone) -> Gone:
        """Meanwhile it is the turn of others."""
        self.turn.release()
        try:
            return self._tried(method, value)
        except OSError as error:
            raise ClusterError(f"cluster {self.address}: the scheduler was lost ({one_line(error)})") from error
        finally:
            self.turn.acquire()

    def _tried(self, method: str, value: Gone) -> Gone:
        """Begun again when a worker is lost on the way."""
        for _ in range(_TRIES):
            seats = self._manned()
            futures: list[Future] = []
            for seat in seats:
                given = futures[-1] if futures else value
                futures.append(
                    self.client.submit(
                        _on_worker, seat.there, method, given, environment(), pure=False, workers=[seat.worker], retries=0
                    )
                )
            if self._arrives(futures, seats):
                result: Gone | str = futures[-1].result()
                if isinstance(result, str):
                    raise ClusterError(f"cluster {self.address}: a worker has {result}; here it is {environment()}")
                return result
            for seat in seats:
                if seat.there is not None and seat.there.status == "error":
                    raise unloadable(self.address, seat.there.exception(), environment())
            self.client.cancel(futures, force=True)
        raise ClusterError(
            f"cluster {self.address}: a worker was lost in each of {_TRIES} tries of one pass; is its memory too small?"
        )

    def _arrives(self, futures: list[Future], seats: list[Seat]) -> bool:
        """Is the last one done? False where one of the workers is gone."""
        from distributed.scheduler import KilledWorker

        try:
            while not finished(self.client, futures[-1:]):
                alive = self._alive()
                if any(seat.worker not in alive for seat in seats):
                    return False
        except CancelledError:  # with what was to go in
            return False
        if futures[-1].status != "error":
            return bool(futures[-1].status == "finished")
        error = futures[-1].exception()
        if isinstance(error, KilledWorker):
            return False
        raise error

    def _alive(self) -> set[str]:
        return set(self.client.nthreads())

    def _manned(self) -> list[Seat]:
        """Every stage on a worker that is there: its own; else one that has none, waited for; else one of the others."""
        with self._seating:
            start = time.monotonic()
            while lost := [seat for seat in self.seats if seat.worker not in (alive := self._alive())]:
                free = sorted(alive - {seat.worker for seat in self.seats})
                waited = time.monotonic() - start
                if not free and alive and waited > _REPLACED:
                    free = sorted(alive, key=lambda worker: sum(seat.worker == worker for seat in self.seats))
                if free:
                    lost[0].worker = free[0]
                    lost[0].there = self.client.submit(identity, lost[0].stage, pure=False, workers=[free[0]])
                elif waited > _PATIENCE:
                    raise ClusterError(f"cluster {self.address}: no workers for {_PATIENCE:.0f} seconds")
                else:
                    time.sleep(0.2)
            return [Seat(seat.stage, seat.worker, seat.there) for seat in self.seats]


@contextlib.contextmanager
def spread(open_model: Callable[[], Model], model: Model, address: str) -> Iterator[Spread]:
    """The blocks of a model, which `open_model` opens there as here, over all workers that a cluster has now, one part each."""
    with contextlib.closing(connect(address)) as client:
        with contextlib.suppress(TimeoutError):
            client.wait_for_workers(1, timeout=_PATIENCE)
        count = len(client.nthreads())
        if not count:
            raise ClusterError(f"cluster {address}: no workers for {_PATIENCE:.0f} seconds")
        stages = [Stage(open_model, part_hash(model, blocks), blocks) for blocks in shares(model, count)]
        yield Spread(client, address, model, [Seat(stage) for stage in stages])
