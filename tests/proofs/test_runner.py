"""Runs on this machine: every case once, whatever is killed."""

from __future__ import annotations

import functools
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from kill_work import Logged, computed, entries

from children import PATIENCE, interruptible
from exactformer.proofs import pool
from exactformer.proofs.chunks import CaseError, Chunks, Outcome, RunError
from exactformer.proofs.journal import Journal, JournalError
from exactformer.proofs.runner import run

PROGRAM = str(Path(__file__).parent / "kill_work.py")
BOTH = pytest.mark.parametrize("workers", [1, 2])


def squares(count: int) -> list[tuple[int, dict[str, int]]]:
    return [(number, {"square": number * number}) for number in range(count)]


def kept(journal: Path, count: int) -> set[int]:
    if not journal.exists():
        return set()
    with Journal(journal, "squares", count) as book:
        return {index for index, _ in book.finished()}


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
        return "\nState:\tZ" in Path(f"/proc/{process}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):  # gone meanwhile
        return True


def until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@BOTH
def test_every_case_comes_once(tmp_path: Path, workers: int) -> None:
    told: list[tuple[int, int]] = []
    log = tmp_path / "log"
    found = list(run(Logged(log, 0), range(700), fingerprint="", workers=workers, progress=lambda *done: told.append(done)))
    assert sorted(found) == squares(700)
    assert sorted(computed(log)) == list(range(700))
    assert (told[0], told[-1]) == ((0, 700), (700, 700))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    processes = {process for _, process in entries(log)}
    assert (processes == {os.getpid()}) if workers == 1 else (os.getpid() not in processes)


@BOTH
def test_no_cases(tmp_path: Path, workers: int) -> None:
    assert list(run(abs, [], fingerprint="", journal=tmp_path / "journal", workers=workers)) == []


def test_all_cores_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    monkeypatch.setattr(pool, "in_processes", lambda function, chunks, workers: asked.append(workers) or iter(()))
    list(run(abs, [1, 2, 3], fingerprint=""))
    assert asked == [3]
    with pytest.raises(RunError, match=r"^0 workers: at least 1 is needed$"):
        list(run(abs, [1], fingerprint="", workers=0))


@pytest.mark.parametrize(("workers", "times"), [(1, 2), (2, 4)])
def test_killed_at_random_moments_and_resumed(tmp_path: Path, workers: int, times: int) -> None:
    count = 1000
    journal = tmp_path / "journal"
    dice = random.Random(times)
    finished: set[int] = set()
    begun: Counter[int] = Counter()
    kills = 0
    while len(finished) < count:
        log = tmp_path / f"log {kills}"
        some = dice.randrange(80) if kills < times else count
        program = [sys.executable, PROGRAM, str(journal), str(log), str(count), str(workers), str(some + 100)]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
            if kills < times:
                assert until(lambda log=log, some=some: len(computed(log)) > some)
                process.kill()
            output, _ = process.communicate()
        # The workers of a killed run end with it, and none of them touches the journal.
        assert until(lambda log=log: all(gone(worker) for _, worker in entries(log)))
        again = finished & set(computed(log))
        assert not again, "finished cases were computed again"
        before, finished = finished, kept(journal, count)
        assert before <= finished, "finished cases were lost"
        shown = [int(line.split()[0]) for line in output.splitlines(keepends=True) if line.endswith("\n")]
        assert set(shown) <= finished, "a result was shown before it was kept"
        assert len(shown) == len(set(shown))
        begun.update(computed(log))
        kills += 1
    assert kills == times + 1
    assert sorted(shown) == list(range(count))
    assert sorted(run(abs, range(count), fingerprint="squares", journal=journal, workers=1)) == squares(count)
    assert set(begun) == set(range(count))
    assert max(begun.values()) <= times + 1  # only what was under way when a kill came


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    first = run(abs, range(10), fingerprint="", journal=journal, workers=1)
    next(first)
    with pytest.raises(JournalError, match="in use by another run"):
        next(run(abs, range(10), fingerprint="", journal=journal, workers=1))
    first.close()
    assert len(list(run(abs, range(10), fingerprint="", journal=journal, workers=1))) == 10


def test_a_killed_worker_is_replaced_and_its_cases_are_computed_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found, killed = [], 0
    for result in run(Logged(log), range(500), fingerprint="", journal=tmp_path / "journal", workers=2):
        found.append(result)
        if len(found) in (100, 300):
            os.kill(entries(log)[-1][1], signal.SIGKILL)
            killed += 1
    assert killed == 2
    assert sorted(found) == squares(500)
    assert len({process for _, process in entries(log)}) >= 3  # a replacement that finds nothing left to do logs nothing


def test_a_case_that_kills_its_worker_twice_is_survived(tmp_path: Path) -> None:
    found = run(Logged(tmp_path / "log", deadly=70, lives=2), range(100), fingerprint="", workers=2)
    assert sorted(found) == squares(100)


def test_a_case_that_always_kills_its_worker_is_named(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with pytest.raises(CaseError, match=r"^case 70 \(70\): the process that computed it was lost, 3 times: killed by SIGKILL$"):
        list(run(Logged(tmp_path / "log", deadly=70), range(100), fingerprint="squares", journal=journal, workers=2))
    assert 70 not in kept(journal, 100)
    assert len(kept(journal, 100)) > 10


@BOTH
def test_an_exception_names_its_case_and_keeps_the_others(tmp_path: Path, workers: int) -> None:
    journal = tmp_path / "journal"
    divide = functools.partial(divmod, 12)
    with pytest.raises(CaseError) as caught:
        list(run(divide, [1, 2, 3, 0], fingerprint="squares", journal=journal, workers=workers))
    said = r"case 3 \(0\): ZeroDivisionError: (integer )?division (or modulo )?by zero"  # Python 3.14 says less
    assert re.fullmatch(said, str(caught.value))
    assert "in compute" in caught.value.__notes__[0]
    assert workers == 2 or kept(journal, 4) == {0, 1, 2}


@pytest.mark.parametrize(("function", "case", "why"), [(set, "a", "TypeError"), (float, "nan", "ValueError")])
def test_results_that_are_not_json_are_refused(function: Callable[[Any], Any], case: str, why: str) -> None:
    with pytest.raises(CaseError, match=rf"^case 0 \('{case}'\): {why}: "):
        list(run(function, [case], fingerprint="", workers=1))


@BOTH
def test_results_are_the_same_from_a_journal(tmp_path: Path, workers: int) -> None:
    journal = tmp_path / "journal"
    fresh = sorted(run(_tuple, range(5), fingerprint="", journal=journal, workers=workers))
    assert fresh[3] == (3, [3, {"3": None}])
    assert sorted(run(_tuple, range(5), fingerprint="", journal=journal, workers=workers)) == fresh


def _tuple(number: int) -> tuple[int, dict[int, None]]:
    return number, {number: None}


class _Unloadable:
    """Can be pickled, and not unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return int, ("no number",)

    def __repr__(self) -> str:
        return "a case\nin lines"


@pytest.mark.parametrize(
    ("function", "cases", "line"),
    [
        (
            lambda case: case,
            [1],
            r"the function of the cases \(define it .*\) cannot be sent to another process \(.*\)",
        ),
        (
            _Unloadable(),
            [1],
            r"the function of the cases \(define it .*\) cannot be loaded by another process \(ValueError: .*\)",
        ),
        (abs, [_Unloadable()], r"case 0 \(a case in lines\) cannot be loaded by another process \(ValueError: .*\)"),
        (abs, [*range(99), lambda: 1], r"(one of \d+ cases from )?case \d+ \(.*\)( on)? cannot be sent to another process \(.*\)"),
        (abs, [lambda: 1], r"case 0 \(<function .*>\) cannot be sent to another process \(.*\)"),
    ],
)
def test_what_cannot_travel_is_told(function: Callable[[Any], Any], cases: Sequence[Any], line: str) -> None:
    with pytest.raises(RunError, match=f"^{line}$"):
        list(run(function, cases, fingerprint="", workers=2))


def test_a_script_without_its_guard_is_told(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from exactformer.proofs.runner import run\nprint(list(run(abs, [1, 2], fingerprint='', workers=2)))\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE)
    assert (
        "RunError: worker processes end before their first case (ended with status 1); a script needs `if __name__" in done.stderr
    )


def test_an_interrupt_stops_at_once_and_quietly(tmp_path: Path) -> None:
    journal, log = tmp_path / "journal", tmp_path / "log"
    program = [sys.executable, PROGRAM, str(journal), str(log), "100000", "2", "50000"]
    with interruptible(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert until(lambda: len(computed(log)) > 100)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
        _, errors = process.communicate(timeout=PATIENCE)
    assert len(computed(log)) < 100_000
    assert errors.count("Traceback") == 1  # of this process, whose caller did not catch it; none of a worker
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert until(lambda: all(gone(worker) for _, worker in entries(log)))
    assert len(kept(journal, 100000)) > 0


def test_what_is_told_of_an_interruption_is_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, said, told = tmp_path / "journal", Journal._say, list[int]()

    def interrupted(book: Journal, body: bytes, what: str = "") -> None:
        said(book, body, what)
        if body.startswith(b"5,"):  # in the midst of a chunk
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Journal, "_say", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(
                run(abs, range(100), fingerprint="squares", journal=journal, workers=1, progress=lambda done, _: told.append(done))
            )
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(kept(journal, 100)) == told[-1] > 6


def test_leaving_off_stops_the_workers(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = run(Logged(log), range(10**6), fingerprint="", workers=2)
    next(found)
    found.close()
    assert all(gone(worker) for _, worker in entries(log))


class _Lazy(Sequence[int]):
    """Very many cases, of which it notes how far they were asked for."""

    asked = 0

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: Any) -> Any:
        self.asked = max(self.asked, index)
        return index


@BOTH
def test_a_slow_reader_is_waited_for(workers: int) -> None:
    cases = _Lazy()
    found = run(abs, cases, fingerprint="", workers=workers)
    for _ in range(100):
        next(found)
    asked = cases.asked
    time.sleep(0.5)
    assert cases.asked == asked < 5000
    found.close()


def test_chunks_grow_to_a_quarter_of_a_second_and_shrink_near_the_end() -> None:
    chunks = Chunks(range(10_000), bytearray(10_000))
    sizes = []
    while chunk := chunks.take(2):
        sizes.append(len(chunk))
        chunks.settle(chunk, Outcome(["0"] * len(chunk), len(chunk) * 0.001))
    assert sizes[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 250]
    assert max(sizes) == 250
    assert sizes[-1] == 1
    assert sum(sizes) == 10_000


def test_what_a_chunk_left_over_is_handed_out_again() -> None:
    chunks = Chunks(range(5), bytearray([0, 0, 1, 0, 0]))
    chunks.settle(chunks.take(1), Outcome(["0"], 1e-9))
    chunks.settle(chunks.take(1), Outcome([], 0.3))
    assert [chunks.take(1) for _ in range(4)] == [[1], [3], [4], []]
    assert chunks.left == 3
