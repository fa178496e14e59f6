"""The built-in model `stories`: a small plain folder, whose text is told true by our own pass."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from training.stories import measure
from training.stories.grammar import stories
from training.stories.reading import unread
from training.stories.tokens import END, encoded
from training.stories.words import HERS, HIS, THINGS

from cli_runs import run
from exactformer import load
from exactformer.arithmetics import arithmetic
from exactformer.model import forward
from exactformer.model.cache import Cache
from exactformer.worksheets.models import model_folder
from tokenizers import Tokenizer

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


def test_its_story_is_true_to_the_grammar() -> None:
    text = told("Once upon a time")
    assert unread(text) == ""
    assert text.endswith("The end.")
    assert text == RESULTS["told"].removesuffix(END)


def test_who_has_what_is_answered_as_measured() -> None:
    """On a few of the stories that are held out, by our own pass: no worse than the whole set by more than chance allows."""
    sheet = load("stories")
    tokenizer = Tokenizer.from_file(str(model_folder("stories") / "tokenizer.json"))
    answered = []
    for story in stories(25, held_out=True):
        ids, questions = encoded(tokenizer, story)
        logits = forward(sheet.model, ids, arithmetic("float64"))
        answered += [all(np.argmax(logits[at - 1]) == ids[at] for at in places) for kind, places in questions if kind == "holder"]
    score = RESULTS["scores"]["holder"]
    assert len(answered) > 20
    assert sum(answered) / len(answered) > score["right"] / score["asked"] - 0.15


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
    assert "stories: is a built-in model, which has no worksheet" in done.stderr
