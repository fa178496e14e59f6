"""Right numbers in pages of every kind are passed, wrong ones found and fixed: a sample of `python -m benchmarks.trials bound`."""

from __future__ import annotations

from collections import Counter

from benchmarks.trials.bound import KINDS, cases, failure


def test_bound_numbers() -> None:
    tried: Counter[tuple[str, bool]] = Counter()
    for kind, case in cases(seed=7, count=14):
        assert failure(case) == "", (kind, case.printed)
        tried[kind, case.wrong] += 1
    assert set(tried) == {(kind, wrong) for kind in KINDS for wrong in (False, True)}
