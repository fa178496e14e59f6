"""Cases one after the other in a process of their own, with bounds on time and memory; a case that breaks it is named, and the
next ones go on in a fresh process.

Time is that of the processor, so that a busy machine changes nothing; a case that does not even answer to a signal is ended by
the clock.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.result import Result, Table

SECONDS = 20.0
MEGABYTES = 1024
_PATIENCE = 20  # times as long by the clock, for a machine that has other work too


@dataclass(frozen=True)
class Tried:
    """What became of a case in a word or two; or why that must not be."""

    outcome: str
    seconds: float
    megabytes: int
    failed: str = ""


class TooLongError(BaseException):
    """Not an Exception, so that nothing that is tried can catch it."""


def tried(case: Callable[[int], str], n: int) -> Tried:
    """The outcome of one case, within its time."""

    def over(number: int, frame: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, over)
    start = time.process_time()
    failed = ""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            outcome = case(n)
    except TooLongError:
        outcome, failed = "hang", f"more than {SECONDS:g} s"
    except MemoryError:
        outcome, failed = "memory", f"more than {MEGABYTES:,} MB"
    except Exception as error:
        place = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)][-1]
        outcome, failed = "traceback", f"{type(error).__name__}: {' '.join(str(error).split())[:200]} ({place})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return Tried(outcome, time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, failed)


def all_tried(case: Callable[[int], str], number: int) -> Iterator[Tried]:
    """The outcomes of cases 0, 1, 2, …, in order."""
    n = 0
    while n < number:
        here, there = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=_serve, args=(case, n, number, here, there), daemon=True)
        process.start()
        there.close()
        while n < number:
            result = _received(here)
            if result is None:  # it hangs where no signal reaches it, or was killed
                process.kill()
            yield result or Tried("lost", SECONDS, 0, f"the process was lost after {_PATIENCE * SECONDS:.0f} s at the most")
            n += 1
            if result is None:
                break
        process.join()
        here.close()


def _received(connection: Connection) -> Tried | None:
    with contextlib.suppress(EOFError, OSError):
        if connection.poll(_PATIENCE * SECONDS):
            answer: Tried = connection.recv()
            return answer
    return None


def _serve(case: Callable[[int], str], first: int, number: int, theirs: Connection, ours: Connection) -> None:
    theirs.close()
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the life of the process
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEGABYTES * 2**20,) * 2)
    for n in range(first, number):
        ours.send(tried(case, n))


def report(name: str, what: str, told: str, counts: dict[str, Counter[str]], results: list[Tried], failed: list[str]) -> Result:
    """The table of a trial of files: kinds of changes and what became of them."""
    good = sorted({outcome for found in counts.values() for outcome in found} - {"hang", "memory", "traceback", "lost"})
    outcomes = (*good, "traceback", "hang", "memory", "lost")
    rows = tuple((kind, *(f"{found[outcome]:,}" for outcome in outcomes)) for kind, found in counts.items())
    most = {"seconds": round(max(r.seconds for r in results), 1), "megabytes": max(r.megabytes for r in results)}
    end = (
        f"{len(failed)} failed: a traceback, a warning, a refusal of more than a line, more than {SECONDS:.0f} s of the processor "
        f"or {MEGABYTES:,} MB. The slowest took {most['seconds']} s, a process that ran thousands {most['megabytes']:,} MB."
    )
    data = {what: len(results), "outcomes": counts, "failed": failed, **most}
    return Result(f"trials_{name}", f"Changed {what}", (told, Table(("changed by", *outcomes), rows), end), data)
