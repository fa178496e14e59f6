"""An interruption in the midst of telling: what is told of it is what was shown."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy
import pytest
from certify_tools import run, write_model

from exactformer.certificates.certificate import Certificate, Claim
from exactformer.interruption import undivided
from own_outputs import sums

GO_ON = "to go on, give --ids those of the input and then those of the tokens"


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


@contextmanager
def interrupted_at(token: int) -> Iterator[None]:
    """An interruption between the proof of a token and the line that tells of it."""
    made = Claim.of

    def claim(certified: object) -> Claim:
        count.append(certified)
        if len(count) == token:
            signal.raise_signal(signal.SIGINT)
        return made(certified)  # type: ignore[arg-type]

    count: list[object] = []
    with patch.object(Claim, "of", claim):
        yield


def test_the_tokens_that_certify_counts_are_those_that_it_has_shown(tmp_path: Path) -> None:
    folder = str(write_model(tmp_path / "m"))
    with interrupted_at(2):
        done = run(folder, "--ids", "3 4", "--max", "5", "--top", "2")
    said = "exactformer: interrupted: the 2 tokens shown are proved; "
    assert (done.returncode, done.stderr) == (130, f"{said}{GO_ON}\n")
    assert re.findall(r"^token (\d)", done.stdout, re.MULTILINE) == ["1", "2"]


def test_it_goes_on_with_the_ids_as_it_says(tmp_path: Path) -> None:
    folder = str(write_model(tmp_path / "m"))
    whole, rest = tmp_path / "whole.json", tmp_path / "rest.json"
    assert run(folder, "--ids", "3 4", "--max", "5", "--format", "json", "-o", str(whole)).returncode == 0
    five = Certificate.load(whole).continuation
    ids = " ".join(map(str, (3, 4, *five[:2])))
    assert run(folder, "--ids", ids, "--max", "3", "--format", "json", "-o", str(rest)).returncode == 0
    assert Certificate.load(rest).continuation == five[2:]


@pytest.mark.parametrize(
    ("where", "options", "left"),
    [
        ("audit.audit", ["--audit"], "--audit was not done"),
        ("comparison.compare", ["--audit", "--compare", "float32"], "--compare was not done"),
        ("audit.audit", ["--audit", "--compare", "float32"], "--audit and --compare were not done"),
        ("expected.expect", ["--expect", "logits.npy", "--audit"], "--expect and --audit were not done"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_was_asked_for_beside_the_tokens_and_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, options: list[str], left: str, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    numpy.save("logits.npy", numpy.zeros((2, 40), dtype=numpy.float32))
    folder = str(write_model(tmp_path / "m"))
    with patch(f"exactformer.certificates.{where}", side_effect=KeyboardInterrupt):
        done = run(folder, "--ids", "3 4", "--max", "2", "--format", form, *options)
    said = f"exactformer: interrupted: the 2 tokens shown are proved; {left}\n"
    assert (done.returncode, done.stderr) == (130, said)
    assert ('"audit"' in done.stdout or "audit:" in done.stdout) == (where == "comparison.compare")


def test_outputs_of_their_own_have_other_ids(tmp_path: Path) -> None:
    sheet = tmp_path / "sums.toml"
    sheet.write_text(sums(), encoding="utf-8")
    with interrupted_at(2):
        done = run(str(sheet), "--ids", "0 1", "--max", "5")
    assert done.stderr == "exactformer: interrupted: the 2 tokens shown are proved\n"
