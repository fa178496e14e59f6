"""What ordinary models do not have: numbers near the ends of float64, short floats, infinite radii, schedules that change."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.trials.enclosures import arb_steps, worst_ratio
from flint import arb, fmpq
from gpt2_files import small_tensors, write_folder
from small_models import gpt2_shaped, moved_model

from exactformer.certificates import Prepared, prove_token
from exactformer.certified import Ball, CertifiedArithmetic, OutOfRangeError
from exactformer.certified.choosing import choose_row
from exactformer.certified.normalising import reach
from exactformer.checkpoints import open_checkpoint
from exactformer.model import Model, forward
from exactformer.model.arithmetics.arb import decide
from exactformer.model.cache import Cache
from exactformer.numbers import exact
from exactformer.numbers.enclosure import precision

IDS = [3, 96, 3, 41, 0]


def with_block(model: Model, **parts: dict[str, Any]) -> Model:
    """With other weights in the last block."""
    last = model.weights.blocks[-1]
    last = replace(last, **{name: replace(getattr(last, name), **weights) for name, weights in parts.items()})
    return replace(model, weights=replace(model.weights, blocks=(*model.weights.blocks[:-1], last)))


@pytest.mark.parametrize("dtype", ["BF16", "F16"])
def test_checkpoints_in_short_floats_are_proved(dtype: str, tmp_path: Path) -> None:
    """The weights are the numbers that the file holds: BF16 is the upper half of a float32, not one rounded again."""
    tensors = small_tensors()
    if dtype == "BF16":
        tensors = {name: (values.view(np.uint32) >> 16).astype(np.uint16) for name, values in tensors.items()}
    model = open_checkpoint(write_folder(tmp_path, tensors=tensors, dtype=dtype)).model
    held = model.weights.blocks[0].mlp.W_in
    source = small_tensors()["h.0.mlp.c_fc.weight"]
    same = (source.view(np.uint32) & 0xFFFF0000).view(np.float32) if dtype == "BF16" else source.astype(np.float16)
    assert np.array_equal(held.astype(np.float64), same.astype(np.float64))
    ids = [0, 2, 1]
    result = prove_token(model, ids)
    _, (expected,) = decide(model, ids, positions=[-1])
    assert (result.token, result.proved) == (expected.index, True)
    peer = arb_steps(model, ids)
    assert all(0 < worst_ratio(model, ids, schedule, peer) <= 1 for schedule in ((5,), (0,)))


def token_errors(kept: Ball, whole: Any, peer: Any) -> list[float]:
    """The error of each position over all heads, over its radius."""
    mids = kept.at(0)
    with precision(600):
        apart = [
            sum(((arb(fmpq(m.numerator, m.denominator)) - p).abs_upper() ** 2 for m, p in zip(a, b, strict=True)), arb(0))
            for a, b in zip(mids.transpose(1, 0, 2).reshape(len(mids[0]), -1), peer.transpose(1, 0, 2).reshape(len(mids[0]), -1),
                            strict=True)
        ]  # fmt: skip
        return [float(a.abs_upper().sqrt()) / float(r) for a, r in zip(apart, whole, strict=True)]


@pytest.mark.parametrize(("first", "second"), [((7,), (4,)), ((7, 7, 7), (0,)), ((0,), (5,)), ((5,), (8, 6, 0))])
def test_keys_of_one_schedule_serve_another(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """A radius is that of a token over all heads; the first head alone says nothing of the others, least of all when it is 0."""
    model = gpt2_shaped("trained", 3, blocks=1)
    attn = model.weights.blocks[0].attn
    quiet = {name: np.concatenate([0 * getattr(attn, name)[:1], getattr(attn, name)[1:]]) for name in ("W_K", "b_K", "W_V", "b_V")}
    model = with_block(model, attn=quiet)
    peer, cache = arb_steps(model, IDS), Cache()
    for ids, schedule in ((IDS[:4], first), (IDS[4:], second)):
        logits = forward(model, ids, CertifiedArithmetic(schedule=schedule), _kept, cache)
    for letter, kept in zip("kv", cache.held["blocks.0.attn"], strict=True):
        assert max(token_errors(kept[0], kept[1].whole, peer[f"blocks.0.attn.{letter}"])) <= 1
    balls = logits.balls()[0]
    with precision(600):
        assert all(bool(ball.overlaps(true)) for ball, true in zip(balls, peer["logits"][-1], strict=True))


def _kept(step: Any) -> Any:
    return step.values


def test_a_pass_that_ends_early_leaves_no_keys_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    model, cache = gpt2_shaped("trained", 4), Cache()
    prepared = Prepared(model)
    prove_token(model, [5, 6, 7], prepared=prepared, cache=cache, schedule=(6,) * 5)
    with monkeypatch.context() as patched:

        def beyond(self: Any, x: Any, weights: Any, config: Any, name: str, *rest: Any) -> Any:
            raise OutOfRangeError("a value beyond 2^20")

        patched.setattr(CertifiedArithmetic, "mlp", beyond)
        assert not prove_token(model, [5, 6, 7, 9], prepared=prepared, cache=cache, cap=6, schedule=(6,) * 5).proved
    assert cache.ids == (5, 6, 7)
    assert cache.held["blocks.0.attn"][0][0].shape[1] == 3
    again = prove_token(model, [5, 6, 7, 9, 10], cache=cache, schedule=(6,) * 5)
    whole = prove_token(model, [5, 6, 7, 9, 10], schedule=(6,) * 5)
    assert again.token == whole.token
    assert all(a.low <= b.high and b.low <= a.high for a, b in zip(again.top, whole.top, strict=True))


def test_norms_whose_squares_underflow() -> None:
    """Weights of 10^−170, then of 10^150, and a stream that moves: the squares of the first are 0 in floats, their norm is not."""
    model = gpt2_shaped("trained", 3, blocks=1, dtype=np.float64, activation="identity")
    mlp = model.weights.blocks[0].mlp
    model = with_block(model, mlp={"W_in": mlp.W_in * 1e-170, "W_out": mlp.W_out * 1e150, "b_in": None, "b_out": None})
    size, name = 1e-3, "blocks.0.mlp.out"
    steps = arb_steps(moved_model(model, 1, size, len(IDS)), IDS, 1200)
    assert 0 < worst_ratio(model, IDS, (0,), {name: steps[name]}, size) <= 1


def test_a_layer_norm_whose_squares_overflow() -> None:
    """A row of 10^160 has a norm, though not in floats: what is divided by it is unknown, not 0."""
    assert reach(np.ones(1), np.array([math.inf]), 4, exact("1e-5").fraction)[0] == math.inf


def test_a_factor_of_scores_that_is_less_than_its_last_limb() -> None:
    model = gpt2_shaped("trained", 3, blocks=1, heads=1, scale=exact("1/50000000000000000000000000"))
    attn = model.weights.blocks[0].attn
    model = with_block(model, attn={name: getattr(attn, name) * np.float32(3000) for name in ("W_Q", "W_K")})
    assert 0 < worst_ratio(model, IDS, (4,), arb_steps(model, IDS)) <= 1


@pytest.mark.parametrize("schedule", [(0,), (4,), (5, 0, 0)])
@pytest.mark.parametrize("radius", [1e306, math.inf, math.nan])
def test_what_is_not_finite_is_never_decided(schedule: tuple[int, ...], radius: float) -> None:
    """An infinite radius, or none, at the second position: the first is as before, nothing after it is claimed, no word of it."""
    model = gpt2_shaped("trained", 3, activation="relu")
    ops = CertifiedArithmetic(schedule=schedule, traced=True)

    def note(step: Any) -> Any:
        name, value = step.name, step.values
        if name != "blocks.0.resid_pre":
            return value
        return replace(value, radius=np.where(np.arange(len(value)) == 1, radius, value.radius))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logits = forward(model, IDS[:3], ops, note)
        assert not np.isfinite(logits.spread()[1:]).any()
        assert not any(choose_row(logits, t).proved for t in (1, 2))
        assert not any(ball.is_finite() for ball in logits.balls()[1:].ravel())
        assert all(ball.rad() >= 1 for ball in ops.softmax(logits[1:]).balls().ravel())


@pytest.mark.parametrize("radius", [math.inf, math.nan])
def test_a_logit_without_a_radius_is_a_rival(radius: float) -> None:
    for n, mid in ((0, np.array([[5.0, 0.0]])), (4, np.concatenate([[[[5.0, 0.0]]], np.zeros((3, 1, 2))]))):
        for place in range(2):
            radii = np.zeros((1, 2))
            assert choose_row(Ball(mid, n, radii), 0).index == 0
            radii[0, place] = radius
            assert not choose_row(Ball(mid, n, radii), 0).proved
    assert not choose_row(Ball(np.array([[math.nan, 0.0]]), 0, np.zeros((1, 2))), 0).proved
