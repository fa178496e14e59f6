"""Many independent cases of one proof: in parallel, resumable, on this machine or on a cluster."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from exactformer.interruption import undivided
from exactformer.proofs.chunks import CaseError, Chunks, Outcome, RunError, compute
from exactformer.proofs.journal import LONGEST, Journal

Progress = Callable[[int, int], None]


def run(
    function: Callable[[Any], Any],
    cases: Sequence[Any],
    *,
    fingerprint: str,
    journal: Path | None = None,
    check: Callable[[Any], object] = lambda result: None,
    longest: int = LONGEST,
    workers: int | None = None,
    cluster: str | None = None,
    threads: bool = False,
    progress: Progress = lambda done, total: None,
) -> Generator[tuple[int, Any], None, None]:
    """Yield `(index, function(cases[index]))` for every case, each once, in the order in which they finish.

    Results are JSON values. With a `journal` they are kept in that file before they are yielded, and a later run with the same
    `fingerprint` (which must tell apart whatever a result depends on: model, inputs, arithmetic) yields the kept ones first and
    computes the others; `check` raises ValueError for a kept one that cannot be a result. `longest` is how many bytes of
    a result the journal takes, where they are more than usual. `workers` is the number of processes on this machine, by default
    one a core; 1 computes in this very process. `cluster` is the address of a Dask scheduler, whose workers are used instead. With
    `threads`, the `workers` are threads of this process, for a function that has others compute. `progress` is called with how
    many cases are done, of how many.

    Nothing happens before the first result is asked for; closing the generator stops all work at once.

    >>> sorted(run(abs, [3, -4], fingerprint="absolute values", workers=1))
    [(0, 3), (1, 4)]
    >>> list(run(abs, ["x"], fingerprint="absolute values", workers=1))
    Traceback (most recent call last):
    exactformer.proofs.chunks.CaseError: case 0 ('x'): TypeError: bad operand type for abs(): 'str'
    """
    if workers is not None and workers < 1:
        raise RunError(f"{workers} workers: at least 1 is needed")
    total = len(cases)
    with contextlib.ExitStack() as stack:
        book = stack.enter_context(Journal(journal, fingerprint, total, check, longest)) if journal is not None else None
        done = book.done.count(1) if book else 0
        progress(done, total)
        if book:
            yield from book.finished()
        if done == total:
            return
        chunks = Chunks(cases, book.done if book else bytearray(total))
        for chunk, outcome in stack.enter_context(
            contextlib.closing(_compute(function, chunks, workers or cores(), cluster, threads))
        ):
            results = list(zip(chunk, outcome.results, strict=False))
            with undivided():  # what is told of an interruption is what is kept
                if book:
                    book.append(results)
                done += len(results)
                progress(done, total)
            for index, text in results:
                yield index, json.loads(text)
            if outcome.failure:
                line, trace = outcome.failure
                error = CaseError(f"{chunks.name(chunk[len(results)])}: {line}")
                error.add_note(trace)
                raise error


def _compute(
    function: Callable[[Any], Any], chunks: Chunks, workers: int, cluster: str | None, threads: bool
) -> Generator[tuple[list[int], Outcome], None, None]:
    """Chunks with their outcomes, from wherever the cases are to be computed."""
    if cluster is not None:
        from exactformer.proofs.cluster import on_cluster

        yield from on_cluster(function, chunks, cluster)
    elif threads:
        from exactformer.proofs.threads import in_threads

        yield from in_threads(function, chunks, workers)
    elif workers > 1:
        from exactformer.proofs.pool import in_processes

        yield from in_processes(function, chunks, workers)
    else:
        while chunk := chunks.take(1):
            outcome = compute(function, [chunks.cases[index] for index in chunk])
            chunks.settle(chunk, outcome)
            yield chunk, outcome


def cores() -> int:
    """The cores that this process may use: fewer than the machine has, in many a container."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
