"""A cache serves the model, the tokens and the arithmetic that it was made with, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from exactformer.certified import CertifiedArithmetic
from exactformer.model import InputError, Model, arithmetic, forward
from exactformer.model.arb_arithmetic import ArbArithmetic
from exactformer.model.cache import Cache
from exactformer.model.float_arithmetic import FloatArithmetic
from exactformer.worksheets import load


def quiet(name: str, op: str, value: Any, *reads: str, remarks: Any = ()) -> Any:
    return value


@pytest.fixture
def model() -> Model:
    return load("capstone").model


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

    def ending(name: str, op: str, value: Any, *reads: str, remarks: Any = ()) -> Any:
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
