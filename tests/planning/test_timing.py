"""What small things are timed, and what follows from them: with a clock that is real, and with seconds that are made up."""

from __future__ import annotations

import time

import pytest

from exactformer.certificates import Prepared, prove_token
from exactformer.planning import plan
from exactformer.planning.probing import Probe, groups, norm_products
from exactformer.planning.timing import Seconds, block_norms, nodes
from exactformer.worksheets import load, outlined


@pytest.mark.large
def test_a_real_plan_is_of_the_order_of_the_real_pass() -> None:
    """Wide bounds: the machine of a test has other things to do."""
    worksheet, outline = outlined("stories")
    assert outline is not None
    found = plan(worksheet.model, "stories", outline.dtype, 8, 2, clock=time.process_time)
    model = load("stories").model
    ready = Prepared(model)
    ready.prepare()
    ids = list(range(3, 11))
    prove_token(model, ids, prepared=ready)
    start = time.process_time()
    proved = prove_token(model, ids, prepared=ready)
    spent = time.process_time() - start
    assert proved.proved
    assert max(proved.schedule) == found.limbs
    assert spent / 8 < found.time.passes < spent * 8
    assert 0 < found.time.token < found.time.total


@pytest.mark.parametrize("name", ["stories", "llama", "induction"])
def test_a_small_model_has_the_wiring_of_the_large_one(name: str) -> None:
    model = load(name).model
    given = {weight for weight, _ in model.weights.named()}
    probe = Probe.of(model.config, given, "F32", False, time.process_time)
    small, config = probe.model.config, model.config
    for field in ("norm", "norm_kind", "mlp_kind", "activation", "positions", "head_dim", "parallel", "qk_norm", "mask"):
        assert getattr(small, field) == getattr(config, field)
    assert small.heads // small.key_heads == config.heads // config.key_heads
    assert {weight for weight, _ in probe.model.weights.named() if weight.startswith("blocks.")} == {
        weight for weight in given if weight.startswith("blocks.0.")
    }
    parts, _ = probe.seconds(4, 3, 0, False, time.process_time)
    assert parts["attn"] > 0
    assert (parts["mlp"] > 0) == bool(config.mlp)


def test_seconds_are_spread_but_for_what_each_does_alone() -> None:
    both = Seconds(1.0, 8.0) + Seconds(0.5, 4.0) * 2
    assert (both.over(1), both.over(4), both.over(10**9)) == (18.0, 6.0, pytest.approx(2.0))


def test_numbers_of_limbs_to_time_are_few_and_never_more_than_there_are() -> None:
    assert nodes((44, 30, 25, 18, 17, 12, 9, 7, 4, 0, 0)) == [25, 17, 9, 4, 0]
    assert nodes((5, 4, 4)) == [5, 4]


def test_a_norm_counts_alike_whichever_side_is_longer() -> None:
    assert norm_products(64, 256) == norm_products(256, 64) == 64**2 * 256 + 4 * 64**3 // 3
    assert block_norms(load("llama").model.config) > 0


def test_small_models_have_at_most_four_heads_of_keys() -> None:
    config = load("stories").model.config
    assert groups(config, False) <= groups(config, True) <= min(4, config.key_heads)
