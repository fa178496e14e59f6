"""A proof that is killed or interrupted goes on where it was: nothing lost, nothing computed twice, the same report."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from children import PATIENCE, interruptible
from cli_runs import quiet

EXACTFORMER = [sys.executable, "-c", "from exactformer.cli import main; main()"]
COMMAND = ["prove", "induction", "--length", "6", "--hard", "--workers", "2"]
CASES = 261
HELD = """
import json, sys, time
from types import SimpleNamespace
from exactformer.cli import main
from exactformer.proofs import journal, runner

ending, most, full, append = sys.argv.pop(1), int(sys.argv.pop(1)), [], journal.Journal.append

def appended(book, results):
    append(book, results)
    if book.path.name.endswith(ending) and sum(book.done) >= most:
        full.append(book)

def loads(text):
    time.sleep(600 if full else 0)
    return json.loads(text)

journal.Journal.append, runner.json = appended, SimpleNamespace(loads=loads)
main()
"""  # a program that waits when so many cases are in a journal: whoever is to stop it may come late


def held(ending: str, most: int) -> list[str]:
    return [sys.executable, "-c", HELD, ending, str(most)]


def start(cache: Path, *options: str, program: list[str] = EXACTFORMER) -> subprocess.Popen[str]:
    return interruptible(
        [*program, *COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )  # fmt: skip


def until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        assert process.poll() is None, "finished before it could be stopped"
        time.sleep(0.005)


def finished(journal: Path) -> list[int]:
    """The cases of the whole lines of a journal, in order."""
    lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    return [json.loads(line)[1] for line in lines[1:]]


def settled(report: str) -> dict[str, Any]:
    """A report without what depends on the day."""
    document: dict[str, Any] = json.loads(report)
    del document["seconds"]
    return document


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a run that nothing disturbed."""
    with start(tmp_path_factory.mktemp("cache"), "--format", "json") as process:
        report, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return report


def test_killed_in_the_middle_and_resumed(tmp_path: Path, undisturbed: str) -> None:
    journal = tmp_path / "proof.journal"
    with start(tmp_path, "--journal", str(journal), program=held(".journal", 150)) as process:
        until(lambda: len(finished(journal)) >= 60, process)
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    kept, before = finished(journal), journal.read_bytes()
    before = before[: before.rindex(b"\n") + 1]
    assert 60 <= len(kept) < CASES
    assert len(set(kept)) == len(kept)

    with start(tmp_path, "--journal", str(journal), "--format", "json") as process:
        report, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert quiet(errors).startswith(f"exactformer: resuming: {len(kept)} of {CASES} cases are in {journal}\n")
    assert settled(report) == settled(undisturbed)
    assert journal.read_bytes().startswith(before), "finished cases were touched"
    assert sorted(finished(journal)) == list(range(CASES)), "cases were lost, or computed again"

    with start(tmp_path, "--journal", str(journal)) as process:  # all is done: the report at once, from the journal
        text, _ = process.communicate(timeout=PATIENCE)
    assert f"; {CASES} of them by an earlier run" in text
    assert sorted(finished(journal)) == list(range(CASES))
    assert not (tmp_path / "exactformer").exists() or not list((tmp_path / "exactformer" / "proofs").iterdir())


def test_interrupted_and_resumed_from_the_cache(tmp_path: Path, undisturbed: str) -> None:
    folder = tmp_path / "exactformer" / "proofs"
    with start(tmp_path, program=held(".journal", 150)) as process:
        until(lambda: any(len(finished(journal)) >= 40 for journal in folder.glob("*.journal")), process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    last = errors.splitlines()[-1]
    match = re.fullmatch(r"exactformer: interrupted after ([\d,]+) of 261 cases; the same command goes on from there", last)
    assert match, errors
    assert "Traceback" not in errors
    (journal,) = folder.iterdir()
    kept = len(finished(journal))
    assert 40 <= int(match[1]) == kept < CASES

    with start(tmp_path, "-o", str(tmp_path / "report")) as process:
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert f"; {kept} of them by an earlier run" in (tmp_path / "report").read_text()
    assert list(folder.iterdir()) == [], "the journal is not needed any more"
    assert f"{settled(undisturbed)['cases']} cases computed, which stand for 5,460" in (tmp_path / "report").read_text()


def test_a_search_for_the_smallest_strength_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    asked = ["prove", "induction", "--length", "4", "--strength", "search", "--workers", "1"]
    command, slow = [*EXACTFORMER, *asked], [*held(".4.1", 10), *asked]
    folder, environment = tmp_path / "exactformer" / "proofs", {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    undisturbed = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment).stdout
    assert list(folder.iterdir()) == []

    with interruptible(slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        until(lambda: any(len(finished(journal)) >= 3 for journal in folder.glob("*.journal.4.1")), process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "exactformer: interrupted at length 4, strength 1; the same command goes on from there"
    before = {journal: journal.read_bytes() for journal in folder.iterdir()}
    assert {journal.suffixes[-2][1:] for journal in before} == {"1", "2", "3", "4"}

    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment)
    assert again.stdout == undisturbed
    assert list(folder.iterdir()) == []

    # The same with journals that stay: what was finished is not touched, and nothing is computed twice.
    (name,) = {journal.name.removesuffix("".join(journal.suffixes[-2:])) for journal in before}
    subprocess.run([*command, "--journal", str(kept / name)], capture_output=True, timeout=PATIENCE, check=True)
    for journal, text in before.items():
        assert (kept / journal.name).read_bytes().startswith(text)
    (last,) = kept.glob("*.4.1")
    assert sorted(finished(last)) == list(range(23))


def test_a_journal_of_another_theorem_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "proof.journal"
    small = [*EXACTFORMER, "prove", "induction", "--length", "2", "--workers", "1", "--journal", str(journal)]
    assert subprocess.run(small, capture_output=True, timeout=PATIENCE, check=False).returncode == 0
    before = journal.read_bytes()
    for other in (["--hard"], ["--strength", "99"], ["--arithmetic", "arb"]):
        done = subprocess.run([*small, *other], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 2, other
        (line,) = quiet(done.stderr).splitlines()
        assert line.startswith(f"exactformer: {journal}: is the journal of another proof: 3 cases, fingerprint")
    assert journal.read_bytes() == before
