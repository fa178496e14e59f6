"""Theorems about patterns and about ablated models, and how large circuits are."""

from __future__ import annotations

import json
import random
from itertools import product

import numpy as np
import pytest
from flint import arb

from cli_runs import refused, run
from exactformer.circuits.matrices import CircuitTable
from exactformer.circuits.sizes import sizes, spectral, top
from exactformer.model import Model
from exactformer.numbers import array, exact
from exactformer.proofs.attending import prove_pattern
from exactformer.proofs.chunks import RunError
from exactformer.proofs.patterns import PatternClaim, PatternReport
from exactformer.proofs.report import Report
from exactformer.render.theorems import nearest_weight
from exactformer.trace import run as traced
from exactformer.worksheets import load
from random_models import random_array, random_model


def weights(model: Model, claim: PatternClaim, length: int) -> list[float]:
    """All weights that a claim speaks of, in floats, from whole passes over every sequence."""
    found = []
    for n in range(1, length + 1):
        for tokens in product(model.config.vocabulary, repeat=n):
            pattern = traced(model, tokens, "float64")[f"blocks.{claim.block}.attn.pattern"].values[claim.head]
            found += [float(pattern[i, j]) for i, j in claim.sources(n, model.config)]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_is_proved_up_to_the_least_weight_and_no_further(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(
        rng, norm="none", final_norm=False, mlp=0, mask=rng.choice(("causal", "strict", "none")), blocks=2, dims=(2, 4)
    )
    place, sign = rng.choice(("previous", "itself", "first")), rng.choice((">=", "<="))
    claim = PatternClaim.read(f"0.0 {place} {sign} 0", model.config)
    found = weights(model, claim, 2)
    if not found:
        return
    worst = min(found) if claim.at_least else max(found)
    for gap, verdict in ((-1e-6, "proved"), (1e-6, "refuted")):
        bound = worst + gap * (1 if claim.at_least else -1)
        asked = PatternClaim.read(f"0.0 {place} {sign} {bound:.12f}", model.config)
        assert prove_pattern(model, asked, 2, workers=1).verdict == verdict


def test_a_weight_that_is_the_bound_itself_is_proved() -> None:
    """Balls cannot tell, exact numbers can."""
    model = random_model(random.Random(0), norm="none", final_norm=False, mlp=0, mask="causal", blocks=1, heads=1, positions="none")
    for sign in (">=", "<="):
        claim = PatternClaim.read(f"0.0 itself {sign} 1", model.config)
        report = prove_pattern(model, claim, 1, workers=1)
        assert report.verdict == "proved"


def test_claims_that_are_none_are_refused() -> None:
    config = load("induction").model.config
    for text in ("", "0.0 previous", "0.0 next >= 1", "9.0 first >= 1", "0.9 first >= 1", "0.0 first >= x", "0.0 first > 1"):
        with pytest.raises(RunError):
            PatternClaim.read(text, config)


def test_the_command_proves_patterns_and_refutes_them() -> None:
    asked = ("prove", "induction", "--length", "2", "--workers", "1", "--format", "json", "--pattern")
    done = run(*asked, "0.0 previous >= 0.99")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "proved")
    done = run(*asked, "0.0 previous <= 0.99")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (1, "refuted")
    assert "does not go with --pattern" in refused(*asked, "0.0 previous >= 1", "--count")
    assert "--format html: goes with --count" in refused(*asked, "0.0 previous >= 1", "--format", "html")


def test_what_is_printed_of_a_weight_is_true_of_it() -> None:
    """Of a weight of some 4e-44 floats prove that it is tiny, and no bare 0 is printed."""
    lines = run("prove", "induction", "--length", "4", "--workers", "1", "--pattern", "1.0 previous >= 0.3").stdout.splitlines()
    near = next(line for line in lines if line.startswith("farthest beyond the bound: "))
    weight, place = near.removeprefix("farthest beyond the bound: at most ").split(", ", 1)
    model = load("induction").model
    tokens = place.removeprefix("at position 3 of ").split()
    true = traced(model, tokens, "arb")["blocks.1.attn.pattern"].values[0][3, 2]
    assert 0 < true < arb(weight)
    assert float(weight) < 1e-30
    assert f"  refuted: {place} the weight is at most {weight}" in lines
    assert "REFUTED: of 256 passes, 208 proved, 48 refuted; the first 10 of 48" in lines
    assert len([line for line in lines if line.startswith("  refuted: ")]) == 10


