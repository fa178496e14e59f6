"""A theorem about a trained network: gpt-nano-sort sorts, on its whole domain."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import exactformer as xf
from exactformer.proofs.theorem import Report

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "gpt-nano-sort" / "hf"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="skipped: ../shared/data/gpt-nano-sort is not there")


def proved(arithmetic: str, inputs: Any) -> Report:
    return xf.prove(xf.load(FOLDER).model, inputs, xf.Sorted(6, "012"), steps=6, arithmetic_name=arithmetic, workers=2)


@pytest.mark.parametrize("arithmetic", ["arb", "certified"])
def test_some_inputs_are_sorted_by_two_arithmetics(arithmetic: str) -> None:
    """They share nothing but the wiring of the model. Every 60th input, and the one with the smallest margin."""
    inputs = [*list(product("012", repeat=6))[::60], tuple("000200")]
    report = proved(arithmetic, inputs)
    assert report.counts == {"proved": len(inputs), "refuted": 0, "undecided": 0}
    _check_the_smallest_margin(report)


@pytest.mark.large
@pytest.mark.parametrize("arithmetic", ["arb", "certified"])
def test_all_729_inputs_are_sorted(arithmetic: str) -> None:
    report = proved(arithmetic, xf.Sequences(("0", "1", "2"), 6, 6))
    assert report.counts == {"proved": 729, "refuted": 0, "undecided": 0}
    _check_the_smallest_margin(report)


def _check_the_smallest_margin(report: Report) -> None:
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
