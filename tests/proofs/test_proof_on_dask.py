"""A theorem on a real Dask cluster, one of whose workers is killed midway: the report is that of this machine alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_cluster import LocalCluster

import exactformer as xf
from children import PATIENCE
from cli_runs import quiet
from exactformer.proofs import Report, Sequences, prove

EXACTFORMER = [sys.executable, "-c", "from exactformer.cli import main; main()"]


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster.of_two(tmp_path_factory.mktemp("dask")) as made:
        yield made


def report_of(**where: Any) -> Report:
    sheet = xf.load("induction")
    return prove(sheet.model, Sequences(sheet.model.config.vocabulary, 5), sheet.rule, circuit=sheet.circuit, **where)  # type: ignore[arg-type]


def test_a_worker_killed_midway_changes_nothing(two_workers: LocalCluster, tmp_path: Path) -> None:
    victim = two_workers.workers[1]

    def kill_midway(done: int, total: int) -> None:
        if done >= total // 4 and victim.poll() is None:
            assert done < total
            victim.kill()
            victim.wait()

    journal = tmp_path / "journal"
    remote = report_of(cluster=two_workers.address, progress=kill_midway, journal=journal)
    local = report_of(workers=1)
    assert victim.poll() is not None
    assert (remote.verdict, remote.cases, remote.sequences) == ("proved", 74, 1364)
    for field in ("statement", "verdict", "classes", "cases", "sequences", "counts", "kinds", "failures"):
        assert getattr(remote, field) == getattr(local, field)
    # What the cluster found is kept here: nothing is left to do.
    again = report_of(workers=1, journal=journal)
    assert (again.resumed, again.kinds) == (74, local.kinds)


def test_the_command_on_a_cluster(two_workers: LocalCluster, tmp_path: Path) -> None:
    command = [*EXACTFORMER, "prove", "induction", "--length", "3", "--set", "blocks.1.attn.W_V[0,1,1]=0", "--format", "json"]
    reports = []
    for where in (["--cluster", two_workers.address], ["--workers", "1"]):
        done = subprocess.run([*command, *where], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 1, done.stderr
        reports.append({name: value for name, value in json.loads(done.stdout).items() if name != "seconds"})
    assert reports[0] == reports[1]
    assert reports[0]["verdict"] == "refuted"


def test_no_cluster_is_one_line() -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    command = [*EXACTFORMER, "prove", "induction", "--length", "2", "--cluster", "tcp://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    (line,) = quiet(done.stderr).splitlines()  # to find out takes some seconds
    assert line.startswith("exactformer: cluster tcp://127.0.0.1:1: no Dask scheduler answers there (")
