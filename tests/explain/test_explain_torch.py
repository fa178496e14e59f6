"""Contributions held against autograd's, over random models of every kind."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from torch_attribution import attribution

from exactformer.model import Model, NormWeights
from exactformer.numbers import exact
from exactformer.trace import run
from random_models import random_array, random_model


def four_norms(rng: random.Random) -> Model:
    """As Gemma has them: a norm before each sub-layer, and one after it."""
    model = random_model(rng, norm="pre", final_norm=True, mlp=3, activation="gelu", epsilon=exact("1e-5"), positions="table")

    def norm() -> NormWeights:
        return NormWeights(w=random_array(rng, model.config.dim, entries=("1/2", "1", "2")), b=random_array(rng, model.config.dim))

    blocks = tuple(replace(block, ln1_post=norm(), ln2_post=norm()) for block in model.weights.blocks)
    return Model(replace(model.config, post_norms=True), replace(model.weights, blocks=blocks))


def made(seed: int) -> Model:
    rng = random.Random(seed)
    if seed % 4 == 0:
        return four_norms(rng)
    model = random_model(rng, positions=rng.choice(("table", "none")), epsilon=exact("1e-5"))
    parallel = seed % 4 == 1 and model.config.mlp > 0 and model.config.norm != "post"
    return Model(replace(model.config, parallel=True), model.weights) if parallel else model


@pytest.mark.parametrize("seed", range(24))
def test_contributions_are_those_of_autograd(seed: int) -> None:
    model, rng = made(seed), random.Random(seed + 1000)
    tokens = [rng.choice(model.config.vocabulary) for _ in range(rng.randint(1, 4))]
    token, other = model.config.vocabulary[:2]
    over, position = other if seed % 2 else None, rng.randrange(len(tokens))
    arithmetic = "arb" if seed % 3 == 0 else "float64"
    found = run(model, tokens, arithmetic).explain(token, over, position)
    value, theirs = attribution(model, model.ids(tuple(tokens)), 0, None if over is None else 1, position)
    assert float(found.value) == pytest.approx(value, abs=1e-9)
    assert {each.name for each in found} == set(theirs)
    for each in found:
        expected = theirs[each.name]
        rows = expected if isinstance(expected, list) else [expected]
        assert float(each.value) == pytest.approx(sum(rows), abs=1e-9), each.name
        if each.name.endswith(".mlp"):
            assert [float(part.value) for part in each.parts] == pytest.approx(rows, abs=1e-9)
        elif each.parts:
            for part in each.parts:
                assert float(part.value) == pytest.approx(rows[int(part.name.split()[1])], abs=1e-9)
