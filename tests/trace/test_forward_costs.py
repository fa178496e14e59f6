"""The operations of a forward pass alone, with one block counted for all."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from benchmarks.gpt2_random import Shape, gpt2_model, random_tensors

from exactformer.model import Model
from exactformer.trace.costs import costs, forward_costs
from exactformer.worksheets import load


@pytest.mark.parametrize("window", [0, 3])
def test_one_block_stands_for_all_that_are_alike(window: int) -> None:
    shape = Shape(blocks=3, dim=8, heads=2, vocabulary=11, positions=16)
    model = gpt2_model(random_tensors("initialised", shape), shape)
    model = Model(replace(model.config, window=window, full_blocks=(1,) if window else ()), model.weights)
    for length in (2, 5, 9):
        whole = costs(model, (length,), 2)[0]
        found = forward_costs(model, length)
        assert {stage: +counts for stage, counts in found.items()} == {s: +c[length] for s, c in whole.stages.items()}
        assert sum(found.values(), Counter()) == whole.total(length)


def test_a_model_of_one_block_is_counted_as_it_is() -> None:
    model = load("capstone").model
    assert forward_costs(model, 2)["logits"]["multiplications"] == 2 * model.config.dim * len(model.config.vocabulary)
