"""What a pass needs, told before it starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from certify_tools import run, small_model, write_model

from exactformer.certificates import Prepared, memory, prove_token
from exactformer.certificates.proving import CAP
from exactformer.certified.scheduling import schedule_length
from exactformer.certified.weights import Matrix
from exactformer.model import InputError
from exactformer.worksheets import load


def test_this_machine_says_what_it_has() -> None:
    left = memory.available()
    assert left is not None
    assert 10**6 < left < 10**15


def test_more_of_anything_needs_more(tmp_path: Path) -> None:
    small = small_model(tmp_path / "small")
    large = small_model(tmp_path / "large", vocabulary=4000)
    assert memory.needed(small, 8, 8) < memory.needed(large, 8, 8)
    assert memory.needed(small, 8, 8) < memory.needed(small, 800, 8) < memory.needed(small, 800, 14)
    assert memory.needed(small, 8, 8) < memory.needed(small, 8, 8, following=800) < memory.needed(small, 808, 8)
    assert memory.needed(small, 8, 8) < memory.needed(small, 8, 8, compared=True)


def test_too_little_is_refused_with_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model(tmp_path / "m")
    wanted = memory.needed(model, 4, 14, kept=False)
    monkeypatch.setattr(memory, "available", lambda: wanted - 1)
    with pytest.raises(InputError, match=r"m: a certified pass needs about 17 MB of memory; 17 MB are free"):
        memory.check_memory(model, "m", 4, 14)
    monkeypatch.setattr(memory, "available", lambda: wanted)
    assert not memory.check_memory(model, "m", 4, 14)
    monkeypatch.setattr(memory, "available", lambda: memory.needed(model, 4, 14))
    assert memory.check_memory(model, "m", 4, 14)
    monkeypatch.setattr(memory, "available", lambda: None)
    assert memory.check_memory(model, "m", 4, 14)


def test_short_weights_take_one_slice() -> None:
    weights = np.linspace(-3, 3, 60, dtype=np.float32).reshape(2, 30)
    short = (weights.view(np.uint32) & 0xFFFF0000).view(np.float32)
    assert [memory._sliced(each) for each in (weights, short, short.T, short.astype(np.float16), weights.astype(float))] == [
        16,
        8,
        8,
        8,
        16,
    ]


def test_what_is_made_anew_proves_the_same(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m")
    kept, anew = Prepared(model), Prepared(model, keep=False)
    schedule = (6, 5, *[4] * (schedule_length(model.config) - 3), 0)
    first, second = (prove_token(model, [3, 4], prepared=each, schedule=schedule) for each in (kept, anew))
    assert first == second
    assert first.proved

    def held(ready: Prepared) -> int:
        return sum(len(value.made) for value, _ in ready.store.held.values() if isinstance(value, Matrix))

    assert held(kept) > 0 == held(anew)
    fresh = Prepared(model)
    fresh.prepare()
    assert held(fresh) == 0
    assert prove_token(model, [3, 4], prepared=fresh).token == first.token
    assert held(fresh) > 0


def test_the_command_says_that_slices_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "m")
    as_usual = run(str(folder), "--ids", "3")
    assert (as_usual.returncode, as_usual.stderr) == (0, "")
    left = memory.needed(load(str(folder)).model, 1, CAP, 1) - 1
    monkeypatch.setattr(memory, "available", lambda: left)
    done = run(str(folder), "--ids", "3")
    assert (done.returncode, done.stdout) == (0, as_usual.stdout)
    assert (
        done.stderr
        == "exactformer: m: slices of the weights are made anew for each pass: there is too little memory to keep them\n"
    )


def test_the_command_says_so_before_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "m")
    monkeypatch.setattr(memory, "available", lambda: 1_500_000)
    done = run(str(folder), "--ids", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("exactformer: m: a certified pass needs about ")
    assert done.stderr.endswith("; 2 MB are free\n")


def test_limits_of_containers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_of_machine", lambda: 8_000)
    monkeypatch.setattr(memory, "_of_group", lambda: 5_000)
    assert memory.available() == 5_000
    monkeypatch.setattr(memory, "_of_group", lambda: None)
    assert memory.available() == 8_000
