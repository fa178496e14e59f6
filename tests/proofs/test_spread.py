"""A model whose blocks are spread over the workers of a real Dask cluster: the certificates are those of one process."""

from __future__ import annotations

import functools
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from spread_work import changing, stories
from test_cluster import LocalCluster

import exactformer as xf
from cli_runs import refused, run
from exactformer.certificates import Certificate, verify
from exactformer.certificates.file import document, parsed
from exactformer.certificates.hash import part_hash
from exactformer.proofs import spread as spreading
from exactformer.proofs.certifying import certify_all
from exactformer.proofs.cluster import ClusterError
from exactformer.proofs.spread import shares

PROMPTS = [tuple(map(int, row)) for row in np.random.default_rng(4).integers(0, 200, (12, 6))]


def claimed(found: Iterable[tuple[int, Certificate]]) -> dict[int, dict[str, Any]]:
    """All but which tables were used, and the radii on the way."""
    said = {n: document(certificate) for n, certificate in found}
    for certificate in said.values():
        del certificate["sha256"], certificate["tables"]
        for token in certificate["tokens"]:
            del token["layers"]
    return said


@functools.cache
def alone() -> dict[int, dict[str, Any]]:
    """With norms of its own: those that are kept may be of an earlier version, whose bounds were others."""
    with tempfile.TemporaryDirectory() as empty, patch.dict(os.environ, XDG_CACHE_HOME=empty):
        return claimed(certify_all(stories, PROMPTS))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster.of_two(tmp_path_factory.mktemp("dask")) as made:
        made.add_worker()
        made.wait_for_workers()
        yield made


def test_blocks_are_shared_out_by_their_weights() -> None:
    model = stories()
    blocks = model.config.blocks
    for count in range(1, blocks + 3):
        found = shares(model, count)
        assert len(found) == min(count, blocks)
        assert list(itertools.chain(*found)) == list(range(blocks))
        assert all(found)


def test_blocks_are_spread_over_workers_and_nothing_else() -> None:
    with pytest.raises(xf.InputError, match="spread: goes with a cluster"):
        certify_all(stories, PROMPTS[:1], spread=True)


def test_each_part_has_a_hash_of_its_own() -> None:
    model = stories()
    found = {part_hash(model, range(start, stop)) for start in range(5) for stop in range(start + 1, 6)}
    assert len(found) == 15
    assert part_hash(xf.load("stories").model, range(2, 3)) in found


def test_the_certificates_are_those_of_one_process_though_a_worker_is_lost(cluster: LocalCluster, tmp_path: Path) -> None:
    victim = cluster.workers[1]

    def replace_midway(done: int, total: int) -> None:
        if done >= 3 and victim.poll() is None:
            victim.kill()
            victim.wait()
            cluster.add_worker()

    journal = tmp_path / "journal"
    found = certify_all(stories, PROMPTS, cluster=cluster.address, spread=True, journal=journal, progress=replace_midway)
    assert claimed(found) == alone()
    assert victim.poll() is not None
    again = certify_all(stories, PROMPTS, journal=journal)
    assert claimed(again) == alone()


def test_where_no_other_comes_the_rest_take_its_blocks(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "_REPLACED", 0.5)
    victim = next(worker for worker in cluster.workers if worker.poll() is None)

    def kill(done: int, total: int) -> None:
        if done and victim.poll() is None:
            victim.kill()
            victim.wait()

    found = certify_all(stories, PROMPTS[:4], cluster=cluster.address, spread=True, progress=kill)
    assert claimed(found) == {n: alone()[n] for n in range(4)}


def test_several_tokens(cluster: LocalCluster) -> None:
    """Keys are not kept there, so that radii differ a little; tokens do not."""
    found = {n: each.continuation for n, each in certify_all(stories, PROMPTS[:3], 3, cluster=cluster.address, spread=True)}
    assert found == {n: each.continuation for n, each in certify_all(stories, PROMPTS[:3], 3)}


def test_the_command(cluster: LocalCluster, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"ids": ids}) + "\n" for ids in PROMPTS[:3]), encoding="utf-8")
    asked = ("certify", "stories", "--prompts", str(prompts), "--format", "json")
    done = run(*asked, "--cluster", cluster.address, "--spread", "--journal", str(tmp_path / "journal"))
    assert done.returncode == 0, done.stderr
    certificates = list(map(parsed, map(json.loads, done.stdout.splitlines())))
    assert [certificate.continuation for certificate in certificates] == [
        certificate.continuation for _, certificate in sorted(certify_all(stories, PROMPTS[:3]), key=itemgetter(0))
    ]
    for certificate in certificates:
        assert verify(certificate, stories()).confirmed
    assert refused(*asked, "--spread") == "--spread: goes with --cluster, whose workers the blocks are spread over"


def test_a_model_that_was_changed_on_the_way_is_refused(cluster: LocalCluster, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    opening = functools.partial(changing, str(changed))
    with pytest.raises(xf.Refused, match="a file was changed"):
        list(certify_all(opening, PROMPTS[:1], cluster=cluster.address, spread=True, progress=lambda done, total: changed.touch()))


def test_a_cluster_without_workers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(spreading, "_PATIENCE", 0.5)
    with LocalCluster(tmp_path, 3) as empty:
        start = time.monotonic()
        with pytest.raises(ClusterError, match="no workers for"):
            list(certify_all(stories, PROMPTS[:1], cluster=empty.address, spread=True))
    assert time.monotonic() - start < 60  # its own patience is 120
