"""Processor time of one solution: in this process, or in one that is killed when it takes too long."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

from benchmarks.models import Problem
from benchmarks.peers import Answer, Peer


@dataclass(frozen=True)
class Timed:
    seconds: float
    answer: Answer


def timed(peer: Peer, problem: Problem) -> Timed:
    """One solution from fresh numbers: those of exactformer remember what was found out about them."""
    prepared = peer.prepare(problem)
    gc.collect()  # nobody pays for the garbage of the one before
    start = time.process_time()
    answer = peer.solve(prepared)
    return Timed(time.process_time() - start, answer)


def timed_within(peer: Peer, problem: Problem, limit: float) -> Timed | None:
    """The same in a process of its own; None where it is not done after `limit` seconds."""
    context = get_context("spawn")  # a fork would inherit what is cached here
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send_timed, args=(theirs, peer, problem))
    process.start()
    theirs.close()  # so that a process that dies is noticed at once
    try:
        return ours.recv() if ours.poll(limit) else None
    except EOFError:
        raise RuntimeError(f"{peer.name} failed on {problem.size}, seed {problem.seed}") from None
    finally:
        process.kill()
        process.join()
        ours.close()


def _send_timed(pipe: Connection, peer: Peer, problem: Problem) -> None:
    pipe.send(timed(peer, problem))
