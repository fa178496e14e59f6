"""Theorems about patterns in batches: Lemma 37 against balls, one by one, journals, and some of the trials."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.trials import patterns as trial
from flint import arb

from certified.small_models import gpt2_shaped
from cli_runs import refused, run
from exactformer.certificates import Prepared
from exactformer.certificates.many import patterns_at
from exactformer.certified import together
from exactformer.model import Model, Step
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.forward import through
from exactformer.numbers import exact
from exactformer.proofs.attending import prove_pattern
from exactformer.proofs.journal import JournalError
from exactformer.proofs.looking import Looking
from exactformer.proofs.patterns import PatternClaim, PatternReport
from exactformer.worksheets import load
from random_models import random_model

SHAPES: list[dict[str, Any]] = [{}, {"mask": "none"}, {"mask": "strict", "window": 2}, {"score_cap": exact(5)}]


def balls(model: Model, ids: list[int], block: int) -> Any:
    held: list[Any] = []

    def note(step: Step) -> Any:
        if step.name == f"blocks.{block}.attn.pattern":
            held.append(step.values)
        return step.values

    through(model, ids, ArbArithmetic(200), range(block + 1), note=note)
    return held[0]


def worst(model: Model, block: int) -> float:
    """How far a weight is from Arb's, over its radius, at worst."""
    ids, found = np.sort(np.random.default_rng(3).integers(0, 7, (6, 4)), axis=0), 0.0
    true = [balls(model, row.tolist(), block) for row in ids]
    for positions, weights, rows in patterns_at(Prepared(model), ids, block):
        for n, row in enumerate(rows):
            for head, t, j in np.ndindex(weights.shape[1:]):
                off = abs(true[n][head, positions[t], j] - arb(float(weights.mid[row, head, t, j])))
                radius = float(weights.radius[row, head, t, j])
                assert radius < 1e-6
                found = max(found, 0.0 if off == 0 else float(off) / radius if radius else np.inf)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_of_a_batch_enclose_those_of_balls(shape: dict[str, Any]) -> None:
    assert worst(gpt2_shaped("trained", 1, vocabulary=7, **shape), 1) <= 1


