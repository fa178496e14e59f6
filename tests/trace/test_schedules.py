"""Flash attention and the KV cache compute what the plain pass computes: proved; and a forgotten rescaling is refuted."""

from __future__ import annotations

import random

import pytest

import exactformer as xf
from exactformer.trace import run
from exactformer.trace.schedules import flash, kv_cache
from random_models import random_model, random_tokens


@pytest.mark.parametrize("tile", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("example", ["length4", "capstone"])
def test_flash_is_proved_for_any_tile(example: str, tile: int) -> None:
    result = flash(xf.load(example).trace(), tile)
    assert result.verdict is True
    assert any("sum" in line.name for line in result.lines)


def test_a_forgotten_rescaling_is_refuted() -> None:
    result = flash(xf.load("length4").trace(), 2, rescale=False)
    assert result.verdict is False
    assert result.compared[0].first == (0, 2, 0)  # the first row whose second tile raises the maximum


@pytest.mark.parametrize("example", ["length4", "capstone"])
def test_the_cache_is_proved(example: str) -> None:
    result = kv_cache(xf.load(example).trace())
    assert result.verdict is True
    assert {d.name for d in result.compared} >= {"blocks.0.attn.pattern", "blocks.0.attn.out"}


@pytest.mark.parametrize("seed", range(8))
def test_random_models(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(
        rng, dims=(2, 3), blocks=1, mask=rng.choice(("causal", "strict")), activation="relu", positions="table", scale="none"
    )
    trace = run(model, random_tokens(rng, model, 3))
    assert flash(trace, 2).verdict is True
    assert kv_cache(trace).verdict is True


def test_the_cache_of_a_model_without_a_mask_is_refuted() -> None:
    """Earlier positions would have had to read later ones."""
    model = random_model(random.Random(3), dims=(2,), blocks=1, mask="none", norm="none", final_norm=False, positions="none", mlp=0)
    trace = run(model, model.config.vocabulary[:2])
    assert kv_cache(trace).verdict is False
