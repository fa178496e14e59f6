"""What the scout expects of a model, which proves nothing, but saves passes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.gpt2_random import KINDS, Shape, gpt2_model, random_tensors

from exactformer.certificates import Prepared, prove_token
from exactformer.certified import CertifiedArithmetic
from exactformer.certified.scheduling import Growth, Outlook

SHAPE = Shape(blocks=4, dim=64, heads=4, vocabulary=500, positions=128)


@pytest.mark.parametrize("kind", KINDS)
def test_prompts_that_were_never_seen_take_one_pass_as_a_rule(kind: str) -> None:
    prepared = Prepared(gpt2_model(random_tensors(kind, SHAPE), SHAPE))
    prepared.prepare()
    assert prepared.outlook is not None
    found = []
    for seed in range(24):
        random = np.random.default_rng(seed)
        ids = random.integers(0, SHAPE.vocabulary, random.integers(1, 100)).tolist()
        found.append(prove_token(prepared.model, ids, prepared=prepared))
    assert all(each.proved for each in found)
    assert sum(each.attempts == 1 for each in found) >= 20
    assert max(each.attempts for each in found) <= 3


def test_growth_rises_with_the_length() -> None:
    prepared = Prepared(gpt2_model(random_tensors("trained-like", SHAPE), SHAPE))
    prepared.prepare()
    assert prepared.outlook is not None
    lengths = [growth.length for growth in prepared.outlook.growths]
    assert lengths == [1, 2, 4, 8, 16, 32]
    totals = [sum(growth.halves) for growth in prepared.outlook.growths]
    assert totals[0] + 2 < totals[-1]
    assert all(a <= b + 1 for a, b in pairwise(totals))
    assert totals[-1] <= sum(prepared.outlook._growth(100).halves) < 2 * totals[-1]


def test_a_schedule_tapers_and_more_digits_need_more_limbs() -> None:
    outlook = Outlook((Growth(8, (10.0,) * 6, (0.0,) * 6), Growth(64, (14.0,) * 6, (0.0,) * 6)), -2.0)
    short, long, fine = outlook.schedule(8, -2.0), outlook.schedule(9, -2.0), outlook.schedule(8, -100.0)
    assert short == tuple(sorted(short, reverse=True))
    assert short[-1] == 0 < short[0]
    assert all(a <= b for a, b in zip(short, long, strict=True))
    assert short < long
    assert outlook.schedule(64, -2.0) == long < outlook.schedule(1000, -2.0)
    assert min(fine) > 4


def test_attention_and_mlp_have_limbs_of_their_own() -> None:
    ops = CertifiedArithmetic(schedule=(9, 8, 7, 6, 5))
    parts = [
        "blocks.0.ln1",
        "blocks.0.attn.W_Q+blocks.0.attn.W_K",
        "blocks.0.ln2",
        "blocks.0.mlp.W_in",
        "blocks.1.attn",
        "blocks.1.mlp",
    ]
    assert [ops.limbs_at(part) for part in parts] == [9, 9, 8, 8, 7, 6]
    assert {ops.limbs_at(part) for part in ("blocks.2.attn", "ln_final", "W_E.T")} == {5}
