"""Mistakes made on purpose: what differs, where first, and which do not apply."""

from __future__ import annotations

import pytest

import exactformer as xf
from exactformer.model import ConfigError
from exactformer.model.breaking import MISTAKES, broken
from exactformer.trace import gradient, run
from exactformer.trace.compare import differences


def first_difference(example: str, *mistakes: str) -> str | None:
    sheet = xf.load(example)
    right, wrong = run(sheet.model, sheet.tokens), run(broken(sheet.model, mistakes), sheet.tokens)
    return next((d.name for d in differences(right.steps, wrong.steps) if d.equal is False and d.first is not None), None)


@pytest.mark.parametrize(
    ("example", "mistake", "step"),
    [
        ("length4", "no-scale", "blocks.0.attn.scores"),
        ("length4", "no-mask", "blocks.0.attn.masked"),
        ("length4", "mask-after-softmax", "blocks.0.attn.pattern"),
        ("length4", "swapped-qk", None),  # W_Q = W_K there
        ("capstone", "no-mask", "blocks.0.attn.masked"),
        ("capstone", "no-residual", "blocks.0.resid_mid"),
        ("capstone", "no-norm", "blocks.0.mlp.pre"),
    ],
)
def test_the_first_step_that_differs(example: str, mistake: str, step: str | None) -> None:
    assert first_difference(example, mistake) == step


def test_several_at_once() -> None:
    assert first_difference("capstone", "no-residual", "no-norm") == "blocks.0.resid_mid"


def test_the_factor_that_is_lost_in_the_gradient() -> None:
    """With equal ∂L/∂S, ∂L/∂Q and ∂L/∂K would be exactly √d times as large; the formula has no scale left."""
    sheet = xf.load("length4")
    upstream = xf.array([[0] * 4] * 3 + [[1] * 4])
    right = gradient(run(sheet.model, sheet.tokens), upstream=upstream)
    wrong = gradient(run(broken(sheet.model, ["no-scale"]), sheet.tokens), upstream=upstream)
    assert "grad.blocks.0.attn.qk" in {s.name for s in right.steps}
    assert "grad.blocks.0.attn.qk" not in {s.name for s in wrong.steps}
    scores = right["grad.blocks.0.attn.scores"][0, 3]
    assert (right["grad.blocks.0.attn.qk"][0, 3] == scores / 2).all()


def test_rows_no_longer_sum_to_one_when_the_mask_comes_late() -> None:
    sheet = xf.load("length4")
    pattern = run(broken(sheet.model, ["mask-after-softmax"]), sheet.tokens)["blocks.0.attn.pattern"]
    assert sum(pattern[0, 0]) < 1
    assert sum(pattern[0, 3]) == 1


@pytest.mark.parametrize(("example", "mistake"), [("capstone", "no-scale"), ("length4", "no-norm"), ("length4", "no-residual")])
def test_what_does_not_apply_is_refused(example: str, mistake: str) -> None:
    with pytest.raises(ConfigError, match="does not apply"):
        broken(xf.load(example).model, [mistake])


def test_unknown_mistakes_list_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=", ".join(MISTAKES)):
        broken(xf.load("capstone").model, ["typo"])


def test_the_stable_form_is_proved_to_change_nothing() -> None:
    from dataclasses import replace

    sheet = xf.load("length4")
    stable = replace(sheet.model, config=replace(sheet.model.config, stable=True))
    step = run(stable, sheet.tokens)["blocks.0.attn.pattern"]
    assert [text for _, text in step.remarks] == ["proved: the same weights as without the shift"] * 4
    assert (step.values == sheet.trace()["blocks.0.attn.pattern"].values).all()


def test_balls_are_the_same_only_where_that_is_proved() -> None:
    """A ball is not equal to itself: two that overlap may enclose different numbers."""
    from flint import arb

    from exactformer.numbers.congruence import Congruence
    from exactformer.trace.compare import Equalities

    same, wide = Equalities(Congruence()).same, arb(1, 0.1)
    assert same(wide, wide) is None
    assert same(wide, arb(1.05)) is None
    assert same(wide, arb(2)) is False
    assert same(arb(2), arb(2)) is True
    assert same(arb(2), arb(3)) is False
