"""Runs on a real Dask cluster: a scheduler and two workers, each a process of its own."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kill_work import Logged, alone, computed, entries

from children import PATIENCE
from exactformer.proofs import cluster
from exactformer.proofs.chunks import CaseError, RunError
from exactformer.proofs.cluster import ClusterError
from exactformer.proofs.runner import run

HERE = Path(__file__).parent


class LocalCluster:
    """A scheduler, and workers without the nannies that would start lost ones again."""

    def __init__(self, folder: Path, allowed_failures: int) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(allowed_failures),
        }
        about = Path(tempfile.mkdtemp(dir=folder)) / "scheduler.json"
        self.scheduler = self._dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(about))
        self.workers: list[subprocess.Popen[bytes]] = []
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # not there, or not written whole
                self.address: str = json.loads(about.read_text())["address"]
                return
            time.sleep(0.05)
        raise TimeoutError("the scheduler does not start")

    def _dask(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, "--no-dashboard"],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def add_worker(self, threads: int = 1) -> subprocess.Popen[bytes]:
        options = ["--no-nanny", "--nthreads", str(threads), "--local-directory", str(self.folder)]
        self.workers.append(self._dask("worker", self.address, *options))
        return self.workers[-1]

    def wait_for_workers(self) -> None:
        """Until each is there, and has read the modules that it will need."""
        from distributed import Client

        with Client(self.address, set_as_default=False, timeout=PATIENCE) as client:
            client.wait_for_workers(sum(worker.poll() is None for worker in self.workers), timeout=PATIENCE)
            client.run(importlib.import_module, "exactformer.proofs.certifying", on_error="ignore")

    @classmethod
    @contextlib.contextmanager
    def of_two(cls, folder: Path) -> Iterator[LocalCluster]:
        """With two workers, which may be lost three times."""
        pytest.importorskip("distributed", reason="Dask is not installed")
        with cls(folder, allowed_failures=3) as made:
            made.add_worker()
            made.add_worker()
            made.wait_for_workers()
            yield made

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *error: object) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def dask_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    pytest.importorskip("distributed", reason="Dask is not installed")
    with LocalCluster(tmp_path_factory.mktemp("dask"), allowed_failures=3) as made:
        made.add_worker(threads=4)
        yield made


def test_a_cluster_answers_as_one_process_does_though_a_worker_is_killed(dask_cluster: LocalCluster, tmp_path: Path) -> None:
    victim = dask_cluster.add_worker()
    dask_cluster.wait_for_workers()
    log, journal = tmp_path / "log", tmp_path / "journal"
    total, found = 1000, []
    for result in run(Logged(log), range(total), fingerprint="squares", journal=journal, cluster=dask_cluster.address):
        found.append(result)
        if len(found) % 20 == 0 and victim.poll() is None and victim.pid in [process for _, process in entries(log)]:
            victim.send_signal(signal.SIGKILL)
            victim.wait()
    assert victim.returncode == -signal.SIGKILL
    # Nothing lost, nothing counted twice, and what the cluster found is in the journal for a run on this machine.
    assert sorted(found) == [(number, {"square": number * number}) for number in range(total)]
    assert set(computed(log)) == set(range(total))
    assert sorted(run(Logged(tmp_path / "none"), range(total), fingerprint="squares", journal=journal, workers=1)) == sorted(found)
    assert not (tmp_path / "none").exists()


def test_a_worker_with_many_threads_computes_one_case_at_a_time(dask_cluster: LocalCluster) -> None:
    assert all(result for _, result in run(alone, range(100), fingerprint="alone", cluster=dask_cluster.address))


def test_an_exception_on_a_cluster_names_its_case_and_keeps_the_others(dask_cluster: LocalCluster, tmp_path: Path) -> None:
    inverse = functools.partial(divmod, 12)
    with pytest.raises(CaseError, match=r"^case 2 \(0\): ZeroDivisionError: ") as caught:
        list(run(inverse, [3, 4, 0], fingerprint="12", journal=tmp_path / "journal", cluster=dask_cluster.address))
    assert "Traceback" in caught.value.__notes__[0]


def test_another_environment_on_a_worker_is_refused(dask_cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    there = cluster.environment()
    monkeypatch.setattr(cluster, "environment", lambda: "Python 3.99, exactformer 7")
    with pytest.raises(ClusterError) as caught:
        list(run(abs, [1], fingerprint="", cluster=dask_cluster.address))
    assert str(caught.value) == f"cluster {dask_cluster.address}: a worker has {there}; here it is Python 3.99, exactformer 7"


def test_a_function_that_workers_lack_is_refused(
    dask_cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def rule(case):\n    return case\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from only_here import rule  # type: ignore[import-not-found]

    with pytest.raises(ClusterError, match=r"^cluster tcp://.*: the cases cannot be loaded there \(.*'only_here'\); .*$"):
        list(run(rule, [1], fingerprint="", cluster=dask_cluster.address))


def test_what_cannot_travel_to_a_cluster_is_told(dask_cluster: LocalCluster) -> None:
    with pytest.raises(RunError, match=r"^the function of the cases cannot be sent to a cluster \(TypeError: cannot pickle .*\)$"):
        list(run(threading.Lock(), [1], fingerprint="", cluster=dask_cluster.address))  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"^case 0 \(<unlocked .*>\) cannot be sent to a cluster \(TypeError: cannot pickle .*\)$"):
        list(run(abs, [threading.Lock()], fingerprint="", cluster=dask_cluster.address))


def test_what_a_cluster_lacks_or_loses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    with LocalCluster(tmp_path, allowed_failures=0) as doomed:
        with monkeypatch.context() as hasty:
            hasty.setattr(cluster, "_PATIENCE", 1.0)
            with pytest.raises(ClusterError, match=rf"^cluster {doomed.address}: no workers for 1 seconds$"):
                list(run(abs, [1], fingerprint="", cluster=doomed.address))
        for _ in range(2):
            doomed.add_worker()
        doomed.wait_for_workers()
        journal = tmp_path / "journal"
        with pytest.raises(CaseError, match=r"^case 40 \(40\): the process that computed it was lost, 2 times: Dask gave up .*$"):
            list(run(Logged(tmp_path / "log", deadly=40), range(60), fingerprint="", journal=journal, cluster=doomed.address))
        finished = cluster.finished
        monkeypatch.setattr(cluster, "finished", lambda *asked: (doomed.scheduler.kill(), finished(*asked))[1])
        with pytest.raises(ClusterError, match=rf"^cluster {doomed.address}: the scheduler was lost \(.*\)$"):
            list(run(abs, [1], fingerprint="", cluster=doomed.address))


def test_no_scheduler_is_told_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(cluster, "_CONNECT", 1.0)
    start = time.monotonic()
    with socket.socket() as taken:  # by somebody who does not listen
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterError, match=rf"^cluster {address}: no Dask scheduler answers there \(.*\)$"):
            list(run(abs, [1], fingerprint="", cluster=address))
    for nonsense in ["tcp://", "nonsense://127.0.0.1:1", ""]:
        with pytest.raises(ClusterError, match=rf"^cluster {nonsense}: no Dask scheduler answers there \(.*\)$"):
            list(run(abs, [1], fingerprint="", cluster=nonsense))
    assert time.monotonic() - start < 25  # Dask's own patience is 30


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ClusterError, match=r"^cluster tcp://127.0.0.1:1: Dask is not installed; install exactformer\[distributed\]$"
    ):
        list(run(abs, [1], fingerprint="", cluster="tcp://127.0.0.1:1"))
