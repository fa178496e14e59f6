"""Certified passes of models of Llama's kind against the independent balls of Arb: every step inside its radius."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.trials.enclosures import arb_steps, worst_ratio
from small_models import FAMILIES, family, moved_embedding

from exactformer.certificates import Prepared, prove_token, prove_tokens
from exactformer.certified import moving
from exactformer.certified.limbs import MOST
from exactformer.certified.moving import Moves
from exactformer.model import ConfigError, Model
from exactformer.model.arithmetics.arb import decide

IDS = [3, 21, 3, 11, 0]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_step_is_inside(name: str) -> None:
    model = family(name)
    peer = arb_steps(model, IDS)
    assert all(0 < worst_ratio(model, IDS, schedule, peer) <= 1 for schedule in ((4,), (0,), (7, 6, 5, 4), (5, 4, 0)))


def moved_ratio(model: Model, size: float, schedule: tuple[int, ...], seed: int = 0) -> float:
    """From embeddings that are somewhere in their balls: those of the moved model, in the radii of the first."""
    peer = arb_steps(moved_embedding(model, seed, size), IDS, 300)
    factor = float(model.config.embedding_factor.to_float())
    return worst_ratio(model, IDS, schedule, peer, size * factor * (1 + 1e-9))


@pytest.mark.parametrize("name", FAMILIES)
def test_what_moves_the_stream_is_followed(name: str) -> None:
    for seed, size in enumerate((1e-9, 1e-4, 1e-2)):
        model = family(name, seed, blocks=1)
        assert all(0 < moved_ratio(model, size, schedule, seed) <= 1 for schedule in ((4,), (0,)))


def test_shared_keys_that_move_only_once_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: radii of keys and values a thousand times too small."""
    full = moving.reach

    def smaller(mixed: Any, seen: Any, factor: float, q: Any, k: Any, v: Any, radii: Any, *rest: Any) -> Any:
        shrunk = tuple(Moves(m.whole * 1e-6, m.heads * 1e-6, m.inner * 1e-6, m.rest * 1e-6, m.normed) for m in radii)
        return full(mixed, seen, factor, q, k, v, shrunk, *rest)

    monkeypatch.setattr(moving, "reach", smaller)
    assert moved_ratio(family("llama", 1, blocks=1), 1e-4, (4,)) > 1


@pytest.mark.parametrize("name", FAMILIES)
def test_tokens_are_those_of_arb_with_keys_kept(name: str) -> None:
    """Three tokens one after the other: the windows, turns and kept keys of each position are those of the whole input."""
    model, ids = family(name, 4), [5, 6, 7]
    for result in prove_tokens(model, ids, 3, prepared=Prepared(model)):
        _, (expected,) = decide(model, list(result.ids), positions=[-1], cap_bits=600)
        assert (result.token, result.proved) == (expected.index, True)
        low, high = result.margin or (Fraction(0), Fraction(0))
        assert float(low) <= float(expected.margin.upper())
        assert float(expected.margin.lower()) <= float(high)


def test_as_many_limbs_as_there_are() -> None:
    model = family("llama", blocks=1)
    peer = arb_steps(model, IDS, 800)
    assert 0 < worst_ratio(model, IDS, (MOST,), peer) <= 1
    result = prove_token(model, IDS, schedule=(MOST,) * 3, cap=MOST)
    assert result.proved
    assert max(float(entry.width) for entry in result.top) < 1e-100


def test_digits_beyond_those_of_fifteen_limbs() -> None:
    model = family("llama", blocks=1)
    assert float(prove_token(model, IDS, digits=80, cap=MOST).top[0].width) < 1e-80


@pytest.mark.parametrize("mistake", ["late_rotary", "mixed_sharing"])
def test_mistakes_are_refused(mistake: str) -> None:
    model = family("llama")
    with pytest.raises(ConfigError, match=f"^{mistake}: certified arithmetic"):
        prove_token(replace(model, config=replace(model.config, **{mistake: True})), IDS)


def test_a_gain_of_one_more_is_exact() -> None:
    """1 + 2^−60 is no float64: the gain is that number, and not 1."""
    from exactformer.certified.constants import one_more

    tiny = one_more(np.array([2.0**-60, 0.5]))
    assert tiny.dtype == object
    assert [x.fraction for x in tiny] == [1 + Fraction(1, 2**60), Fraction(3, 2)]
    assert one_more(np.array([0.25, -3.0], dtype=np.float32)).tolist() == [1.25, -2.0]


def test_a_parallel_block_is_scheduled_by_the_sum_of_its_halves() -> None:
    prepared = Prepared(family("phi"))
    prepared.prepare()
    assert prepared.outlook is not None
    growth = prepared.outlook.growths[-1]
    assert [growth.halves[0], growth.halves[2]] == [0.0, 0.0]
    assert all(math.isfinite(half) and half > 0 for half in growth.halves[1::2])
