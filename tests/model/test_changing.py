"""Single weights changed as one writes them down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactformer as xf
from exactformer.model import ConfigError
from exactformer.model.changing import with_weights
from exactformer.model.weights import rebuilt_weights
from exactformer.numbers import exact, from_float


def test_what_is_named_is_changed_and_nothing_else() -> None:
    model = xf.load("induction").model
    before = {name: weights.copy() for name, weights in model.weights.named()}
    after = with_weights(model, ["blocks.1.attn.W_V[0,1,1] = 0", "W_E[2, 3]=-1/3", "W_E[2,3] = 1e-2", " W_U [14 0] = 7 "])
    differing = {
        (name, place): weights[place]
        for name, weights in after.weights.named()
        for place in np.ndindex(weights.shape)
        if weights[place] != before[name][place]
    }
    assert differing == {
        ("blocks.1.attn.W_V", (0, 1, 1)): exact(0), ("W_E", (2, 3)): exact("1/100"), ("W_U", (14, 0)): exact(7),
    }  # fmt: skip
    assert all((weights == before[name]).all() for name, weights in model.weights.named())
    assert after.config == model.config


def test_every_weight_of_a_model_with_all_kinds_can_be_changed() -> None:
    model = xf.load("capstone").model
    for name, weights in model.weights.named():
        place = tuple(n - 1 for n in weights.shape)
        changed = dict(with_weights(model, [f"{name}[{','.join(map(str, place))}] = 5/7"]).weights.named())
        assert changed[name][place] == exact("5/7")
        assert all((changed[other] == value).all() for other, value in model.weights.named() if other != name)


def test_weights_that_are_floats_keep_their_values() -> None:
    model = xf.load("capstone").model
    floats = rebuilt_weights(model.weights, {name: np.full(w.shape, 0.1, dtype=np.float32) for name, w in model.weights.named()})
    changed = with_weights(replace(model, weights=floats), ["W_E[0,1] = 1/2"]).weights.W_E
    assert changed[0, 1] == exact("1/2")
    assert changed[0, 0] == from_float(np.float32(0.1))
    assert changed[0, 0] != exact("1/10")


def test_the_change_reaches_the_pass() -> None:
    sheet = xf.load("induction")
    damaged = with_weights(sheet.model, ["blocks.1.attn.W_V[0,1,1] = 0"])
    assert xf.run(sheet.model, "a b").token(1) == "a"
    assert xf.run(damaged, "a b").output[1].ties == ("a", "b", "c")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("W_E[0,1]", "W_E[0,1]: is not a change of a weight: write W_E[0,1] = 1/2"),
        ("", ": is not a change of a weight: write W_E[0,1] = 1/2"),
        ("W_X[0,1] = 1", "W_X: is not a weight of the model (W_E, W_pos, blocks.0.attn.W_Q,"),
        ("W_E[0] = 1", "W_E[0]: is not an entry: W_E is 4 × 18 (token, dimension), counted from 0; its last is W_E[3,17]"),
        (
            "blocks.0.attn.W_V[0,0] = 1",
            "blocks.0.attn.W_V[0,0]: is not an entry: blocks.0.attn.W_V is 1 × 18 × 6 (head, row, column), counted from 0; "
            "its last is blocks.0.attn.W_V[0,17,5]",
        ),
        ("W_E[4,0] = 1", "W_E[4,0]: is not an entry: W_E is 4 × 18 (token, dimension), counted from 0; its last is W_E[3,17]"),
        ("W_E[-1,0] = 1", "W_E[-1,0] = 1: is not a change of a weight: write W_E[0,1] = 1/2"),
        ("W_E[0,0] = one", "W_E: "),
        ("W_E[0,0] = 1/0", "W_E: "),
        ("W_E[0,0] = nan", "W_E: "),
        ("W_E[0,0] = __import__('os')", "W_E: "),
    ],
)
def test_what_is_not_a_change_is_told_in_a_line(change: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_weights(xf.load("induction").model, [change])
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)
