"""Model folders changed at random, some of the thousand that `python -m benchmarks.trials checkpoints` tries."""

from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.trials import checkpoints


def test_changed_folders_run_or_are_refused_in_a_line() -> None:
    tried = checkpoints.sample(200, seed=1)
    assert [result.failed for result in tried if result.failed] == []
    outcomes = Counter(result.outcome for result in tried)
    assert outcomes["refused"] > 120
    assert outcomes["run"] > 10


def test_unchanged_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "changed", lambda seed, n: ("nothing", checkpoints.folder()))
    assert [result.outcome for result in checkpoints.sample(3, seed=1)] == ["run"] * 3
