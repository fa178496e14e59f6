"""Vocabularies in a folder: characters.json, meta.json, words.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exactformer.tokenizers import CharacterTokenizer, TokenizerError, WordTokenizer, load_tokenizer


def written(folder: Path, name: str, value: Any) -> Path:
    (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("characters.json", "\n abü"),
        ("characters.json", ["\n", " ", "a", "b", "ü"]),
        ("meta.json", {"vocab_size": 5, "itos": {"0": "\n", "1": " ", "2": "a", "3": "b", "4": "ü"}}),
        ("meta.json", {"itos": ["\n", " ", "a", "b", "ü"], "stoi": {"a": 2, "b": 3, "ü": 4, " ": 1, "\n": 0}}),
        ("meta.json", {"stoi": {"a": 2, "b": 3, "ü": 4, " ": 1, "\n": 0}}),
    ],
)
def test_characters(name: str, value: Any, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(written(tmp_path, name, value))
    assert isinstance(tokenizer, CharacterTokenizer)
    assert tokenizer.encode("ab ü\n") == [2, 3, 1, 4, 0]
    assert tokenizer.decode([2, 3, 1, 4, 0]) == "ab ü\n"


def test_words(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(written(tmp_path, "words.json", ["I", "will", "work", "."]))
    assert isinstance(tokenizer, WordTokenizer)
    assert tokenizer.encode("I work .") == [0, 2, 3]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("characters.json", {"a": 1}, "is neither a text nor a list of texts"),
        ("characters.json", ["ab"], "is not a character"),
        ("characters.json", "aa", "twice"),
        ("characters.json", "", "is empty"),
        ("words.json", ["a b"], "is not a word"),
        ("meta.json", "abc", "is not a table with itos or stoi"),
        ("meta.json", {"vocab_size": 3}, "is not a table with itos or stoi"),
        ("meta.json", {"itos": {"0": "a", "2": "b"}}, "whose keys are 0, 1, 2"),
        ("meta.json", {"stoi": {"a": 1}}, "whose ids are 0, 1, 2"),
        ("meta.json", {"stoi": {"a": 0, "b": 0}}, "whose ids are 0, 1, 2"),
        ("meta.json", {"itos": ["a"], "stoi": {"b": 0}}, "contradict"),
        ("meta.json", {"itos": ["a", "b"], "vocab_size": 3}, "vocab_size: is 3, but there are 2"),
        ("meta.json", {"itos": ["a"], "merges": []}, "'merges' is not a known field"),
        ("meta.json", {"itos": 3}, "neither a list nor"),
        ("meta.json", {"stoi": {"a": "0"}}, "whose ids are 0, 1, 2"),
        ("meta.json", {"stoi": {"a": True}}, "whose ids are 0, 1, 2"),
    ],
)
def test_what_is_refused(name: str, value: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=said) as error:
        load_tokenizer(written(tmp_path, name, value))
    assert "\n" not in str(error.value)
    assert name in str(error.value)


def test_two_lists_are_one_too_many(tmp_path: Path) -> None:
    written(tmp_path, "characters.json", "ab")
    with pytest.raises(TokenizerError, match=r"has characters\.json and words\.json"):
        load_tokenizer(written(tmp_path, "words.json", ["a"]))