@pytest.mark.parametrize(
    ("claim", "ends", "said"),
    [
        (">= 0.3", ("0", "1e-34"), "at most 1e-34"), (">= 0.3", ("0.4", "0.5"), "at least 0.4"),
        (">= 0.3", ("0.2", "0.5"), "between 0.2 and 0.5"), ("<= 0.3", ("0.4", "0.5"), "at least 0.4"),
        ("<= 0.3", ("0", "0.1"), "at most 0.1"), (">= 0.3", ("0", "0.3"), "between 0 and 0.3"),
        (">= 0", ("0", "0.5"), "between 0 and 0.5"), (">= 0.3", ("0.3", "0.5"), "at least 0.3"),
        ("<= 0.3", ("0.1", "0.3"), "at most 0.3"), ("<= 0.3", ("0.3", "0.5"), "between 0.3 and 0.5"), (">= 0.3", ("0", "0"), "0"),
    ],
)  # fmt: skip
def test_of_a_weight_the_end_that_settles_the_claim_is_told(claim: str, ends: tuple[str, str], said: str) -> None:
    read = PatternClaim.read(f"0.0 previous {claim}", load("induction").model.config)
    assert nearest_weight(PatternReport(read, 2, 20, 16, nearest=(("a", "b"), 1, *ends))) == said


def test_the_command_proves_that_a_rule_fails_without_a_head() -> None:
    asked = ("prove", "induction", "--length", "3", "--workers", "1")
    done = run(*asked, "--ablate", "blocks.0.attn.head.0=zero", "--claim", "fails")
    assert done.returncode == 0
    assert "Claim: the rule fails for some input: PROVED" in done.stdout.splitlines()
    assert "The rule: 72 sequences proved, 12 sequences refuted, 0 sequences undecided" in done.stdout.splitlines()
    assert "REFUTED" not in done.stdout  # capitals are the verdict on the claim
    assert run(*asked, "--claim", "fails").returncode == 1
    assert run(*asked, "--claim", "nowhere").returncode == 1
    assert "PART=zero" in refused(*asked, "--ablate", "blocks.0.attn.head.0=mean")


@pytest.mark.parametrize(
    ("asked", "counts", "answer"),
    [
        ("fails", (5, 1, 0), "proved"), ("fails", (6, 0, 0), "refuted"), ("fails", (5, 0, 1), "undecided"),
        ("nowhere", (0, 6, 0), "proved"), ("nowhere", (1, 5, 0), "refuted"), ("nowhere", (0, 5, 1), "undecided"),
        ("everywhere", (6, 0, 0), "proved"), ("everywhere", (5, 1, 0), "refuted"), ("everywhere", (5, 0, 1), "undecided"),
    ],
)  # fmt: skip
def test_a_claim_is_answered_by_counts(asked: str, counts: tuple[int, int, int], answer: str) -> None:
    report = Report("", "exact", (), 6, 6, counts=dict(zip(("proved", "refuted", "undecided"), counts, strict=True)), asked=asked)
    assert report.answer == answer


def test_largest_entries_and_norms_are_those_of_numpy() -> None:
    rng = random.Random(1)
    for _ in range(20):
        shape = rng.randint(1, 5), rng.randint(1, 5)
        values = random_array(rng, *shape, entries=("-2", "-1/3", "0", "1/7", "1", "5/2"))
        floats = np.array([[x.to_float() for x in row] for row in values])
        found = spectral(values)
        assert found is not None
        assert float(found.mid()) == pytest.approx(np.linalg.norm(floats, 2), abs=1e-9)
        assert float(found.rad()) < 1e-9
        assert [values.ravel()[n] for n in top(values, 3)] == sorted(values.ravel(), reverse=True)[:3]
        told = sizes(CircuitTable("", "", tuple("abcde"[: shape[0]]), tuple("abcde"[: shape[1]]), values), 1)
        assert told.frobenius.to_float() == pytest.approx(np.linalg.norm(floats))
        assert told.rows.to_float() == pytest.approx(np.abs(floats).sum(axis=1).max())
        assert told.largest[0].value == max(values.ravel())
    assert spectral(array([[exact(0)]])) == 0


def test_the_command_tells_the_sizes_of_circuits() -> None:
    document = json.loads(run("circuits", "induction", "--head", "0.0", "--largest", "2", "--format", "json").stdout)
    assert document["circuits"][0]["norms"]["spectral"] is not None
    assert "Frobenius norm" in run("circuits", "induction", "--head", "1.0", "--largest", "2").stdout
    assert "goes with --largest" in refused("circuits", "induction", "--format", "json")
