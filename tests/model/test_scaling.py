"""Gradients that are 0 because a LayerNorm ignores the scale: proved by the lemma, confirmed by balls."""

import random
from dataclasses import replace

import pytest

from exactformer.model import BlockWeights
from exactformer.model.invariance import scale_free
from exactformer.numbers import Exact, Named, exact
from exactformer.numbers.arrays import zeros
from exactformer.numbers.enclosure import may_be
from exactformer.trace import gradient, run
from random_models import random_model, random_tokens

POST = {"norm": "post", "epsilon": exact(0), "mlp": 3, "activation": "relu", "unembedding": "tied", "residual": True}


def _models(**fixed: object):
    """Random models without biases, which a factor does not pass through."""
    rng = random.Random(str(fixed))
    for _ in range(20):
        model = random_model(rng, **fixed)
        blocks = tuple(_unbiased(block, model.config.dim) for block in model.weights.blocks)
        yield replace(model, weights=replace(model.weights, blocks=blocks)), random_tokens(rng, model)


def _unbiased(block: BlockWeights, dim: int) -> BlockWeights:
    mlp = None if block.mlp is None else replace(block.mlp, b_in=None, b_out=None)
    norms = {name: replace(getattr(block, name), b=zeros(dim)) for name in ("ln1", "ln2") if getattr(block, name) is not None}
    return replace(block, mlp=mlp, **norms)


def test_the_gradient_of_a_deviation_is_zero_wherever_the_lemma_says_so() -> None:
    seen = 0
    for model, tokens in _models(**POST):
        trace = run(model, tokens)
        if any(out.token is None for out in trace.output) or not scale_free("blocks.0.ln1.out", trace.computed):
            continue
        # The lemma against the rule that it stands for: −Σ g w x / s², from the parts that the trace holds.
        steps = gradient(trace, tokens)
        g, out = steps["grad.blocks.0.ln1.out"].values, trace["blocks.0.ln1.out"].values
        for row_g, row in zip(g, out, strict=True):
            euler = sum((a * b for a, b in zip(row_g, row, strict=True)), exact(0))
            assert isinstance(euler, Exact | Named)
            assert euler.value == 0 if isinstance(euler, Exact) else may_be(euler, exact(0).value, 2000)
            seen += 1
    assert seen > 12


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": exact("1e-5")},
        {"norm": "pre", "final_norm": False},
        {"activation": "gelu"},
        {"mlp": 0, "final_norm": False, "blocks": 1},
    ],
)
def test_what_sees_the_scale_is_not_called_scale_free(change: dict[str, object]) -> None:
    asked = 0
    for model, tokens in _models(**(POST | change)):
        trace = run(model, tokens, "float64")
        source = "blocks.0.ln1.out"
        assert not scale_free(source, trace.computed)
        asked += 1
    assert asked == 20


def test_a_rational_that_is_a_ball_away_is_refuted() -> None:
    from exactformer.numbers import sqrt

    near = exact("1.4142135623730950488016887242096980785696718753769480731766797379907324784621").value
    assert not may_be(sqrt(2), near, 1024)
    assert may_be(sqrt(2), near, 64)
