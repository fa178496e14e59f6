"""Many prompts: in several processes, on a cluster, killed and resumed, what is written is the same."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.trials.referees import drawn_llama
from test_cluster import LocalCluster

from children import PATIENCE
from cli_runs import run

COMMAND = [sys.executable, "-c", "from exactformer.cli import main; main()"]
PROMPTS = 16


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, prompts, and what an engine gave for them: tokens drawn by chance."""
    folder = tmp_path_factory.mktemp("many")
    size = drawn_llama(3, folder / "model").config.vocab_size
    rng = np.random.default_rng(2)
    ids = rng.integers(0, size, (PROMPTS, 7))
    (folder / "prompts.jsonl").write_text("".join(json.dumps({"ids": row}) + "\n" for row in ids.tolist()))
    np.savez(folder / "engine.npz", ids=ids, tokens=rng.integers(0, size, (PROMPTS, 7)))
    return folder


def asked(place: Path, command: str) -> list[str]:
    what = ["--outputs", "engine.npz"] if command == "judge" else ["--prompts", "prompts.jsonl", "--max", "2"]
    return [*COMMAND, command, "model", *what, "--format", "json"]


def done(command: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=place)


@pytest.fixture(scope="module", params=["judge", pytest.param("certify", marks=pytest.mark.large)])
def alone(request: pytest.FixtureRequest, place: Path) -> tuple[str, str]:
    """The command, and what one process writes."""
    found = done([*asked(place, request.param), "--workers", "1", "--journal", f"alone-{request.param}"], place)
    assert found.returncode in (0, 1), found.stderr
    assert len(json.loads(found.stdout) if request.param == "judge" else found.stdout.splitlines()) >= PROMPTS
    return request.param, found.stdout


def under_way(command: list[str], place: Path, journal: Path) -> subprocess.Popen[str]:
    """Started, and some cases are in the journal; or it has ended."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=place)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and running.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= 4):
        time.sleep(0.01)
    return running


def test_killed_in_the_middle_and_resumed(place: Path, alone: tuple[str, str], tmp_path: Path) -> None:
    command, expected = alone
    journal = tmp_path / "journal"
    again = [*asked(place, command), "--workers", "2", "--journal", str(journal)]
    running = under_way(again, place, journal)
    running.kill()
    running.communicate()
    assert journal.read_bytes().count(b"\n") >= 4
    found = done(again, place)
    assert found.stdout == expected
    assert "exactformer: resuming: " in found.stderr


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster.of_two(tmp_path_factory.mktemp("dask")) as made:
        yield made


def remotely(place: Path, command: str, cluster: LocalCluster, journal: Path) -> list[str]:
    """On the cluster, whose workers open files from a path that all share."""
    shared = {name: str(place / name) for name in ("model", "engine.npz")}
    words = [shared.get(word, word) for word in asked(place, command)]
    return [*words, "--cluster", cluster.address, "--journal", str(journal)]


def test_a_cluster_that_loses_a_worker_writes_the_same(
    place: Path, alone: tuple[str, str], cluster: LocalCluster, tmp_path: Path
) -> None:
    command, expected = alone
    journal = tmp_path / "journal"
    running = under_way(remotely(place, command, cluster, journal), place, journal)
    victim = cluster.workers[0 if command == "certify" else 1]
    victim.kill()
    victim.wait()
    cluster.add_worker()
    said, problem = running.communicate(timeout=PATIENCE)
    assert said == expected, problem


def test_a_scheduler_that_is_lost_loses_no_finished_case(place: Path, alone: tuple[str, str], tmp_path: Path) -> None:
    """It is said in one line; the same command goes on, here without a cluster."""
    command, expected = alone
    journal = tmp_path / "journal"
    with LocalCluster.of_two(tmp_path) as doomed:
        running = under_way(remotely(place, command, doomed, journal), place, journal)
        doomed.scheduler.kill()
        said, problem = running.communicate(timeout=PATIENCE)
        finished = journal.read_bytes().count(b"\n") - 1
    if running.returncode == 2:  # else the last case was done before
        assert said == ""
        assert f"cluster {doomed.address}: the scheduler was lost" in problem.splitlines()[-1]
    found = done([*asked(place, command), "--workers", "1", "--journal", str(journal)], place)
    assert found.stdout == expected
    assert f"resuming: {finished} " in found.stderr


def test_a_model_that_is_changed_under_way_is_noticed(place: Path, tmp_path: Path) -> None:
    """What a worker opens must be what the run began with."""
    from exactformer.proofs.certifying import Certifying
    from exactformer.proofs.chunks import RunError
    from exactformer.worksheets import load

    model = load(place / "model").model
    asked = Certifying(lambda: model, "")
    begun = Certifying(lambda: load("capstone").model, asked.fingerprint(model))
    with pytest.raises(RunError, match="a file was changed"):
        begun([0, 1])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "prompts.jsonl: holds no prompts"),
        ('{"ids": [1, 2], "prompt": "a"}', 'line 1: is not {"ids": [1, 2]} or {"prompt": "text"}'),
        ('{"ids": "1"}', "line 1: ids: is not a list of whole numbers"),
        ('{"ids": [1, 99999]}', "line 1: "),
        ('{"ids": []}', "line 1: "),
        ('{"prompt": 3}', "line 1: prompt: is not a text"),
        ("[", "line 1: is not JSON"),
    ],
)
def test_bad_prompts_get_one_line(line: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prompts.jsonl").write_text(line + "\n")
    for command in (
        ["certify", "stories", "--prompts", "prompts.jsonl"],
        ["judge", "stories", "--golden", "g", "--prompts", "prompts.jsonl"],
    ):
        said = run(*command)
        assert said.returncode == 2
        assert problem in said.stderr
        assert said.stderr.count("\n") == 1


@pytest.mark.parametrize("option", [["--ids", "1"], ["--compare", "float32"], ["--audit"], ["--format", "html"]])
def test_options_that_do_not_go_with_many_prompts(option: list[str], place: Path) -> None:
    said = run("certify", str(place / "model"), "--prompts", str(place / "prompts.jsonl"), *option)
    assert said.returncode == 2
    assert "does not go with --prompts" in said.stderr
