"""The built-in model `stories`: a small plain folder, whose text is told true by our own pass."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from training.stories import measure
from training.stories.measure import measured
from training.stories.reading import unread
from training.stories.tokens import END
from training.stories.words import HERS, HIS, THINGS
from transformers import LlamaForCausalLM

from cli_runs import run
from exactformer import load
from exactformer.arithmetics import arithmetic
from exactformer.model import InputError, forward
from exactformer.model.cache import Cache
from exactformer.worksheets import Input
from exactformer.worksheets.models import model_folder

RESULTS = json.loads((Path(measure.__file__).parent / "results" / "results.json").read_text())


def test_the_folder_is_small_and_plain() -> None:
    sizes = {file.name: file.stat().st_size for file in model_folder("stories").iterdir()}
    assert sorted(sizes) == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert sum(sizes.values()) <= 1_000_000


def test_its_size() -> None:
    model = load("stories").model
    held = sum(np.asarray(values).size for _, values in model.weights.named())
    assert 150_000 <= held == RESULTS["weights"] <= 400_000
    assert model.config.kv_heads < model.config.heads
    assert model.config.norm_kind == "rms"
    assert model.config.unembedding == "tied"


def test_any_text_is_cut_and_joined_again() -> None:
    tokenizer = load("stories").tokenizer
    assert tokenizer is not None
    for text in ("Once upon a time", "  two blanks\tand\n lines ", "naïve 語 🦊", '"Thank you, Anna," said Tom.'):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_every_name_and_thing_is_one_token() -> None:
    tokenizer = load("stories").tokenizer
    assert tokenizer is not None
    assert all(len(tokenizer.encode(f" {word}")) == 1 for word in (*HERS, *HIS, *THINGS))


def told(prompt: str, most: int = 250) -> str:
    """The likeliest story, by our own pass in float64."""
    sheet = load("stories")
    tokenizer, ops, cache = sheet.tokenizer, arithmetic("float64"), Cache()
    assert tokenizer is not None
    end = sheet.model.config.vocabulary.index(END)
    ids = list(tokenizer.encode(prompt))
    row = forward(sheet.model, ids, ops, cache=cache)[-1]
    while len(ids) < most and (token := int(np.argmax(row))) != end:
        ids.append(token)
        row = forward(sheet.model, [token], ops, cache=cache)[-1]
    return tokenizer.decode(ids)


def test_the_story_of_the_page_is_told_true_to_its_end() -> None:
    text = told("Once upon a time")
    assert unread(text) == ""
    assert text.endswith("The end.")
    page = (Path(__file__).parents[2] / "docs" / "stories.md").read_text(encoding="utf-8")
    assert text in " ".join(page.replace("\n> ", " ").replace("**", "").split())


def test_our_own_pass_is_the_model_that_was_measured() -> None:
    sheet = load("stories")
    ids = list(Input("Once upon a time, there was a little girl named Lily.").of(sheet))
    peer = LlamaForCausalLM.from_pretrained(model_folder("stories"), dtype=torch.float64)
    with torch.inference_mode():
        expected = peer(torch.tensor([ids])).logits[0].numpy()
    found = forward(sheet.model, ids, arithmetic("float64"))
    assert np.abs(found - expected).max() < 1e-4  # the library's angles are of float32


@pytest.mark.large
def test_held_out_stories_are_answered_as_measured() -> None:
    found = measured(model_folder("stories"), 20, 1)
    for kind, score in found.scores.items():
        whole = RESULTS["scores"][kind]
        assert score.asked > 5
        assert abs(score.right / score.asked - whole["right"] / whole["asked"]) < 0.15


def test_the_results_are_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "stories.md").read_text(encoding="utf-8")
    for score in RESULTS["scores"].values():
        assert f"{score['right'] / score['asked']:.1%}" in page
    assert f"{RESULTS['loss']:.3f}" in page
    assert f"{RESULTS['true']} of {RESULTS['continued']}" in page


def test_it_is_listed_and_has_no_worksheet() -> None:
    assert "stories" in run("examples").stdout
    done = run("examples", "stories")
    assert done.returncode == 2
    assert "stories: is a built-in model, whose weights are in a file: it has no worksheet" in done.stderr


def test_a_text_where_names_of_tokens_are_meant_is_told_what_it_is() -> None:
    with pytest.raises(InputError, match=r"^position 1: the token 'upon' is not in the vocabulary .*; a text .* as the prompt$"):
        load("stories").trace("Once upon a time")
