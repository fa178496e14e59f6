"""Which arithmetic is used where none is asked for: by the size of the model, and by what the arithmetic can."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from exactformer.model import Config, Model
from exactformer.numbers import exact
from exactformer.worksheets import cost
from exactformer.worksheets.cost import GENERATING, PROVING, TRACING, default_arithmetic, multiplications
from random_models import random_model


def model(dim: int, **changes: object) -> Model:
    choices: dict[str, object] = {
        "vocabulary": ("a", "b"), "dim": dim, "blocks": 1, "norm": "pre", "epsilon": exact("1e-5"), "mask": "causal",
        "scale": "sqrt", "positions": "none", "unembedding": "tied",
    } | changes  # fmt: skip
    return random_model(random.Random(0), Config(**choices))  # type: ignore[arg-type]


def test_the_first_arithmetic_that_is_quick_enough() -> None:
    small, middle, large = model(2), model(24), model(96)
    assert [default_arithmetic(m, 4, PROVING)[0] for m in (small, middle, large)] == ["exact", "arb", "certified"]
    assert [default_arithmetic(m, 4, GENERATING)[0] for m in (small, middle, large)] == ["exact", "exact", "arb"]
    assert [default_arithmetic(m, 4, TRACING)[0] for m in (small, middle, large)] == ["exact"] * 3
    assert default_arithmetic(small, 4, PROVING)[1] == ""
    assert f"{multiplications(large.config, 4):,} multiplications" in default_arithmetic(large, 4, PROVING)[1]


def test_a_longer_input_counts() -> None:
    assert default_arithmetic(model(24), 4, GENERATING)[0] == "exact"
    assert default_arithmetic(model(24), 40, GENERATING)[0] == "arb"


def test_what_an_arithmetic_cannot_do_is_left_to_another() -> None:
    large = model(96)
    hard = replace(large, config=replace(large.config, hard=True))
    assert default_arithmetic(hard, 4, PROVING) == ("exact", "")  # only exact numbers have hard attention
    no_epsilon = replace(large, config=replace(large.config, epsilon=exact(0)))
    assert default_arithmetic(no_epsilon, 4, PROVING)[0] == "arb"  # certified arrays divide by nothing that may be 0


def test_too_many_weights_for_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs go on in certified arrays; the others are refused, as before, with what to use instead."""
    large = model(96)
    monkeypatch.setattr(cost, "MOST_WEIGHTS", 10)
    assert default_arithmetic(large, 4, PROVING)[0] == "certified"
    assert default_arithmetic(large, 4, GENERATING) == ("exact", "")
