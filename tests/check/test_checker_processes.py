"""The checker as a process, and as several: interrupted, killed, with streams that are closed or full; its signs of life."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_checker_command import CERTIFICATE, CHECKER, STORIES, changed, quiet, run

import exactformer_check
from children import PATIENCE, interruptible, unread
from cli_runs import run as cli
from exactformer.hashing import checksum

TWO = ("--processes", "2")


def test_several_processes_say_the_same() -> None:
    one, two = run(CERTIFICATE, STORIES), run(CERTIFICATE, STORIES, *TWO)
    assert (two.returncode, two.stdout, two.stderr) == (one.returncode, one.stdout, one.stderr)
    asked = ("certify", "stories", "--verify", str(CERTIFICATE), "--independent", "--workers")
    assert {cli(*asked, count).stdout for count in ("1", "2", "300")} == {one.stdout}


def test_nobody_reads() -> None:
    with unread() as pipe:
        done = subprocess.run(
            [sys.executable, CHECKER, CERTIFICATE, STORIES], stdout=pipe, stderr=subprocess.PIPE, timeout=PATIENCE
        )
    assert (done.returncode, quiet(done.stderr.decode())) == (141, "")


@pytest.mark.parametrize(
    ("streams", "status", "out", "said"),
    [
        (">&-", 0, "", ""),
        (">/dev/full", 2, "", "the answer cannot be written: No space left on device\n"),
        ("2>&-", 0, "accepted: proved\n", ""),
        ("2>/dev/full", 0, "accepted: proved\n", ""),
        ("--processes 0 2>/dev/full", 2, "", ""),
        ("--processes 0 2>&-", 2, "", ""),
    ],
)
def test_streams_that_are_closed_or_full(streams: str, status: int, out: str, said: str) -> None:
    command = f'"{sys.executable}" -I "{CHECKER}" "{CERTIFICATE}" "{STORIES}" {streams}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout[-len(out) or len(done.stdout) :], quiet(done.stderr)) == (status, out, said)


def spent(process: int) -> float:
    """Processor seconds."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text(encoding="utf-8").split()]


