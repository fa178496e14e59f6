"""Cases whose function waits for others to compute: in threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from exactformer.proofs.chunks import Chunks, Outcome, compute


def in_threads(function: Callable[[Any], Any], chunks: Chunks, threads: int) -> Generator[tuple[list[int], Outcome], None, None]:
    """Chunks of one case with their outcomes as they finish."""
    running: dict[Future[Outcome], list[int]] = {}
    pool = ThreadPoolExecutor(threads)
    try:
        while chunks.left:
            while len(running) < threads and (chunk := chunks.take(threads)):
                running[pool.submit(compute, function, [chunks.cases[index] for index in chunk])] = chunk
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                chunk, outcome = running.pop(future), future.result()
                chunks.settle(chunk, outcome)
                yield chunk, outcome
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
