"""Models that say other tokens than they read: the pass and all that is read off it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exactformer import load
from exactformer.certificates.hash import model_hash
from exactformer.circuits import circuits
from exactformer.decoding import generate
from exactformer.exercises.cell import find_cell
from exactformer.exercises.explaining import question
from exactformer.messages import Refused
from exactformer.model import Config, ConfigError, Model
from exactformer.render import html, latex, markdown, text
from exactformer.render import json as as_json
from exactformer.trace import run
from exactformer.trace.gradient import descend, gradient
from exactformer.worksheets import loads
from exactformer.worksheets.writing import written
from own_outputs import renamed, small, sums

FIELDS = {"vocabulary": ("a", "b"), "dim": 2, "blocks": 0, "norm": "none", "mask": "causal", "scale": "none"}
ORDER = [2, 0, 3, 1]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"outputs": ("x",)}, 'outputs: are not the vocabulary, which W_E is of: they go with unembedding = "own"'),
        ({"outputs": ("x",), "unembedding": "none"}, "outputs: are given, but the model has no logits"),
        ({"outputs": ("x", "x"), "unembedding": "own"}, "outputs: has the token 'x' twice"),
        ({"outputs": ("x", ""), "unembedding": "own"}, "outputs: '' is not a token: tokens are texts that are not empty"),
        ({"outputs": ["x"], "unembedding": "own"}, "outputs: is not a tuple of texts"),
        ({"outputs": "xy", "unembedding": "own"}, "outputs: is not a tuple of texts"),
    ],
)
def test_refused_outputs(given: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        Config(**(FIELDS | given))  # type: ignore[arg-type]
    assert str(error.value) == problem


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("outputs = []", "model.outputs is empty"),
        ('outputs = "01234"', "model.outputs is not a list of texts"),
        ("outputs = [0, 1]", "model.outputs is not a list of texts"),
        ('outputs = ["0", "1", "2", "3", "0"]', "model.outputs has the token '0' twice"),
        ('outputs = ["0", "1", "2"]', "weights.W_U"),
        ("", "weights.W_U"),
    ],
)
def test_refused_worksheets(line: str, problem: str) -> None:
    with pytest.raises(Refused) as error:
        loads(sums(outputs=line))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_tied_worksheets_have_one_vocabulary() -> None:
    with pytest.raises(Refused, match=r"model\.outputs .* they go with unembedding = .own."):
        loads(sums().replace('unembedding = "own"', 'unembedding = "tied"'))


def test_a_worksheet_is_written_with_its_outputs() -> None:
    sheet = loads(sums())
    again = loads(written(sheet))
    assert again.model.config == sheet.model.config
    assert again.model.config.spoken == ("0", "1", "2", "3", "4")
    assert model_hash(again.model) == model_hash(sheet.model)


def test_every_rendering_names_logits_by_outputs() -> None:
    found = loads(sums()).trace()
    assert [out.token for out in found.output] == ["0", "1", "0", "2"]
    assert found["logits"].shape == found["probs"].shape == (4, 5)
    assert "0 = 0, 1 = 0, 2 = 1, 3 = 0, 4 = 0" in text.render(found)
    assert "outputs 0 1 2 3 4" in text.render(found)
    other = replace(found.model, config=replace(found.model.config, outputs=tuple("vwxyz")))
    shown = run(other, "3 + 4 =")
    assert shown.token(3) == "x"
    for render in (text.render, markdown.render, latex.render, html.fragment):
        said = render(shown)
        assert all(name in said for name in "vwxyz")
    document = json.loads(as_json.render(shown))
    assert document["model"]["outputs"] == list("vwxyz")
    assert document["model"]["vocabulary"] == ["0", "1", "2", "3", "4", "+", "="]
    assert question(find_cell(shown, "logits[3, 2]")) == "What is logits[3, 2]: row 3 (“=”), column 2 (“x”) of resid_post · W_U?"
    assert "outputs" not in json.loads(as_json.render(load("capstone").trace()))["model"]


def test_targets_and_logits_are_named_by_outputs() -> None:
    model = small(("yes", "no"))
    found = run(model, "a b")
    graded = gradient(found, "yes no")
    assert graded["grad.W_U"].shape == (4, 2)
    floats = found["probs"].to_numpy()
    assert graded.loss.to_float() == pytest.approx(-np.log(floats[0, 0] * floats[1, 1]) / 2)
    with pytest.raises(Refused, match=r"position 0: the token 'a' is not among the outputs \(yes, no\)"):
        gradient(found, "a no")
    assert found.explain("yes", "no").token == "yes"
    with pytest.raises(Refused, match=r"the token 'a' is not among the outputs \(yes, no\)"):
        found.explain("a")
    with pytest.raises(Refused, match=r"the token 'a' is not among the outputs \(yes, no\)"):
        found.ablate("blocks.0.attn.head.0=zero", token="yes", over="a")
    assert {look.output.token for look in found.lens()} <= {"yes", "no"}


def test_a_step_of_descent_lowers_the_loss_of_outputs() -> None:
    model = small(("yes", "no"))
    step = descend(gradient(run(model, "a b"), "yes no"), loads(sums()).model.weights.W_E[1][0] / 64)
    assert step.after < step.before


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "float64"])
def test_outputs_in_another_order_are_fed_back_by_their_names(arithmetic: str) -> None:
    model = small(seed=6)
    models = (model, renamed(model, ORDER))
    plain, other = ([each.token for each in generate(one, [0, 1, 2], steps=4, arithmetic=arithmetic)] for one in models)
    assert plain == other
    assert len(set(plain)) > 1


def test_one_token_is_generated_where_nothing_can_be_fed_back() -> None:
    model = small(("yes", "no"))
    (chosen,) = generate(model, [0, 1], steps=1)
    assert chosen.token in ("yes", "no")
    with pytest.raises(Refused, match=r"the output 'yes' is not in the vocabulary .* so no more than 1 token"):
        next(generate(model, [0, 1], steps=2))
    with pytest.raises(Refused, match="stop: the token 'a' is not among the outputs"):
        next(generate(model, [0, 1], steps=1, stop=["a"]))


def test_what_a_head_adds_is_told_of_outputs() -> None:
    model = small(("yes", "no"))
    table = next(each for each in circuits(model, 0, 0, chosen=[1, 2]) if "logits" in each.meaning)
    assert (table.rows, table.columns, table.values.shape) == (("b", "c"), ("yes", "no"), (2, 2))


def test_a_hash_knows_what_is_fed_back_and_no_names() -> None:
    plain = small()
    same = Model(replace(plain.config, outputs=plain.config.vocabulary), plain.weights)
    crossed = Model(replace(plain.config, outputs=("b", "a", "c", "=")), plain.weights)
    mute, other = (Model(replace(plain.config, outputs=tuple(names)), plain.weights) for names in ("wxyz", "stuv"))
    assert model_hash(plain) == model_hash(same)
    assert len({model_hash(each) for each in (plain, crossed, mute)}) == 3
    assert model_hash(mute) == model_hash(other)


@pytest.mark.parametrize("save", [lambda model, path: model.save(path), lambda model, path: model.save(path.with_suffix(".toml"))])
def test_a_saved_model_says_the_same(save: Callable[[Model, Path], None], tmp_path: Path) -> None:
    for n, outputs in enumerate((("yes", "no"), ("b", "a", "c", "="), ("w", "x", "y", "z"))):
        model = small(outputs, positions="table", length=3)
        path = tmp_path / f"model{n}"
        save(model, path)
        again = load(path if path.exists() else path.with_suffix(".toml")).model
        assert again.config.spoken == outputs
        assert model_hash(again) == model_hash(model)
        assert np.array_equal(run(again, "a b").logits, run(model, "a b").logits)
