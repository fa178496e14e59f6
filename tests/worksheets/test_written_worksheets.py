"""Worksheets written out and read again are the same, whatever was changed in them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from exactformer.model import ConfigError
from exactformer.web.editing import edited
from exactformer.worksheets import Worksheet, load, loads
from exactformer.worksheets.writing import written
from random_models import random_model, random_tokens

HOSTILE = ('a"b', "c\\d", "line\nbreak", "a\ttab", "é 🎈", "[x]", "# no comment")


def same(one: Worksheet, other: Worksheet) -> bool:
    mine, theirs = dict(one.model.weights.named()), dict(other.model.weights.named())
    return (
        (one.tokens, one.title, one.about, one.rule) == (other.tokens, other.title, other.about, other.rule)
        and one.model.config == other.model.config
        and mine.keys() == theirs.keys()
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
    )


@pytest.mark.parametrize("name", ["capstone", "length4", "induction", "similar", "context", "skip"])
def test_examples(name: str) -> None:
    worksheet = load(name)
    again = loads(written(worksheet))
    assert same(worksheet, again)
    assert (worksheet.circuit is None) == (again.circuit is None)


def test_random_models() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        model = random_model(rng)
        config = replace(model.config, length=model.config.length if model.config.positions == "table" else None)
        if not config.mlp:
            config = replace(config, activation=None)
        worksheet = Worksheet(replace(model, config=config), random_tokens(rng, model, 3), "", "")
        assert same(worksheet, loads(written(worksheet))), seed


def test_texts_that_would_break_out() -> None:
    rng = random.Random(1)
    model = random_model(rng, vocabulary=HOSTILE, positions="none", length=None, mlp=0, activation=None)
    worksheet = Worksheet(model, HOSTILE[:3], HOSTILE[0], HOSTILE[2])
    assert same(worksheet, loads(written(worksheet)))


def test_a_changed_circuit_is_written_as_a_model() -> None:
    changed = edited(load("induction"), ["blocks.0.attn.W_Q[0,4,0]=1/2"])
    again = loads(written(changed))
    assert again.circuit is None
    assert again.trace().output == edited(load("induction"), ["blocks.0.attn.W_Q[0,4,0]=1/2"]).trace().output


def test_edits_follow_one_another() -> None:
    worksheet = load("capstone")
    changed = edited(worksheet, ["norm=none", "norm=pre", "epsilon=1/100", "scale=sqrt", "activation=gelu", "mask=strict"])
    config = changed.model.config
    assert (config.norm, str(config.epsilon), config.scale, config.activation, config.mask) == (
        "pre",
        "1/100",
        "sqrt",
        "gelu",
        "strict",
    )
    assert same(changed, loads(written(changed)))
    assert edited(worksheet, ['tokens=["b", "a"]']).tokens == edited(worksheet, ["tokens=b  a"]).tokens == ("b", "a")
    assert edited(load("induction"), ["mask=causal"]).rule == replace(load("induction").rule, mask="causal")  # type: ignore[type-var]


@pytest.mark.parametrize("edit", ["norm=both", "scale=x", "epsilon=", "W_E=1", "W_X[0]=1", "nothing", "W_E[0,0]=nan", "mask"])
def test_edits_that_cannot_be_made(edit: str) -> None:
    with pytest.raises(ConfigError):
        edited(load("capstone"), [edit])
