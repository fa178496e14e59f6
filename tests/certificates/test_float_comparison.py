"""The proved errors of floats, against balls of 400 bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.float_errors import ALLOWED, SIZES, measure
from certify_tools import small_model
from flint import arb

from exactformer.arithmetics import arithmetic
from exactformer.certificates.comparison import compare, step_errors
from exactformer.certified import Ball
from exactformer.certified.limbs import split
from exactformer.model import Model, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.numbers.enclosure import precision

IDS = [3, 4, 5, 39]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return small_model(tmp_path_factory.mktemp("model") / "m")


def _steps(model: Model, ops: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}

    def note(step: Any) -> Any:
        name, value = step.name, step.values
        values[name] = value
        return value

    forward(model, IDS, ops, note)
    return values


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_every_error_of_every_step_lies_between_its_bounds(model: Model, kind: str) -> None:
    (errors,) = compare(model, IDS, [kind])
    true, floats = _steps(model, ArbArithmetic(400)), _steps(model, arithmetic(kind))
    names = [step.name for step in errors.steps]
    assert names[-1] == "logits"
    assert {"embed", "blocks.0.attn.z", "blocks.1.mlp.post", "ln_final.out"} <= set(names)
    with precision(500):
        for step in errors.steps:
            for place in np.ndindex(*step.high.shape):
                error = abs(arb(float(floats[step.name][place])) - true[step.name][place])
                assert error <= arb(float(step.high[place])) or error.overlaps(arb(float(step.high[place]))), (step.name, place)
                assert error >= arb(float(step.low[place])) or error.overlaps(arb(float(step.low[place]))), (step.name, place)
    logits = errors["logits"]
    assert logits.stretch < 1 + 1e-6
    assert float(logits.high[logits.at]) == logits.largest[1]


@pytest.mark.parametrize("size", SIZES)
def test_bounds_are_within_one_percent_of_the_real_error(size: tuple[int, int, int]) -> None:
    for row in measure(size, models=1):
        assert row.bounded == row.logits == size[2] * 16
        assert row.largest <= ALLOWED
        assert row.error > 0


def test_a_single_float_against_a_ball() -> None:
    limbs, exact = split(np.array([[1.0, 0.5, 0.0]]), 6)
    assert exact
    ball = Ball(limbs, 6, np.array([2.0**-60]))
    found = step_errors("x", np.array([[1 + 2.0**-52, 0.5, 2.0**-1060]]), ball, "float64")
    for low, high, error in zip(found.low[0], found.high[0], (Fraction(1, 2**52), Fraction(0), Fraction(1, 2**1060)), strict=True):
        assert max(Fraction(0), error - Fraction(1, 2**60)) >= Fraction(float(low))
        assert error + Fraction(1, 2**60) <= Fraction(float(high)) <= error * 2 + Fraction(1, 2**59)
    assert found.low[0, 0] > 0.99 * 2.0**-52
    assert 1 < found.high[0, 0] / found.unit[0, 0] < 1.01


def test_what_is_no_number_has_no_bound() -> None:
    limbs, _ = split(np.array([[1.0, 2.0, 3.0]]), 6)
    found = step_errors("x", np.array([[np.nan, np.inf, 1e30]], dtype=np.float32), Ball(limbs, 6, np.zeros(1)), "float32")
    assert found.high[0, :2].tolist() == [np.inf, np.inf]
    assert found.low[0, :2].tolist() == [0.0, 0.0]
    true = abs(Fraction(float(np.float32(1e30))) - 3)
    assert Fraction(float(found.low[0, 2])) <= true <= Fraction(float(found.high[0, 2])) < true * Fraction(101, 100)


def test_tokens_are_compared_with_the_proved_ones(model: Model) -> None:
    right, wrong = (compare(model, IDS, ["float64"], proved={3: token})[0] for token in (None, 0))
    token = right.tokens[0][1]
    assert (right.right, wrong.right) == (None, token == 0)
    assert compare(model, IDS, ["float64"], proved={3: token})[0].right is True


def test_growth_is_told_along_the_stream(model: Model) -> None:
    (errors,) = compare(model, IDS, ["float32"])
    assert errors.growth is not None
    before, after, factor = errors.growth
    assert factor == errors[after].relative / errors[before].relative > 1
    assert errors.worst.ulps == max(step.ulps for step in errors.steps)
    for step in errors.steps:
        assert step.high[step.at] == step.largest[1]
        assert step.high[step.ulps_at] / step.unit[step.ulps_at] == pytest.approx(step.ulps, rel=1e-9)
    assert any(step.at != step.ulps_at for step in errors.steps)
