"""Worksheets changed at random, some of the ten thousand that `python -m benchmarks.trials worksheets` tries."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter

import pytest
from benchmarks.trials import bounds, worksheets


def test_changed_worksheets_are_traced_or_refused_in_a_line() -> None:
    tried = worksheets.sample(100, seed=1)
    assert [result.failed for result in tried if result.failed] == []
    outcomes = Counter(result.outcome for result in tried)
    assert outcomes["refused"] > 50
    assert outcomes["traced"] > 10


def test_what_must_not_be_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial itself is tried: in a process of its own, with each of the ways to fail."""
    monkeypatch.setattr(bounds, "SECONDS", 0.2)
    monkeypatch.setattr(bounds, "_PATIENCE", 40)

    def case(n: int) -> str:
        match n:
            case 1:
                raise KeyError("dim")
            case 2:
                while True:
                    pass
            case 3:
                return str(len(bytearray(2 << 30)))
            case 4:
                warnings.warn("overflow", RuntimeWarning, stacklevel=1)
            case 5:
                os.kill(os.getpid(), 9)
            case 6:
                time.sleep(60)  # no signal of the processor's time reaches it
        return "good"

    results = list(bounds.all_tried(lambda n: case(n), 8))
    assert [result.outcome for result in results] == ["good", "traceback", "hang", "memory", "traceback", "lost", "lost", "good"]
    assert [bool(result.failed) for result in results] == [False, True, True, True, True, True, True, False]
    assert results[1].failed.startswith("KeyError: 'dim' (test_changed_worksheets.py:")
