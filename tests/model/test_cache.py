"""A cache serves the model, the tokens and the arithmetic that it was made with, and no other."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from exactformer.arithmetics import arithmetic
from exactformer.certified import CertifiedArithmetic
from exactformer.model import InputError, Model, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.model.cache import Cache
from exactformer.numbers import exact
from exactformer.worksheets import load


def quiet(step: Any) -> Any:
    return step.values


@pytest.fixture
def model() -> Model:
    return load("capstone").model


def longer() -> Model:
    """With room for four tokens, and two blocks."""
    model = load("capstone").model
    table = np.concatenate([model.weights.W_pos, model.weights.W_pos])
    return Model(
        replace(model.config, length=4, blocks=2, epsilon=exact(1)),
        replace(model.weights, W_pos=table, blocks=model.weights.blocks * 2),
    )


@pytest.mark.parametrize("name", ["exact", "arb", "certified", "float64", "float32"])
def test_another_model_is_refused(model: Model, name: str) -> None:
    cache, ops = Cache(), arithmetic(name)
    forward(model, [0], ops, quiet, cache)
    for other in (load("capstone").model, replace(model, config=replace(model.config, mask="strict"))):
        with pytest.raises(InputError, match="another model"):
            forward(other, [1], ops, quiet, cache)
    assert cache.ids == (0,)
    forward(replace(model), [1], ops, quiet, cache)  # the same weights in the same wiring
    assert cache.ids == (0, 1)


def test_another_arithmetic_is_refused(model: Model) -> None:
    cache = Cache()
    forward(model, [0], FloatArithmetic("float64"), quiet, cache)
    for ops in (FloatArithmetic("float32"), ArbArithmetic(64), CertifiedArithmetic(), arithmetic("exact")):
        with pytest.raises(InputError, match="the arithmetic float64"):
            forward(model, [1], ops, quiet, cache)


def test_a_cache_knows_its_tokens(model: Model) -> None:
    cache, ops = Cache(), FloatArithmetic("float64")
    forward(model, [0, 1], ops, quiet, cache)
    assert cache.after([0, 1, 2]) == [2]
    with pytest.raises(InputError, match="position 1: the cache was made with the token 1, the input has 2"):
        cache.after([0, 2, 2])
    with pytest.raises(InputError, match="none is new"):
        cache.after([0, 1])
    cache.clear()
    assert cache.after([2]) == [2]


@pytest.mark.parametrize("name", ["exact", "arb", "certified", "float64"])
def test_a_pass_that_ended_early_leaves_nothing(model: Model, name: str) -> None:
    cache, ops = Cache(), arithmetic(name)

    def ending(step: Any) -> Any:
        name, value = step.name, step.values
        if name.endswith("attn.out"):
            raise KeyboardInterrupt
        return value

    with pytest.raises(KeyboardInterrupt):
        forward(model, [2, 2], ops, ending, cache)
    forward(model, [0], ops, quiet, cache)
    with pytest.raises(KeyboardInterrupt):
        forward(model, [2], ops, ending, cache)
    last = ops.shown(forward(model, [1], ops, quiet, cache))[-1]
    whole = ops.shown(forward(model, [0, 1], ops, quiet))[-1]
    assert [
        float(x.mid()) if hasattr(x, "mid") else float(x.to_float()) if hasattr(x, "to_float") else x for x in last
    ] == pytest.approx(
        [float(x.mid()) if hasattr(x, "mid") else float(x.to_float()) if hasattr(x, "to_float") else x for x in whole], abs=1e-12
    )
    assert np.shape(last) == np.shape(whole)


def _first_logit(ops: FloatArithmetic, logits: Any) -> float:
    return float(ops.shown(logits)[-1][0])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_goes_its_own_way(copied: Any) -> None:
    """certify(M, [0, 1, 2], cache=c), after a shallow copy of c had read [0, 0], proved a wrong token."""
    model, ops = longer(), FloatArithmetic("float64")
    cache = Cache()
    forward(model, [0], ops, quiet, cache)
    other = copied(cache)
    forward(model, [1], ops, quiet, cache)
    if other.model is model:
        forward(model, [0], ops, quiet, other)
    forward(model, [2], ops, quiet, cache)
    assert cache.ids == (0, 1, 2)
    whole = forward(model, [0, 1, 2, 1], ops, quiet)
    assert _first_logit(ops, forward(model, [1], ops, quiet, cache)) == pytest.approx(_first_logit(ops, whole), rel=1e-12)


def test_a_pass_within_a_pass_changes_neither() -> None:
    model, ops, cache = longer(), FloatArithmetic("float64"), Cache()
    forward(model, [0], ops, quiet, cache)

    def nested(step: Any) -> Any:
        name, value = step.name, step.values
        if name == "blocks.0.attn.out":
            forward(model, [2], ops, quiet, cache)
        return value

    found = forward(model, [1], ops, nested, cache)
    assert _first_logit(ops, found) == pytest.approx(_first_logit(ops, forward(model, [0, 1], ops, quiet)), rel=1e-12)
    assert cache.ids == (0, 1)
    whole = forward(model, [0, 1, 1], ops, quiet)
    assert _first_logit(ops, forward(model, [1], ops, quiet, cache)) == pytest.approx(_first_logit(ops, whole), rel=1e-12)