def test_a_smaller_radius_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parts of Lemma 37 are needed: what rounding does, and how far scores move."""
    radii = together.weight_radii
    for factor in (0.0, 1e-6):
        monkeypatch.setattr(together, "weight_radii", lambda shares, factor=factor: radii(shares) * factor + 1e-300)
        assert worst(gpt2_shaped("trained", 1, vocabulary=7), 1) > 1


def told(report: PatternReport) -> tuple[Any, ...]:
    failures = [(failure.tokens, failure.verdict, failure.weight and failure.weight[0]) for failure in report.failures]
    return report.counts, failures, report.sequences, report.passes


@pytest.mark.parametrize("seed", range(8))
def test_batches_say_what_single_sequences_say(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    model = random_model(rng, epsilon=exact("1e-5"), blocks=2, dims=(2, 4))
    place, sign = rng.choice(("previous", "itself", "first", "2 back")), rng.choice((">=", "<="))
    claim = PatternClaim.read(f"0.0 {place} {sign} 0.4", model.config)
    many = prove_pattern(model, claim, 3, workers=1)
    monkeypatch.setattr(Looking, "together", False)
    single = prove_pattern(model, claim, 3, workers=1)
    assert told(many) == told(single)
    if single.nearest is None:
        assert many.nearest is None
    else:
        assert many.nearest is not None
        assert float(many.nearest[2]) == pytest.approx(float(single.nearest[2]), abs=1e-9)
        assert float(many.nearest[2]) <= float(single.nearest[3])
        assert float(many.nearest[3]) >= float(single.nearest[2])


def test_a_journal_goes_on_and_belongs_to_its_claim(tmp_path: Path) -> None:
    model, path = load("induction").model, tmp_path / "pattern.journal"
    claim = PatternClaim.read("0.0 previous >= 0.99", model.config)
    whole = prove_pattern(model, claim, 6, workers=1, journal=path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) > 4
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # killed while it wrote
    heard: list[int] = []
    again = prove_pattern(model, claim, 6, workers=1, journal=path, progress=lambda done, total: heard.append(done))
    assert (again, heard[0] > 0) == (whole, True)
    for other in ("0.0 previous >= 0.98", "0.0 previous <= 0.99", "1.0 previous >= 0.99", "0.0 2 back >= 0.99"):
        with pytest.raises(JournalError, match="another proof"):
            prove_pattern(model, PatternClaim.read(other, model.config), 6, workers=1, journal=path)


CHANGES: list[tuple[str, Any]] = [
    ("counts", {"proved": 0, "refuted": 0, "undecided": 0}), ("counts", {"proved": 15, "refuted": 1, "undecided": 0}),
    ("failed", [1]), ("failed", None), ("failed", [[99, "refuted"]]), ("failed", [[0, "refuted", 1, "0", "1"]]),
    ("nearest", [99, 1, "0", "1"]), ("nearest", [0, 0, "0", "1"]),
    ("nearest", [0, 1, "1", "0"]), ("nearest", [0, 1, 0, 1]), ("nearest", [0, 1, "2", "3"]), ("first", 1), ("first", 99),
    ("asked", "0"), ("sequences", 15),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), CHANGES)
def test_results_that_cannot_be_are_refused(field: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, path = load("induction").model, tmp_path / "pattern.journal"
    claim = PatternClaim.read("0.0 previous >= 0.99", model.config)
    call = Looking.__call__
    monkeypatch.setattr(Looking, "__call__", lambda self, batch: call(self, batch) | {field: value})
    with pytest.raises(ValueError, match=r"."):
        prove_pattern(model, claim, 2, workers=1)
    monkeypatch.undo()
    assert prove_pattern(model, claim, 2, workers=1, journal=path).verdict == "proved"


@pytest.mark.parametrize(
    "failed",
    [[0, "proved", 1, "0", "1"], [0, "undecided", 1, "0", "1"], [0, "refuted", 0, "0", "1"], [0, "refuted", 1, "1", "0"],
     [0, "refuted", 1, "2", "3"], [0, "refuted", "1", "0", "1"], [0, "refuted", 1], [0, None]],
)  # fmt: skip
def test_weights_that_cannot_refute_are_not_read(failed: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = load("induction").model
    call = Looking.__call__

    def changed(self: Looking, batch: Any) -> Any:
        said = call(self, batch)
        return said | {"counts": {"proved": 15, "refuted": 1, "undecided": 0}, "failed": [failed]}

    monkeypatch.setattr(Looking, "__call__", changed)
    with pytest.raises(ValueError, match=r"."):
        prove_pattern(model, PatternClaim.read("0.0 previous >= 0.99", model.config), 2, workers=1)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("claimed", ["previous >= 0.2", "previous <= 0.2", "itself >= 0.9", "first <= 0.3"])
def test_each_refuted_sequence_is_named_with_a_weight_that_refutes_it(
    claimed: str, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load("capstone").model
    claim = PatternClaim.read(f"0.0 {claimed}", model.config)
    monkeypatch.setattr(Looking, "together", together)
    report = prove_pattern(model, claim, 2, workers=1)
    assert report.verdict == "refuted"
    for failure in report.failures:
        assert failure.verdict == "refuted"
        assert failure.weight is not None
        position, low, high = failure.weight
        weight = load("capstone").trace(failure.tokens)["pattern"][0, position, dict(claim.sources(2, model.config))[position]]
        assert exact(low) <= weight <= exact(high)
        assert exact(high) < claim.bound if claim.at_least else exact(low) > claim.bound


def test_the_report_has_the_width_of_the_terminal_and_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("prove", "capstone", "--length", "2", "--pattern", "0.0 previous >= 0.2")
    monkeypatch.setenv("COLUMNS", "40")
    narrow = run(*asked)
    monkeypatch.setenv("COLUMNS", "200")
    wide = run(*asked)
    assert max(map(len, narrow.stdout.splitlines())) <= 40
    assert "  refuted: at position 1 of a a the weight is at most 0.119202922023" in wide.stdout.splitlines()
    assert wide.stdout.splitlines()[0].endswith("where it sees such a token.")


def test_processes_give_the_same_report() -> None:
    model = load("induction").model
    claim = PatternClaim.read("1.0 previous >= 0.2", model.config)
    assert prove_pattern(model, claim, 6, workers=2) == prove_pattern(model, claim, 6, workers=1)


def test_some_of_the_trials() -> None:
    results = list(trial.trials(1, seed=1))
    assert [result.failed for result in results] == [[]]
    assert sum(result.claims for result in results) >= 20
    assert all(result.counts["proved"] and result.counts["refuted"] for result in results)


def test_the_command_keeps_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "pattern.journal"
    asked = ("prove", "induction", "--pattern", "0.0 previous >= 0.99", "--length", "3", "--workers", "1", "--format", "json")
    done = run(*asked, "--journal", str(path))
    assert (done.returncode, json.loads(done.stdout)["counts"]) == (0, {"proved": 64, "refuted": 0, "undecided": 0})
    again = run(*asked, "--journal", str(path))
    assert again.stdout == done.stdout
    assert "resuming: 64 of 64" in again.stderr
    assert "is not the journal of a proof" in refused(*asked, "--journal", __file__)
    assert "does not go with --cluster" in refused(*asked, "--cluster", "tcp://localhost:1")
