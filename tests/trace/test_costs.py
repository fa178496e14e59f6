"""What a pass costs: the figures of the lesson, and polynomials that agree with counts at lengths they were not made from."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import pytest
from benchmarks.trials import llamas
from number_by_number import NumberByNumber

import exactformer as xf
from exactformer.model import Config, Model
from exactformer.model.arithmetics.counting import KINDS
from exactformer.numbers import exact
from exactformer.trace import costs as counting
from exactformer.trace.costs import _backward, _blank, _decoding, _forward, costs
from random_models import random_model


def stage(name: str, length: int, head_dim: int | None = None) -> dict[str, int]:
    forward = costs(xf.load("length4").model, (length,), 2, head_dim)[0]
    return forward.stages[name][length]


def test_the_figures_of_the_lesson() -> None:
    assert stage("attn.qk", 4)["multiplications"] == 64
    assert stage("attn.qk", 32)["multiplications"] == 4_096
    assert stage("attn.qk", 2_048, 64)["multiplications"] == 268_435_456
    assert stage("attn.scores", 4)["multiplications"] == 16


def test_a_causal_softmax_takes_fewer_exponentials_than_the_lesson_says() -> None:
    pattern = stage("attn.pattern", 4)
    assert pattern["exponentials"] == pattern["divisions"] == 4 + 3 + 2 + 1  # not 16
    assert pattern["additions"] == 3 + 2 + 1


@pytest.mark.parametrize("seed", range(6))
def test_polynomials_agree_with_counts_further_out(seed: int) -> None:
    model = random_model(random.Random(seed), dims=(2, 4), blocks=2, mask="causal")
    found = {way.name: way for way in costs(model, (6, 7, 9), 2)}
    ways = {"forward": _forward, "backward": _backward, "decoding with a KV cache": _decoding}
    for name, count in ways.items():
        for length in (7, 9):
            counted = count(_blank(model.config, model, length), length)
            for stage_name, tallies in found[name].stages.items():
                for kind in KINDS:
                    assert tallies[length][kind] == counted[stage_name][kind], (name, stage_name, kind, length)


@pytest.mark.parametrize("seed", range(40))
def test_counts_from_shapes_are_those_of_single_numbers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    model = random_model(rng, dims=(2, 3, 4), blocks=2)
    if seed % 5 == 0:
        weights = replace(model.weights, W_U=None, b_U=None)
        model = Model(replace(model.config, unembedding="none"), weights)
    model = replace(model, config=replace(model.config, stable=seed % 3 == 0, late_mask=seed % 4 == 0))
    ways = [_forward, _backward, *([] if model.config.mask == "none" else [_decoding])]
    agree(model, ways, monkeypatch)


@pytest.mark.parametrize("seed", range(20))
def test_counts_of_llamas_are_those_of_single_numbers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    model = llamas.drawn_model(rng, llamas.drawn_config(rng))
    agree(model, [_forward, _backward, _decoding], monkeypatch)
    found = {way.name: way for way in costs(model, (1, 2, 3, 7, 9), 2)}
    for length in (1, 3, 7, 9):  # shorter than a window, as long, and longer
        counted = _decoding(_blank(model.config, model, length), length)
        for name, tallies in found["decoding with a KV cache"].stages.items():
            assert +tallies[length] == +counted[name]


def agree(model: Model, ways: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for length in (1, 2, 4):
        blank = _blank(model.config, model, length)
        found = [count(blank, length) for count in ways]
        with monkeypatch.context() as patched:
            patched.setattr(counting, "CountingArithmetic", NumberByNumber)
            expected = [count(blank, length) for count in ways]
        assert [{name: +tally for name, tally in counts.items()} for counts in found] == [
            {name: +tally for name, tally in counts.items()} for counts in expected
        ]


def test_a_model_of_the_size_of_gpt2_is_counted_at_once() -> None:
    """12 blocks, 768 wide, 50,257 tokens: a multiplication that was done to be counted would take hours."""
    config = Config(
        vocabulary=("a", "b"), dim=2, heads=2, blocks=12, norm="pre", epsilon=exact("1e-5"), final_norm=True, mask="causal",
        scale="sqrt", positions="table", length=4, mlp=2, activation="gelu_tanh", unembedding="tied",
    )  # fmt: skip
    small = random_model(random.Random(0), config)
    large = replace(config, vocabulary=tuple(map(str, range(50_257))), dim=768, heads=12, head_dim=64, mlp=3072)
    start = time.process_time()
    forward = costs(_blank(large, small, 1024), (8,), 2)[0]
    assert forward.total(8)["multiplications"] > 8 * 123_000_000
    assert forward.stages["logits"][8]["multiplications"] == 8 * 768 * 50_257
    assert time.process_time() - start < 10


def test_decoding_does_each_projection_once() -> None:
    forward, _, decoding, _ = costs(xf.load("length4").model, (5,), 2)
    assert decoding.stages["attn.k"][5] == forward.stages["attn.k"][5]
    assert decoding.stages["attn.qk"][5]["multiplications"] == 4 * (1 + 2 + 3 + 4 + 5)  # no score that the mask would hide


def test_tiles_pay_for_rescaling_with_exponentials() -> None:
    *_, one_tile = costs(xf.load("length4").model, (4,), 4)
    *_, small = costs(xf.load("length4").model, (4,), 1)
    assert one_tile.total(4)["exponentials"] == 10
    assert small.total(4)["exponentials"] == 10 + (0 + 1 + 2 + 3)
