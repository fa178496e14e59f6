"""The poster: from text to a probability distribution at every position."""

from __future__ import annotations

import pytest
from flint import arb

import exactformer as xf
from exactformer.model import ConfigError
from exactformer.model.changing import with_norm
from exactformer.numbers import Exact, Named
from exactformer.numbers.enclosure import enclose, precision
from exactformer.render import json as as_json
from exactformer.render import text
from exactformer.worksheets import Worksheet, WorksheetError, example_text

# Entries of W_Q: drawn weights are part of the format, so they must not change.
WRITTEN_DOWN = ["1/2", "0", "0", "1/2", "0", "0", "1", "1", "-1", "-1", "1", "-1", "0", "-1/2", "-1/2", "1/2"]


@pytest.fixture(scope="module")
def poster() -> Worksheet:
    return xf.load("poster")


def test_gpt2s_own_tokens(poster: Worksheet) -> None:
    assert [piece.id for piece in poster.pieces("hello my name is")] == [31373, 616, 1438, 318]
    for given in (
        xf.worksheets.Input(prompt="hello my"),
        xf.worksheets.Input(ids="31373,616"),
        xf.worksheets.Input(tokens="hello Ġmy"),
    ):
        assert given.of(poster) == [31373, 616]
    assert [piece.id for piece in poster.pieces("hello my name is\n")] == [31373, 616, 1438, 318, 198]


def test_every_stage_is_there_and_every_token_is_proved(poster: Worksheet) -> None:
    trace = poster.trace(prompt="hello my name is")
    names = [step.name for step in trace.steps]
    stages = ["embed", "pos_embed", "attn.q", "attn.k", "attn.qk", "attn.masked", "attn.pattern", "attn.z", "attn.out", "mlp.pre"]
    stages += ["mlp.post", "mlp.out", "logits", "probs", "token"]
    found = [next(n for n, name in enumerate(names) if name == stage or name.endswith(f".{stage}")) for stage in stages]
    assert found == sorted(found)
    assert all(out.proved and out.margin > 0 for out in trace.output)
    assert all(isinstance(value, Exact | Named) for value in trace["blocks.0.resid_post"].values.flat)


def test_the_wide_logits_enclose_the_named_numbers_that_they_are(poster: Worksheet) -> None:
    trace = poster.trace(prompt="hello my")
    stream, W_U = trace["blocks.0.resid_post"].values, poster.model.weights.W_U
    for column in (0, 31373, 50256):
        for row in range(2):
            true = sum((stream[row, d] * W_U[d, column] for d in range(4)), xf.exact(0))
            low, high = enclose(true, 200)
            ball = trace.logits[row, column]
            assert isinstance(ball, arb)
            with precision(300):
                assert ball.overlaps(arb(low.numerator) / low.denominator)
                assert ball.overlaps(arb(high.numerator) / high.denominator)


def test_probabilities_sum_to_one(poster: Worksheet) -> None:
    rows = poster.trace(prompt="hello my")["probs"].values
    with precision(200):
        for row in rows:
            total = sum(row.tolist(), arb(0))
            assert total.contains(1)
            assert total.rad() < 1e-25


def test_the_text_shows_pieces_merges_and_the_largest(poster: Worksheet) -> None:
    shown = text.render(poster.trace(prompt="hello my name is"))
    assert "tokenization [31373, 616, 1438, 318]" in shown
    assert "1 at index 31373 of 50,257" in shown
    assert "'he' 'll' 'hell' 'hello'" in shown
    assert "the largest 6 of 50,257" in shown
    assert "positions j > i are set to -inf" in shown


def test_json_keeps_the_largest_of_wide_rows(poster: Worksheet) -> None:
    document = as_json.document(poster.trace(prompt="hello"))
    logits = next(step for step in document["steps"] if step["name"] == "logits")
    assert logits["shape"] == [1, 50257]
    (row,) = logits["values"]
    assert len(row) == 20
    assert row[0]["column"] == poster.model.config.vocabulary.index(document["output"][0]["token"])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_norms_are_optional(poster: Worksheet, norm: str) -> None:
    model = with_norm(poster.model, norm)
    assert model.config.epsilon == xf.exact("1e-5")
    trace = xf.run(model, tuple(piece.name for piece in poster.pieces("hello")), "float64")
    assert any(step.name == "blocks.0.ln1.out" for step in trace.steps)
    assert with_norm(with_norm(model, "none"), norm).config == model.config


def test_drawn_weights_are_the_same_on_every_machine(poster: Worksheet) -> None:
    W_Q = poster.model.weights.blocks[0].attn.W_Q
    assert [str(x) for x in W_Q.flat] == WRITTEN_DOWN
    assert len({tuple(str(x) for x in column) for column in poster.model.weights.W_U.T}) == 50257, "equal columns would tie"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('"drawn 3 by 1/2"', '"drawn 3"'), "W_Q"),
        (('vocabulary = "gpt2"', 'vocabulary = "gpt3"'), "vocabulary is 'gpt3'"),
        (('prompt = "hello my name is"', "prompt = 3"), "input.prompt is 3"),
    ],
)
def test_what_is_wrong_is_named(change: tuple[str, str], problem: str) -> None:
    source = example_text("poster")
    assert change[0] in source
    with pytest.raises((WorksheetError, ConfigError), match=problem):
        xf.loads(source.replace(*change), "poster.toml")
