"""Golden files of many prompts: interrupted, resumed, in processes or on a cluster, the same bytes are written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.trials.referees import drawn_llama
from test_cluster import LocalCluster

from children import PATIENCE, interruptible
from cli_runs import run
from exactformer.cli.common import INTERRUPTED
from exactformer.messages import Refused
from exactformer.model import Model
from exactformer.proofs.chunks import RunError
from exactformer.proofs.journal import Journal
from exactformer.referee.making import Making, digest_of, make
from exactformer.worksheets import load

PROMPTS = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    size = drawn_llama(3, folder / "model").config.vocab_size
    rng = np.random.default_rng(2)
    prompts = [rng.integers(0, size, rng.integers(3, 9)).tolist() for _ in range(PROMPTS)]
    (folder / "prompts.jsonl").write_text("".join(json.dumps({"ids": ids}) + "\n" for ids in prompts))
    return folder


def command(place: Path, into: Path, *options: str) -> list[str]:
    asked = ("--golden", str(into / "truth"), "--prompts", str(place / "prompts.jsonl"), "--all-positions", "--steps")
    return [sys.executable, "-m", "exactformer", "judge", str(place / "model"), *asked, *options]


def written(place: Path, into: Path, *options: str) -> tuple[list[bytes], str]:
    """Both files, and what was said on the way."""
    into.mkdir(exist_ok=True)
    found = subprocess.run(command(place, into, *options), capture_output=True, text=True, timeout=PATIENCE)
    assert found.returncode == 0, found.stderr
    assert f"{PROMPTS} prompts" in found.stdout
    return [(into / name).read_bytes() for name in ("truth.safetensors", "truth.json")], found.stderr


@pytest.fixture(scope="module")
def alone(place: Path, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What one process writes."""
    return written(place, tmp_path_factory.mktemp("alone"), "--workers", "1")[0]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_interrupted_in_the_middle_and_resumed(workers: str, place: Path, alone: list[bytes], tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "exactformer" / "proofs"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    options = ("--workers", workers)
    running = interruptible(command(place, tmp_path, *options), env=environment, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not any(journal.read_bytes().count(b"\n") >= 4 for journal in cache.glob("*.journal")):
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == INTERRUPTED
    (journal,) = cache.glob("*.journal")
    finished = journal.read_bytes().count(b"\n") - 1
    assert said.splitlines()[-1] == (
        f"exactformer: interrupted after {finished} of {PROMPTS} cases; the same command goes on from there"
    )
    assert not (tmp_path / "truth.safetensors").exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", environment["XDG_CACHE_HOME"])
        found, said = written(place, tmp_path, *options)
    assert found == alone
    assert f"resuming: {finished} of {PROMPTS} cases are in " in said
    assert not list(cache.glob("*.journal"))


def test_on_a_cluster_with_a_journal_of_ones_own(place: Path, alone: list[bytes], tmp_path: Path) -> None:
    with LocalCluster.of_two(tmp_path) as cluster:
        found, _ = written(place, tmp_path, "--cluster", cluster.address, "--journal", str(tmp_path / "journal"))
    assert found == alone
    again, said = written(place, tmp_path / "again", "--journal", str(tmp_path / "journal"))
    assert again == alone
    assert f"resuming: {PROMPTS} of {PROMPTS} cases" in said


@pytest.mark.parametrize("option", ["--journal", "--workers", "--cluster"])
def test_what_is_for_many_prompts_is_refused_of_one(option: str, place: Path, tmp_path: Path) -> None:
    done = run("judge", str(place / "model"), "--golden", str(tmp_path / "g"), "--ids", "1", option, "1")
    assert (done.returncode, done.stderr) == (2, f"exactformer: {option}: with --golden it goes with --prompts\n")


def test_a_model_that_is_changed_under_way_is_noticed() -> None:
    model = load("sorter").model
    begun = Making(lambda: load("capstone").model, digest_of(model, False, False, 14), cap=14)
    with pytest.raises(RunError, match="a file was changed"):
        begun((0, 1))


def _other_ids(part: Any) -> Any:
    return part | {"said": part["said"] | {"ids": [1, 1]}}


def _fewer_rows(part: Any) -> Any:
    return part | {"arrays": part["arrays"] | {"logits": part["arrays"]["logits_error"]}}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda part: [part], "is not what golden files hold of a prompt"),
        (lambda part: {"said": part["said"]}, "is not what golden files hold of a prompt"),
        (lambda part: part | {"arrays": {"logits": [[1], "!"]}}, "has arrays that cannot be read"),
        (lambda part: part | {"arrays": {"logits": ["x", ""]}}, "has arrays that cannot be read"),
        (_fewer_rows, "has arrays of other shapes"),
        (_other_ids, "case 0: is about another prompt"),
    ],
)
def test_what_a_journal_cannot_hold_is_refused(change: Callable[[Any], Any], problem: str, tmp_path: Path) -> None:
    model: Model = load("capstone").model
    path, known = tmp_path / "journal", list[str]()

    def journal(fingerprint: str) -> Path:
        known.append(fingerprint)
        return path

    prompts = [(0, 1), (1, 1)]
    make(lambda: model, prompts, "", "", journal=journal)
    with Journal(path, known[0], 2) as book:
        parts = dict(book.finished())
    path.unlink()
    with Journal(path, known[0], 2) as book:
        book.append([(0, json.dumps(change(parts[0])))])
    with pytest.raises(Refused, match=problem) as refused:
        make(lambda: model, prompts, "", "", journal=journal)
    assert str(path) in str(refused.value)
