"""The one wiring on two arithmetics: every step in float64 agrees with the exact pass within float error."""

from __future__ import annotations

import random

import numpy as np
import pytest

from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Undefined, exact
from exactformer.trace import Trace, run
from random_models import random_model, random_tokens


def as_float(value: object) -> float:
    if value is MASKED:
        return -np.inf
    return np.nan if isinstance(value, Undefined) else value.to_float()  # type: ignore[attr-defined]


def agree(proved: Trace, floats: Trace, tolerance: float) -> int:
    compared = 0
    for ours, theirs in zip(proved.steps, floats.steps, strict=True):
        assert (ours.name, ours.reads) == (theirs.name, theirs.reads)
        if ours.op == "argmax":
            continue
        expected = np.array([as_float(v) for v in ours.values.flat]).reshape(ours.values.shape)
        np.testing.assert_allclose(theirs.values, expected, rtol=tolerance, atol=tolerance, err_msg=ours.name)
        compared += expected.size
    return compared


@pytest.mark.parametrize("seed", range(40))
def test_models_without_norm(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng, norm="none", final_norm=False)
    tokens = random_tokens(rng, model)
    assert agree(run(model, tokens), run(model, tokens, "float64"), 1e-9) > 0


@pytest.mark.parametrize("seed", range(40))
def test_models_with_norm(seed: int) -> None:
    """ε is not small here: next to variance 0 a LayerNorm magnifies float errors without bound."""
    rng = random.Random(seed)
    model = random_model(rng, norm=rng.choice(("pre", "post")), epsilon=exact("1/100"), blocks=2)
    tokens = random_tokens(rng, model)
    assert agree(run(model, tokens), run(model, tokens, "float64"), 1e-7) > 0


def test_float32_is_coarser() -> None:
    model = random_model(random.Random(5), norm="none", final_norm=False)
    proved, single = run(model, "a b"), run(model, "a b", "float32")
    assert single.logits.dtype == np.float32
    agree(proved, single, 1e-4)
    assert not any(out.proved for out in single.output)