def state(process: int) -> str:
    """Of one that is gone, too: it may end while this is read."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def ended(process: int) -> bool:
    return state(process) == "Z"


def waited(condition: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def started(place: Path, *options: str) -> subprocess.Popen[bytes]:
    """With more bits than anybody needs, it takes long enough."""
    slow = changed(place / "slow.json", bits=4000)
    return interruptible([sys.executable, CHECKER, slow, STORIES, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def working(place: Path, task: str) -> subprocess.Popen[bytes]:
    """Two processes of the checker with tasks that take long; a dot for each that is done."""
    file = place / "works.py"
    file.write_text(
        "import sys, time; from contextlib import ExitStack\n"
        f"sys.path.insert(0, {str(CHECKER.parent)!r}); from exactformer_check import Work\n"
        "if __name__ == '__main__':\n"
        "    with ExitStack() as stack:\n"
        f"        for done in Work(stack, 2)({task}): print('.', end='', flush=True)\n"
    )
    return interruptible([sys.executable, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_it_can_be_interrupted(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        waited(lambda: spent(process.pid) > 1.5 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, said.splitlines()[-1]) == (130, b"", b"interrupted: nothing was shown")


def test_a_second_interruption_ends_it_though_nobody_hears_of_the_first(tmp_path: Path) -> None:
    slow = changed(tmp_path / "slow.json", bits=4000)
    reader, full = os.pipe()
    os.set_blocking(full, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(full, bytes(4096))
    os.set_blocking(full, True)
    with interruptible([sys.executable, CHECKER, slow, STORIES], stdout=subprocess.DEVNULL, stderr=full) as process:
        waited(lambda: spent(process.pid) > 1.5 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        waited(lambda: state(process.pid) == "S")  # it waits for a reader
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    os.close(reader)
    os.close(full)


@pytest.mark.parametrize(
    ("signals", "status"), [([signal.SIGINT] * 2, 130), ([signal.SIGKILL], -signal.SIGKILL), ([signal.SIGTERM], -signal.SIGTERM)]
)
def test_nobody_is_left_behind(signals: list[int], status: int, tmp_path: Path) -> None:
    """Processes end with the one that started them, and do not keep its pipes open."""
    with started(tmp_path, *TWO) as process:
        waited(lambda: len(children(process.pid)) == 2 and min(map(spent, children(process.pid))) > 0.5)
        found = children(process.pid)
        for each in signals:
            process.send_signal(each)
            time.sleep(0.2)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == status
    waited(lambda: all(map(ended, found)))


def test_several_processes_end_when_one_is_interrupted(tmp_path: Path) -> None:
    """At once, whatever its processes are at: here they sleep for longer than anybody waits."""
    with working(tmp_path, f"time.sleep, [({10 * PATIENCE},)] * 8") as process:
        waited(lambda: len(children(process.pid)) == 2)
        found = children(process.pid)
        time.sleep(0.5)  # until they sleep
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT
    waited(lambda: all(map(ended, found)))


def test_a_process_that_dies_proves_nothing(tmp_path: Path) -> None:
    with started(tmp_path, *TWO) as process:
        waited(lambda: len(children(process.pid)) == 2 and min(map(spent, children(process.pid))) > 0.5)
        os.kill(children(process.pid)[0], signal.SIGKILL)
        out, said = process.communicate(timeout=PATIENCE)
    (line,) = quiet(said.decode()).splitlines()
    assert (process.returncode, out) == (2, b"")
    assert line.startswith("not checked: RuntimeError: a process was ended")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_checker_ends_with_certify(number: int, status: int, tmp_path: Path) -> None:
    document = json.loads(CERTIFICATE.read_text())
    document["check"]["bits"] = 4000
    slow = tmp_path / "slow.json"
    slow.write_text(json.dumps(document | {"sha256": checksum(document)}))
    command = [sys.executable, "-m", "exactformer", "certify", "stories", "--verify", slow, "--independent", "--workers", "2"]
    with interruptible(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        waited(lambda: any(len(children(checker)) == 2 for checker in children(process.pid)))
        (checker,) = (checker for checker in children(process.pid) if children(checker))
        found = [checker, *children(checker)]
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == status
    waited(lambda: all(map(ended, found)))


def test_many_interruptions_of_large_answers(tmp_path: Path) -> None:
    """Whenever it comes, also in the midst of an answer that fills a pipe: nobody waits for the rest of it."""
    for how in range(6):
        with working(tmp_path, "bytes, [(10**7,)] * 10**5") as process:
            assert process.stdout is not None
            assert process.stdout.read(5 + how)
            if how % 2:
                os.kill(children(process.pid)[0], signal.SIGKILL)
            else:
                process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=PATIENCE)[1].decode()
        assert said.splitlines()[-1].startswith("RuntimeError: a process was ended" if how % 2 else "KeyboardInterrupt")


def test_too_few_files_for_so_many_processes() -> None:
    command = f'ulimit -n 64; "{sys.executable}" -I "{CHECKER}" "{CERTIFICATE}" "{STORIES}" --processes 200'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith("not checked: OSError")


def test_signs_of_life(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A line every ten seconds, and none when all is done."""
    now = iter([0.0, 4.0, 12.0, 16.0, 24.0, 40.0])
    monkeypatch.setattr(exactformer_check, "time", SimpleNamespace(monotonic=lambda: next(now)))  # not that of other threads
    tell = exactformer_check.Progress()
    for done in range(1, 6):
        tell(done, 5)
    assert capsys.readouterr().err.splitlines() == ["block 2 of 5, about 18 s left", "block 4 of 5, about 6 s left"]


def test_on_a_terminal_one_line_changes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = iter([0.0, 4.0, 9.0])
    monkeypatch.setattr(exactformer_check, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    tell = exactformer_check.Progress()
    tell(1, 2)
    tell(2, 2)
    exactformer_check.say("refused: it is false")
    assert capsys.readouterr().err.split("\r\033[K") == [
        "",
        "[##########..........] block 1 of 2, about 4 s left",
        "[####################] block 2 of 2, then the logits",
        "refused: it is false\n",
    ]
