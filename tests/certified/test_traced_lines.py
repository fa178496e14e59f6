"""A certified trace has every line that the wiring has, and each line holds what balls of Arb say."""

from __future__ import annotations

from typing import Any

import pytest
from small_models import FAMILIES, family

from exactformer.arithmetics import arithmetic
from exactformer.certified.arithmetic import CertifiedArithmetic
from exactformer.certified.ball import Ball
from exactformer.model import Model, forward
from exactformer.numbers.enclosure import precision

IDS = [1, 2, 3, 4, 5]


def steps(model: Model, ops: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def note(step: Any) -> Any:
        found[step.name] = step.values
        return step.values

    forward(model, IDS, ops, note)
    return found


@pytest.mark.parametrize("schedule", [(0,), (5,)])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_line_is_there_and_holds_the_truth(name: str, schedule: tuple[int, ...]) -> None:
    model = family(name)
    certified = steps(model, CertifiedArithmetic(schedule=schedule, traced=True))
    with precision(300):
        true = steps(model, arithmetic("arb"))
        assert set(certified) == set(true)
        for line, ball in certified.items():
            if isinstance(ball, Ball):
                entries = ball.balls()
                assert entries.shape == true[line].shape, line
                assert all(entry.contains(x) for entry, x in zip(entries.flat, true[line].flat, strict=True)), line
                assert min(float(entry.rad()) for entry in entries.flat) < 1e-6, line
