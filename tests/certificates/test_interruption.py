"""An interruption in the midst of telling: what is told of it is what was shown."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from certify_tools import run, write_model

from exactformer.certificates.certificate import Claim
from exactformer.interruption import undivided


@pytest.fixture(autouse=True)
def interruptible_here() -> Iterator[None]:
    """Also where the tests are a shell's background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(times: int, done: list[str]) -> None:
    with undivided():
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
            done.append("more")


@pytest.mark.parametrize(("times", "done"), [(0, 0), (1, 1), (2, 1)])  # the second one does not wait
def test_what_is_within_is_done_before_an_interruption(times: int, done: int) -> None:
    found: list[str] = []
    if times:
        with pytest.raises(KeyboardInterrupt):
            interrupted(times, found)
    else:
        interrupted(times, found)
    assert len(found) == done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_within_stays_what_it_is() -> None:
    with pytest.raises(BrokenPipeError), undivided():
        raise BrokenPipeError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_interruptions_are_ignored_they_stay_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with undivided():
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_have_no_interruptions() -> None:
    ended = []

    def work() -> None:
        with undivided():
            ended.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [signal.default_int_handler]


def test_the_tokens_that_certify_counts_are_those_that_it_has_shown(tmp_path: Path) -> None:
    made, folder = Claim.of, str(write_model(tmp_path / "m"))

    def claim(certified: object) -> Claim:
        count.append(certified)
        if len(count) == 2:
            signal.raise_signal(signal.SIGINT)  # between the proof and the line that tells of it
        return made(certified)  # type: ignore[arg-type]

    count: list[object] = []
    with patch.object(Claim, "of", claim):
        done = run(folder, "--ids", "3 4", "--max", "5", "--top", "2")
    assert (done.returncode, done.stderr) == (130, "exactformer: interrupted: the 2 tokens shown are proved\n")
    assert re.findall(r"^token (\d)", done.stdout, re.MULTILINE) == ["1", "2"]
