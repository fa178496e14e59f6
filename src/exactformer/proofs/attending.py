"""Theorems about patterns: what a head does in every sequence, proved many sequences at a time, and added up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.model import Config, Model
from exactformer.proofs.answers import enclosed, insist, is_count
from exactformer.proofs.batches import Batch, Batches, check_number, tokens_of
from exactformer.proofs.chunks import RunError
from exactformer.proofs.domain import Sequences, Tokens
from exactformer.proofs.fingerprint import model_fingerprint, patterns_fingerprint
from exactformer.proofs.looking import Looking
from exactformer.proofs.patterns import PatternClaim, PatternReport, Unproved
from exactformer.proofs.report import MOST_KEPT, PROVED, REFUTED, UNDECIDED
from exactformer.proofs.runner import run

_MOST = 1_000_000  # sequences that are looked at one by one
_ALONE = 32  # of them are a case of a journal
_FIELDS = {"first", "sequences", "asked", "counts", "failed", "nearest"}


def prove_pattern(
    model: Model, claim: PatternClaim, length: int, workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    journal: Path | Callable[[str], Path | None] | None = None, cluster: str | None = None,
    alone: tuple[str, ...] = ("arb", "exact"),
) -> PatternReport:  # fmt: skip
    """The claim for every sequence up to a length. Under a mask, a sequence holds the patterns of all that it begins with.

    `journal`, `workers` and `cluster` are those of `prove`. What floats leave open is asked of the arithmetics `alone`, in order.

    >>> from exactformer.worksheets import load
    >>> model = load("induction").model
    >>> report = prove_pattern(model, PatternClaim.read("0.0 previous >= 0.99", model.config), 2, workers=1)
    >>> report.verdict, report.sequences, report.passes
    ('proved', 20, 16)
    """
    config, before = model.config, model_fingerprint(model)
    if config.length is not None and length > config.length:
        raise RunError(f"{length} positions are needed, the model has {config.length}")
    looking = Looking(model, claim, alone)
    every = Sequences(config.vocabulary, length)
    inputs = Sequences(config.vocabulary, length, length) if config.keeps_past else every
    if inputs.size > _MOST and not looking.together:
        raise RunError(f"there are {inputs.size:,} sequences to look at one by one; up to {_MOST:,} are: give a smaller --length")
    check_number(inputs.size, config, length)
    batches = Batches(inputs, config, length, _nothing, most=None if looking.together else _ALONE)
    tally = _Tally(PatternReport(claim, length, every.size, inputs.size), batches, config)
    key = patterns_fingerprint(before, batches, claim, alone) if journal is not None else ""
    each = batches.inputs / len(batches)
    results = run(
        looking, batches, fingerprint=key, journal=journal(key) if callable(journal) else journal, check=tally.read,
        cluster=cluster, workers=1 if workers is None and cluster is None and len(batches) == 1 else workers,
        progress=lambda done, total: progress(round(done * each), batches.inputs),
    )  # fmt: skip
    for _, said in results:
        tally.add(said)
    if model_fingerprint(model) != before:
        raise RunError("the weights of the model were changed while it was being proved: nothing is proved of either model")
    return tally.whole()


def _nothing(ids: Any) -> tuple[Any, Any, Tokens]:
    """No tokens are demanded."""
    return np.zeros((len(ids), 0, 0), dtype=int), np.zeros(len(ids), dtype=int), ("pattern",)


class _Tally:
    """Results of batches, read strictly, because a file may have held them in between, and added up."""

    def __init__(self, report: PatternReport, batches: Batches, config: Config) -> None:
        self.report, self.batches, self.config = report, batches, config
        self._failed: list[tuple[int, Unproved]] = []
        self._nearest: tuple[Any, int] | None = None

    def read(self, said: Any) -> Batch:
        """The batch that a result is of, if it can be one."""
        insist(isinstance(said, dict) and set(said) == _FIELDS, "has not the fields of a batch of patterns")
        insist(is_count(said["first"]) and said["first"] < self.batches.inputs, "is of sequences that there are not")
        batch: Batch = self.batches[self.batches.number_of(said["first"])]
        insist(batch.first == said["first"] and said["asked"] == batch.digest, "is of other sequences than this batch has")
        counts, failed = said["counts"], said["failed"]
        insist(
            isinstance(counts, dict) and set(counts) == set(self.report.counts) and all(map(is_count, counts.values())),
            "is damaged",
        )
        insist(said["sequences"] == sum(counts.values()) == len(batch), "has not a verdict for every sequence")
        named = isinstance(failed, list) and all(isinstance(each, list) and len(each) in (2, 5) for each in failed)
        insist(named and all(is_count(n) and n < len(batch) for n, *_ in failed), "names a sequence that there is not")
        numbers = [each[0] for each in failed]
        insist(numbers == sorted(set(numbers)), "names a sequence twice")
        insist(len(failed) == min(MOST_KEPT, len(batch) - counts[PROVED]), "names too many sequences, or too few")
        verdicts = [each[1] for each in failed]
        known = all(each in (REFUTED, UNDECIDED) and verdicts.count(each) <= counts[each] for each in verdicts)
        insist(known, "has other verdicts than it counts")
        for each in failed:
            if len(each) > 2:
                self._weight(each[2:], batch)
        if said["nearest"] is not None:
            near = said["nearest"]
            insist(isinstance(near, list) and len(near) == 4 and is_count(near[0]) and near[0] < len(batch), "is damaged")
            self._weight(near[1:], batch)
        return batch

    def _weight(self, said: Any, batch: Batch) -> None:
        """A position and two decimals."""
        places = dict(self.report.claim.sources(batch.ids.shape[1], self.config))
        insist(is_count(said[0]) and said[0] in places, "has a weight at a position of which nothing is claimed")
        low, high = enclosed(said[1:], "weight")
        insist(low <= 1 and high >= 0, "has a weight that is none")

    def add(self, said: Any) -> None:
        batch, report = self.read(said), self.report
        for name, number in said["counts"].items():
            report.counts[name] += number
        for n, verdict, *weight in said["failed"]:
            place, low, high = weight or (None, "", "")
            known = None if place is None else (place, low, high)
            self._failed.append((batch.first + n, Unproved(self._tokens(batch, n), verdict, known)))
        self._failed = sorted(self._failed, key=lambda failed: failed[0])[:MOST_KEPT]
        if said["nearest"] is not None:
            n, position, low, high = said["nearest"]
            where = report.claim.nearness(low, high), batch.first + n
            if self._nearest is None or where < self._nearest:
                tokens = self._tokens(batch, n)
                self._nearest = where
                report.nearest = (tokens[: position + 1] if self.config.keeps_past else tokens, position, low, high)

    def _tokens(self, batch: Batch, n: int) -> Tokens:
        return next(tokens_of(batch.ids[n : n + 1], self.config.vocabulary))

    def whole(self) -> PatternReport:
        if sum(self.report.counts.values()) != self.report.passes:
            raise AssertionError(f"{self.report.counts} of {self.report.passes} sequences")
        self.report.failures = tuple(failed for _, failed in self._failed)
        return self.report
