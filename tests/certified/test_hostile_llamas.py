"""Certified passes of drawn and hostile models against Arb, some of those that `python -m benchmarks.trials enclosures` tries."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.trials import enclosures

from exactformer.certified import moving
from exactformer.certified.moving import Moves


@pytest.mark.parametrize("seed", range(3_004, 3_016))
def test_steps_are_inside_and_proved_tokens_are_those_of_arb(seed: int) -> None:
    assert enclosures.tried(seed).failed == ""


def test_radii_that_are_too_small_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    full = moving.reach

    def none(mixed: Any, seen: Any, factor: float, q: Any, k: Any, v: Any, radii: Any, *rest: Any) -> Any:
        still = tuple(
            Moves(*(part if part is None else 0 * part for part in (m.whole, m.heads, m.inner, m.rest)), m.normed) for m in radii
        )
        return full(mixed, seen, factor, q, k, v, still, *rest)

    monkeypatch.setattr(moving, "reach", none)
    assert any("radii" in enclosures.tried(seed).failed for seed in range(3_000, 3_100))
