"""A theorem about a network that is read from a folder, on its whole domain; its smallest margin is known by a formula."""

from __future__ import annotations

import pytest

import exactformer as xf
from exactformer.model import Model
from exactformer.proofs.theorem import Report
from sorter import INPUTS, LENGTH, least_lead, sorter


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return xf.load(sorter(tmp_path_factory.mktemp("models") / "sorter")).model


@pytest.fixture(scope="module", params=["arb", "certified"])
def report(request: pytest.FixtureRequest, model: Model) -> Report:
    """By two arithmetics, which share nothing but the wiring of the model."""
    inputs = xf.Sequences(("0", "1", "2"), LENGTH, LENGTH)
    return xf.prove(model, inputs, xf.Sorted(LENGTH, "012"), steps=LENGTH, arithmetic_name=request.param, workers=2)


def test_all_inputs_are_sorted(report: Report) -> None:
    assert report.counts == {"proved": len(INPUTS), "refuted": 0, "undecided": 0}


def test_the_smallest_margin_and_where_it_is(report: Report) -> None:
    kind = report.kinds["sorted"]
    assert kind.margin is not None
    assert float(kind.margin) == pytest.approx(least_lead(), rel=1e-6)  # weights are float32, and others are seen a little
    assert len(set(kind.at)) == 1


def test_a_false_claim_about_it_is_refuted(model: Model) -> None:
    """Sorting downwards: refuted wherever the letters are not all the same."""
    inputs = [tuple("210"), tuple("000"), tuple("112")]
    report = xf.prove(model, inputs, xf.Sorted(LENGTH, "210"), steps=LENGTH, arithmetic_name="arb", workers=1)
    assert report.counts == {"proved": 1, "refuted": 2, "undecided": 0}
    assert {failure.tokens[:LENGTH] for failure in report.failures} == {inputs[0], inputs[2]}
