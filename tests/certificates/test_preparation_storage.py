"""Norms on disk: found again, never trusted when damaged, safe with two runs at once and with one that is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from certify_tools import PROGRAM, small_model, write_model

from children import PATIENCE
from exactformer.certificates import Prepared, prove_token
from exactformer.certificates.hash import model_hash
from exactformer.certificates.storage import place, prepared, read, write
from exactformer.certified.scheduling import schedule_length
from exactformer.model import Model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return small_model(tmp_path_factory.mktemp("model") / "m")


@pytest.fixture
def kept(model: Model, tmp_path: Path) -> Path:
    """The file with the norms of the model."""
    digest = model_hash(model)
    with prepared(model, folder=tmp_path) as ready:
        ready.prepare()
    path = place(digest, tmp_path)
    assert path is not None
    return path


def test_norms_are_found_again_and_prove_the_same(model: Model, kept: Path) -> None:
    found = read(kept, model_hash(model))
    assert found
    norms, outlook = found
    assert len(norms) >= 10
    assert outlook is not None
    assert {len(each.halves) for each in outlook.growths} == {schedule_length(model.config)}
    with prepared(model, folder=kept.parent) as ready:
        assert (ready.norms, ready.outlook) == (norms, outlook)
        ready.prepare(lambda step: pytest.fail(f"{step} was computed again"))
        again = prove_token(model, [3, 4], prepared=ready, schedule=(6,) * schedule_length(model.config))
    fresh = prove_token(model, [3, 4], prepared=Prepared(model), schedule=(6,) * schedule_length(model.config))
    assert (again.token, again.top, again.margin) == (fresh.token, fresh.top, fresh.margin)
    assert oct(kept.stat().st_mode & 0o777) == "0o600"


def test_norms_of_another_model_are_not_taken(model: Model, kept: Path) -> None:
    other = "0" * 64
    assert read(kept, other) is None
    stolen = place(other, kept.parent)
    assert stolen is not None
    stolen.write_bytes(kept.read_bytes())
    assert read(stolen, other) is None


def test_no_damage_is_trusted(model: Model, kept: Path) -> None:
    """Cut short at every length, or one byte changed anywhere: read as nothing, or as exactly what was written."""
    digest = model_hash(model)
    whole, written = kept.read_bytes(), read(kept, digest)
    rng = random.Random(3)
    for size in [*range(0, len(whole) - 1, 37), len(whole) - 2]:
        kept.write_bytes(whole[:size])
        assert read(kept, digest) is None, size
    refused = 0
    for _ in range(500):
        at = rng.randrange(len(whole))
        kept.write_bytes(whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :])
        found = read(kept, digest)
        assert found in (None, written), at
        refused += found is None
    assert refused > 400
    with prepared(model, folder=kept.parent) as ready:
        assert (ready.norms, ready.outlook) in (({}, None), written)
        ready.prepare()
    assert read(kept, digest) == written


@pytest.mark.parametrize("norm", ["nan", "inf", "-0x1p+0", "one", 1.5])
def test_what_is_no_norm_is_refused_even_with_a_checksum(norm: object, tmp_path: Path) -> None:
    from exactformer.certificates.storage import FORMAT
    from exactformer.hashing import checksum

    said = {"format": FORMAT, "model": "0" * 64, "norms": {"W_E": norm}, "outlook": None}
    (tmp_path / "n.json").write_text(json.dumps(said | {"sha256": checksum(said)}), encoding="utf-8")
    assert read(tmp_path / "n.json", "0" * 64) is None
    said["norms"] = {"W_E": "0x1p+0"}
    (tmp_path / "n.json").write_text(json.dumps(said | {"sha256": checksum(said)}), encoding="utf-8")
    assert read(tmp_path / "n.json", "0" * 64) == ({"W_E": 1.0}, None)


def test_links_and_pipes_are_not_followed(kept: Path, model: Model, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(kept)
    assert read(link, model_hash(model)) is None
    os.mkfifo(tmp_path / "pipe.json")
    assert read(tmp_path / "pipe.json", model_hash(model)) is None


def test_a_folder_that_cannot_be_written_is_no_error(model: Model, tmp_path: Path) -> None:
    with prepared(model, folder=tmp_path / "not there") as ready:
        ready.prepare()
    assert ready.norms


def test_an_interrupted_run_keeps_what_it_had(model: Model, tmp_path: Path) -> None:
    def stop(step: str) -> None:
        if step == "blocks.1.attn.out":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), prepared(model, folder=tmp_path) as ready:
        ready.prepare(stop)
    path = place(model_hash(model), tmp_path)
    assert path is not None
    found = read(path, model_hash(model))
    assert found
    norms, outlook = found
    assert outlook is None
    with prepared(model, folder=tmp_path) as ready:
        ready.prepare()
        assert set(norms) < set(ready.norms)
        assert ready.outlook is not None


def test_left_overs_of_killed_runs_are_removed(kept: Path, model: Model) -> None:
    old, new = (kept.with_name(f".{kept.name}.{name}") for name in ("old", "new"))
    old.write_text("half")
    new.write_text("half")
    os.utime(old, (time.time() - 7200,) * 2)
    found = read(kept, model_hash(model))
    assert found
    write(kept, model_hash(model), *found)
    assert not old.exists()
    assert new.exists()


def _start(folder: Path, cache: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, "certify", str(folder), "--ids", "3 4", "--format", "json"]
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


def test_two_runs_at_once_and_one_that_is_killed(tmp_path: Path) -> None:
    folder, cache = write_model(tmp_path / "m"), tmp_path / "cache"
    killed = _start(folder, cache)
    running = [_start(folder, cache) for _ in range(2)]
    time.sleep(0.9)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    told = [process.communicate(timeout=PATIENCE) for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert told[0][0] == told[1][0]
    kept = list((cache / "exactformer" / "certified").glob("[0-9a-f]*.json"))
    assert len(kept) == 1
    assert read(kept[0], json.loads(told[0][0])["model"]["sha256"])


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(kept: Path, model: Model) -> None:
    """A process that writes over and over is killed four times: whoever reads finds all or nothing."""
    digest = model_hash(model)
    program = (
        "import sys; from pathlib import Path; from exactformer.certificates.storage import read, write\n"
        "path = Path(sys.argv[1]); found = read(path, sys.argv[2]); print('ready', flush=True)\n"
        "while True: write(path, sys.argv[2], *found)"
    )
    found = read(kept, digest)
    for n in range(4):
        with subprocess.Popen([sys.executable, "-c", program, str(kept), digest], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            for _ in range(200):
                assert read(kept, digest) == found
            time.sleep(0.003 * n)
            writer.kill()
        assert read(kept, digest) == found
