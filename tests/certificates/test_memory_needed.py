"""What a pass needs, told before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from certify_tools import run, small_model, write_model

from exactformer.certificates import memory
from exactformer.model import InputError


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
    wanted = memory.needed(model, 4, 14)
    monkeypatch.setattr(memory, "available", lambda: wanted - 1)
    with pytest.raises(InputError, match=r"m: a certified pass needs about 17 MB of memory; 17 MB are free"):
        memory.check_memory(model, "m", 4, 14)
    monkeypatch.setattr(memory, "available", lambda: wanted)
    memory.check_memory(model, "m", 4, 14)
    monkeypatch.setattr(memory, "available", lambda: None)
    memory.check_memory(model, "m", 4, 14)


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
