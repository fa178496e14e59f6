"""A theorem about a trained network: gpt-nano-sort sorts, on its whole domain."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import exactformer as xf
from exactformer.proofs.theorem import Report

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "gpt-nano-sort" / "hf"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="skipped: ../shared/data/gpt-nano-sort is not there")


@pytest.fixture(scope="module", params=["arb", "certified"])
def report(request: pytest.FixtureRequest) -> Report:
    """By two arithmetics, which share nothing but the wiring of the model."""
    model = xf.load(FOLDER).model
    inputs = xf.Sequences(("0", "1", "2"), 6, 6)
    return xf.prove(model, inputs, xf.Sorted(6, "012"), steps=6, arithmetic_name=request.param, workers=2)


def test_all_729_inputs_are_sorted(report: Report) -> None:
    assert report.counts == {"proved": 729, "refuted": 0, "undecided": 0}


def test_the_smallest_margin_and_where_it_is(report: Report) -> None:
    kind = report.kinds["sorted"]
    assert kind.at == tuple("000200")
    assert kind.margin is not None
    assert Fraction("2.93773") < kind.margin < Fraction("2.93774")


def test_a_false_claim_about_it_is_refuted() -> None:
    """Sorting downwards: refuted wherever the letters are not all the same."""
    model = xf.load(FOLDER).model
    inputs = [tuple("210012"), tuple("000000"), tuple("111112")]
    report = xf.prove(model, inputs, xf.Sorted(6, "210"), steps=6, arithmetic_name="arb", workers=1)
    assert report.counts == {"proved": 1, "refuted": 2, "undecided": 0}
    assert {failure.tokens[:6] for failure in report.failures} == {inputs[0], inputs[2]}
