"""A trace is a mapping: full names, short ones, those of hooks; and arrays of proved floats."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import exactformer as xf
from exactformer.messages import Refused
from exactformer.numbers import Number, Undecided, Undefined, from_float
from exactformer.trace import Trace
from exactformer.trace.naming import Ambiguous, UnknownStep
from random_models import random_model, random_tokens


@pytest.fixture(scope="module")
def trace() -> Trace:
    return xf.load("induction").trace()


def test_it_is_a_mapping(trace: Trace) -> None:
    assert list(trace) == list(trace.keys()) == [step.name for step in trace.steps]
    assert len(trace) == len(trace.steps) == len(list(trace.items()))
    assert list(trace.values()) == list(trace.steps)
    assert "logits" in trace
    assert "nothing" not in trace
    assert 3 not in trace
    assert "out" not in trace  # which could be several
    assert trace.get("nothing") is None
    assert dict(trace)["probs"] is trace["probs"]


def test_short_names_mean_one_step() -> None:
    capstone = xf.load("capstone").trace()
    assert capstone["pattern"] is capstone["attn.pattern"] is capstone["blocks.0.attn.pattern"]
    with pytest.raises(Ambiguous, match=r"'out' could be blocks.0.attn.out, blocks.0.ln1.out, .* or blocks.0.ln2.out: say which"):
        capstone["out"]
    gradient = xf.gradient(capstone, "a a")
    assert gradient["attn.W_Q"] is gradient["grad.blocks.0.attn.W_Q"]


def test_two_blocks_make_a_name_ambiguous(trace: Trace) -> None:
    with pytest.raises(Ambiguous, match=r"'pattern' could be blocks.0.attn.pattern or blocks.1.attn.pattern: say which"):
        trace["pattern"]


@pytest.mark.parametrize(
    ("hook", "step"),
    [
        ("hook_embed", "embed"), ("hook_pos_embed", "pos_embed"), ("blocks.0.hook_resid_pre", "blocks.0.resid_pre"),
        ("blocks.0.attn.hook_pattern", "blocks.0.attn.pattern"), ("blocks.0.attn.hook_attn_scores", "blocks.0.attn.masked"),
        ("blocks.0.attn.hook_z", "blocks.0.attn.z"), ("blocks.0.hook_attn_out", "blocks.0.attn.out"),
        ("blocks.0.hook_mlp_out", "blocks.0.mlp.out"), ("blocks.0.ln1.hook_scale", "blocks.0.ln1.std"),
        ("blocks.0.ln1.hook_normalized", "blocks.0.ln1.out"), ("blocks.0.mlp.hook_post", "blocks.0.mlp.post"),
        ("blocks.0.hook_resid_post", "blocks.0.resid_post"), ("hook_pattern", "blocks.0.attn.pattern"),
    ],
)  # fmt: skip
def test_hooks_of_transformer_lens(hook: str, step: str) -> None:
    assert xf.load("capstone").trace()[hook].name == step


def test_hooks_of_a_model_of_llamas_kind() -> None:
    assert xf.load("llama").trace()["blocks.0.ln1.hook_scale"].name == "blocks.0.ln1.rms"


def test_a_name_that_is_not_there_is_one_line(trace: Trace) -> None:
    for name in ("patern", "x", "", 3, None, "hook_", "blocks.9.attn.pattern"):
        with pytest.raises(UnknownStep, match="there is no step") as error:
            trace[name]  # type: ignore[index]
        assert isinstance(error.value, KeyError)
        assert isinstance(error.value, Refused)
        assert "\n" not in str(error.value)
    with pytest.raises(UnknownStep, match=r"did you mean blocks.0.attn.pattern\?"):
        xf.load("capstone").trace()["patern"]


def test_floats_are_the_nearest() -> None:
    rng = random.Random(3)
    for _ in range(8):
        model = random_model(rng, blocks=1, dims=(2, 3))
        trace = xf.run(model, random_tokens(rng, model, 3))
        for name, floats in trace.to_numpy().items():
            assert floats.dtype == np.float64
            for value, found in zip(trace[name].values.flat, floats.flat, strict=True):
                if isinstance(value, Undefined):
                    assert math.isnan(found)
                elif not isinstance(value, Number):
                    assert found == -math.inf
                else:  # no neighbour is nearer
                    off = abs(value - from_float(float(found)))
                    for neighbour in (np.nextafter(found, -np.inf), np.nextafter(found, np.inf)):
                        assert off <= abs(value - from_float(float(neighbour)))


def test_balls_and_floats_as_arrays() -> None:
    sheet = xf.load("capstone")
    true = sheet.trace()["pattern"].to_numpy()
    assert np.array_equal(sheet.trace(arithmetic="arb")["pattern"].to_numpy(), true)
    assert np.array_equal(
        sheet.trace(arithmetic="float64")["pattern"].to_numpy(), sheet.trace(arithmetic="float64")["pattern"].values
    )
    assert np.array_equal(np.asarray(sheet.trace()["pattern"], dtype=np.float64), true)
    with pytest.raises(TypeError):
        np.asarray(sheet.trace()["pattern"], dtype=np.float32)  # rounded twice it would not be the nearest


def test_what_is_not_decided_is_no_float() -> None:
    step = xf.load("capstone").trace()["logits"]
    undecided = np.array([[Undefined("who knows", undecided=True)]], dtype=object)
    with pytest.raises(Undecided, match="who knows"):
        type(step)("x", step.operation, (), undecided).to_numpy()


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "certified", "float64", "float32", "bfloat16"])
def test_entries_are_formatted_in_every_arithmetic(arithmetic: str) -> None:
    sheet = xf.load("capstone")
    t = sheet.trace("a b", arithmetic)
    asked = [
        t["pattern"][0, 1, 1],
        t.logits[1, 0],
        t.output[1].margin,
        t.explain("a", "c").contributions[0].value,
        t.explain().value,
    ]
    if arithmetic != "certified":
        asked += [xf.gradient(t, "b a").loss, xf.gradient(t, "b a")["W_V"][0, 0, 0], xf.gradient(t, "b a").weights["W_E"][0, 0]]
    right = sheet.trace("a b")["pattern"][0, 1, 1]
    assert f"{asked[0]:.2f}" == f"{right:.2f}" == "0.73"
    for x in asked:
        if x is not None:  # floats have no margin
            assert float(f"{x:.10f}") == pytest.approx(float(round(float(f"{x:.12f}"), 10)), abs=2e-10)
            round(x, 3)
