"""Numbers that are made when they are asked for: the same numbers, the same answers, and no closed form where balls suffice."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from exactformer.arithmetics import arithmetic
from exactformer.model import Choice, Model, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.arithmetics.deferred import Deferred, DeferredArithmetic
from exactformer.model.arithmetics.exact import ExactArithmetic
from exactformer.model.cache import Cache
from exactformer.numbers import Exact, Named, Undefined, UndefinedValue, array, exp, sqrt
from exactformer.numbers.digits import agreed_bounds, agreed_digits, decimal_bounds
from exactformer.proofs.cases import Case
from exactformer.worksheets import load
from random_models import random_model, random_tokens

SEEDS = range(24)


def deferring() -> DeferredArithmetic:
    ops = arithmetic("exact").for_logits()
    assert isinstance(ops, DeferredArithmetic)
    return ops


def told(x: Any) -> Any:
    """A number as something that can be compared without a proof."""
    return (x.value, x.recovered) if type(x) is Exact else x.written if type(x) is Named else str(getattr(x, "why", x))


def all_told(values: Any) -> list[Any]:
    return [told(x) for x in np.ravel(values)]


def model_of(seed: int) -> tuple[Model, list[int]]:
    rng = random.Random(seed)
    model = random_model(rng, dims=(2, 3), blocks=1 + seed % 2, stable=seed % 5 == 0, late_mask=seed % 7 == 0, length=2 + seed % 2)
    return model, model.ids(random_tokens(rng, model))


def digits(x: Any) -> str | None:
    return None if isinstance(x, Undefined) else x.digits(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_numbers_choices_and_digits(seed: int) -> None:
    model, ids = model_of(seed)
    eager, lazy = arithmetic("exact"), deferring()
    right: Any = forward(model, ids, eager)
    logits: Any = forward(model, ids, lazy)
    assert logits.answers(lambda b: agreed_digits(b, 30), digits) == [[digits(x) for x in row] for row in right]
    for ours, theirs in zip(lazy.choose(logits), eager.choose(right), strict=True):
        assert (ours.index, ours.proved, ours.ties) == (theirs.index, theirs.proved, theirs.ties)
    assert all_told(logits.numbers) == all_told(right)


@pytest.mark.parametrize("name", ["capstone", "llama"])
def test_every_step_is_the_same(name: str) -> None:
    sheet = load(name)
    model, ids = sheet.model, sheet.model.ids(sheet.tokens)
    steps: dict[str, Any] = {}
    ops = deferring()
    forward(model, ids, ops, lambda step: steps.setdefault(step.name, step.values))
    for step in sheet.trace().steps:
        if step.name in steps:
            assert all_told(ops.shown(steps[step.name])) == all_told(step.values), step.name


def test_no_closed_form_where_balls_suffice() -> None:
    model = load("capstone").model
    with patch.object(ExactArithmetic, "linear", side_effect=AssertionError("a closed form")):
        ops = deferring()
        logits: Any = forward(model, [0, 1], ops)
        assert ops.choose(logits)[1].index == 0
        with pytest.raises(AssertionError, match="a closed form"):
            _ = logits.numbers


def test_ties_and_zeros_are_proved() -> None:
    ops = deferring()
    root = ops.load(array([[sqrt(2)]]))
    two = ops.times(root, root)  # 2, which no ball shows
    row: Any = np.concatenate([ops.load(array([[2, 0]])), two, ops.subtract(two, ops.load(array([[2]])))], axis=1)
    assert ops.choose(row) == [Choice(0, True, (2,), 2, row.numbers[0, 0] - row.numbers[0, 2])]
    assert row.answers(lambda b: agreed_digits(b, 5), lambda x: x.digits(5)) == [["2.0000", "0", "2.0000", "0"]]


def test_bounds_are_those_of_the_number() -> None:
    for x in (exp(1), sqrt(2) / 3, array(["1/3"])[0], array(["1/10"])[0], array([7])[0]):
        ball = ArbArithmetic(256).constant(x)
        assert agreed_bounds(ball, 12) in (None, decimal_bounds(x, 12))


def test_kept_keys_and_values_and_numbers_that_a_note_puts_there() -> None:
    model = load("induction").model
    ops, cache = deferring(), Cache()
    forward(model, [0, 1], ops, cache=cache)
    logits: Any = forward(model, [0], ops, cache=cache)
    whole: Any = forward(model, [0, 1, 0], arithmetic("exact"))
    assert all_told(logits.numbers) == all_told(whole[-1:])
    noted: Any = forward(model, [0, 1, 0], ops, lambda step: np.asarray(step.values))  # plain arrays of numbers from now on
    assert all_told(ops.shown(noted)) == all_told(whole)


def test_long_chains_are_no_recursion() -> None:
    ops = deferring()
    x = one = ops.load(array([[1]]))
    for _ in range(3000):
        x = ops.add(x, one)
    assert told(x.numbers[0, 0]) == (3001, False)


def test_what_does_not_exist_is_said_as_before() -> None:
    ops = deferring()
    centered, deviation = ops.load(array([[0, 0]])), ops.load(array([[0]]))
    out: Deferred = ops.normalise(centered, deviation, ops.load(array([1, 1])), None, "ln")
    (choice,) = ops.choose(out)
    assert choice.index is None
    assert choice.proved
    assert "the variance is 0" in choice.why
    with pytest.raises(UndefinedValue, match="the variance is 0"):
        out.answers(lambda b: agreed_digits(b, 5), lambda x: x.digits(5))


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_answers_of_proofs_are_those_of_the_numbers(seed: int) -> None:
    model, ids = model_of(seed)
    tokens = tuple(model.config.vocabulary[i] for i in ids)
    with patch("exactformer.model.arithmetics.wide.WideExactArithmetic.for_logits", lambda self: self):
        expected = Case(model)(tokens)
    assert Case(model)(tokens) == expected
