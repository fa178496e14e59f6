"""Journals changed at random, some dozens of the thousand that `python -m benchmarks.trials journals` tries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

from benchmarks.trials import journals


def test_changed_journals_prove_nothing_that_is_false() -> None:
    tried = list(journals.trials(80, seed=1))
    assert [result.failed for _, _, result in tried if result.failed] == []
    outcomes = Counter((kind, result.outcome) for kind, _, result in tried)
    assert outcomes["damaged", "refused"] > 20
    assert outcomes["checksums renewed", "refused"] > 20
    assert outcomes["damaged", "refuted"] > 0


def test_a_traceback_and_a_false_proof_would_be_noticed(tmp_path: Path) -> None:
    """The trial itself is tried: a proof that fails in each of these ways is called so."""
    book = journals.books()[1]

    def raises(rule: object, journal: Path) -> None:
        raise KeyError("token")

    def believes(rule: object, journal: Path) -> SimpleNamespace:
        return SimpleNamespace(verdict="proved")

    assert journals.tried(replace(book, prove=raises), book.kept, Random(0), tmp_path).outcome == "traceback"
    assert journals.tried(replace(book, prove=believes), book.kept, Random(0), tmp_path).failed == "a false theorem is PROVED"
    assert journals.tried(book, book.kept, Random(0), tmp_path).outcome == "refuted"
