"""What a pass costs: the figures of the lesson, and polynomials that agree with counts at lengths they were not made from."""

from __future__ import annotations

import random

import pytest

import exactformer as xf
from exactformer.model.counting import KINDS
from exactformer.trace.budget import _backward, _blank, _decoding, _forward, budgets
from random_models import random_model


def stage(name: str, length: int, head_dim: int | None = None) -> dict[str, int]:
    forward = budgets(xf.load("length4").model, (length,), 2, head_dim)[0]
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
    found = {budget.name: budget for budget in budgets(model, (6, 7, 9), 2)}
    ways = {"forward": _forward, "backward": _backward, "decoding with a KV cache": _decoding}
    for name, count in ways.items():
        for length in (7, 9):
            counted = count(_blank(model.config, model, length), length)
            for stage_name, tallies in found[name].stages.items():
                for kind in KINDS:
                    assert tallies[length][kind] == counted[stage_name][kind], (name, stage_name, kind, length)


def test_decoding_does_each_projection_once() -> None:
    forward, _, decoding, _ = budgets(xf.load("length4").model, (5,), 2)
    assert decoding.stages["attn.k"][5] == forward.stages["attn.k"][5]
    assert decoding.stages["attn.qk"][5]["multiplications"] == 4 * (1 + 2 + 3 + 4 + 5)  # no score that the mask would hide


def test_tiles_pay_for_rescaling_with_exponentials() -> None:
    *_, one_tile = budgets(xf.load("length4").model, (4,), 4)
    *_, small = budgets(xf.load("length4").model, (4,), 1)
    assert one_tile.total(4)["exponentials"] == 10
    assert small.total(4)["exponentials"] == 10 + (0 + 1 + 2 + 3)
