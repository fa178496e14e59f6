"""Flash attention and the KV cache compute what the plain pass computes: proved; and a forgotten rescaling is refuted."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from exactformer.model import Model, forward
from exactformer.model.cache import Cache
from exactformer.model.weights import rebuilt_weights
from exactformer.numbers import Exact, Named, exact
from exactformer.numbers.enclosure import ball
from exactformer.trace import Trace, run, schedules
from exactformer.trace.compare import ALGEBRAIC, CONGRUENT
from exactformer.trace.schedules import Schedule, flash, kv_cache, online_row
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


# -- two blocks with norms and MLPs
def deep(seed: int, length: int = 4) -> Trace:
    rng = random.Random(seed)
    model = random_model(
        rng, dims=(4,), blocks=2, heads=2, mask=rng.choice(("causal", "strict")), norm=rng.choice(("pre", "post")), mlp=4
    )
    return run(model, random_tokens(rng, model, length))


@pytest.mark.parametrize("seed", range(12))
def test_what_reads_equal_values_is_equal(seed: int) -> None:
    """The same operation on equal values: no algebra is asked, and an MLP or a second block is no harder than the first."""
    trace = deep(seed)
    result = kv_cache(trace)
    assert result.verdict is True
    assert {d.how for d in result.compared} <= {CONGRUENT, ""}
    assert flash(trace, 2).verdict is True


def test_the_report_says_how_it_was_proved() -> None:
    trace = deep(1)
    assert {d.how for d in kv_cache(trace).compared} == {CONGRUENT, ""}  # the rational ones need no reason
    assert ALGEBRAIC in {d.how for d in flash(trace, 2).compared}


# -- negative controls: a schedule with a fault is not proved, wherever the fault is and however small
def really_equal(result: Schedule) -> bool:
    """By balls of 600 bits, without any proof."""
    pairs = [pair for d in result.compared for pair in zip(d.left.values.flat, d.right.values.flat, strict=True)]  # type: ignore[union-attr]
    return all(
        ball(a, 600).overlaps(ball(b, 600)) for a, b in pairs if isinstance(a, Exact | Named) and isinstance(b, Exact | Named)
    )


def swapped(rows: Any) -> Any:
    order = [1, 0, *range(2, rows.shape[1])] if rows.shape[1] > 1 else [0]
    return rows[:, order]


@pytest.mark.parametrize("which", ["keys", "values"])
@pytest.mark.parametrize("seed", range(6))
def test_a_cache_that_mixes_up_positions_is_not_proved(seed: int, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, extended = deep(seed, 3), Cache.extended

    def faulty(self: Cache, name: str, k: Any, v: Any) -> tuple[Any, Any]:
        k, v = extended(self, name, k, v)
        return (swapped(k), v) if which == "keys" else (k, swapped(v))

    monkeypatch.setattr(Cache, "extended", faulty)
    result = kv_cache(trace)
    assert result.verdict is not True or really_equal(result)


@pytest.mark.parametrize(
    ("seed", "change"), [*((seed, "1/7") for seed in range(6)), *((seed, "1e-60") for seed in range(6)), (0, "1e-200")]
)
def test_a_pass_with_another_weight_is_not_proved(seed: int, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, rng = deep(seed, 3), random.Random(seed)
    values = dict(trace.model.weights.named())
    name = rng.choice(sorted(values))
    changed = values[name].copy()
    place = tuple(rng.randrange(n) for n in changed.shape)
    changed[place] = changed[place] + exact(change)
    other = Model(trace.model.config, rebuilt_weights(trace.model.weights, values | {name: changed}))
    monkeypatch.setattr(schedules, "forward", lambda model, *rest: forward(other, *rest))
    result = kv_cache(trace)
    assert result.verdict is not True or really_equal(result)


@pytest.mark.parametrize("fault", ["the value of the key before", "a forgotten rescaling", "a score that is a little off"])
@pytest.mark.parametrize("seed", range(6))
def test_faulty_tiles_are_not_proved(seed: int, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = deep(seed, 3)

    def faulty(scores: Any, v: Any, tile: int, rescale: bool, *rest: Any) -> list[Any]:
        if fault == "the value of the key before":
            v = np.roll(v, 1, axis=0)
        elif fault == "a score that is a little off" and isinstance(scores[-1], Exact | Named):
            scores = np.array([*scores[:-1], scores[-1] + exact("1e-200")], dtype=object)
        return online_row(scores, v, tile, rescale and fault != "a forgotten rescaling", *rest)

    monkeypatch.setattr(schedules, "online_row", faulty)
    result = flash(trace, 1)
    assert result.verdict is not True or really_equal(result)


def test_undefined_rows_are_undefined_in_tiles_too() -> None:
    """A LayerNorm of variance 0: nothing is divided, and whatever reads it is undefined."""
    model = random_model(
        random.Random(0), dims=(2,), blocks=1, norm="pre", epsilon=exact(0), positions="none", mask="causal", mlp=0
    )
    values = dict(model.weights.named())
    level = np.full(values["W_E"].shape, exact(1))
    trace = run(replace(model, weights=rebuilt_weights(model.weights, values | {"W_E": level})), model.config.vocabulary[:2])
    assert flash(trace, 2).verdict is True
