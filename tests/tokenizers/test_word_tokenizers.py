"""Vocabularies of words and of characters."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactformer.model.config import Config
from exactformer.tokenizers import CharacterTokenizer, Piece, Tokenizer, TokenizerError, WordTokenizer, gpt2

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(TEXT)
def test_characters_come_back(text: str) -> None:
    tokenizer = CharacterTokenizer.of(text)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.encode_bytes(text.encode()) == ids
    assert tokenizer.decode_bytes(ids) == text.encode()
    names = tokenizer.vocabulary
    assert len(set(names)) == len(set(text)) == len(names)
    assert all(name.isprintable() and not name.isspace() for name in names)


@given(st.lists(st.text("abcé\\🦙.", min_size=1), min_size=1), st.sampled_from([" ", "\n", "\t  "]))
def test_words_come_back_with_single_spaces(words: list[str], blank: str) -> None:
    tokenizer = WordTokenizer.of(" ".join(words))
    assert tokenizer.decode(tokenizer.encode(blank.join(words))) == " ".join(words)
    assert [piece.bytes.decode() for piece in tokenizer.pieces(blank.join(words))] == words
    assert set(tokenizer.vocabulary) == set(words)


def test_letters_that_a_small_model_sorts() -> None:
    tokenizer = CharacterTokenizer("ABC")
    assert tokenizer.vocabulary == ("A", "B", "C")
    assert tokenizer.encode("CBABBC") == [2, 1, 0, 1, 1, 2]
    assert tokenizer.piece(2) == Piece(2, "C", b"C", ())
    assert tokenizer.decode([0, 1]) == "AB"


def test_every_tokenizer_is_one() -> None:
    tokenizers: list[Tokenizer] = [CharacterTokenizer("ab"), WordTokenizer(["a", "b"]), gpt2()]
    for tokenizer in tokenizers:
        text = tokenizer.decode(tokenizer.encode("a"))
        assert text == "a"
        assert [piece.name for piece in tokenizer.pieces("a")] == ["a"]
        assert tokenizer.vocabulary[tokenizer.encode("a")[0]] == "a"


def test_names_fit_a_configuration() -> None:
    vocabulary = CharacterTokenizer.of("to be,\n␣\\").vocabulary
    assert vocabulary == ("\\n", "␣", ",", "\\", "b", "e", "o", "t", "\\u2423")
    assert Config(vocabulary=vocabulary, dim=2, blocks=0, norm="none", mask="causal", scale="none").vocabulary == vocabulary


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CharacterTokenizer("ABA"), "vocabulary: has the character 'A' twice"),
        (lambda: CharacterTokenizer(["A", "BC"]), "vocabulary: entry 1, 'BC', is not a character"),
        (lambda: CharacterTokenizer(["A", ""]), "vocabulary: entry 1, '', is not a character"),
        (lambda: CharacterTokenizer(["\ud800"]), "vocabulary: entry 0, '\\ud800', is not a character"),
        (lambda: CharacterTokenizer(""), "vocabulary: is empty"),
        (lambda: CharacterTokenizer([3]), "vocabulary: entry 0, 3, is not a character"),  # type: ignore[list-item]
        (lambda: WordTokenizer(["a b"]), "vocabulary: entry 0, 'a b', is not a word"),
        (lambda: WordTokenizer(["a", " "]), "vocabulary: entry 1, ' ', is not a word"),
        (lambda: WordTokenizer(["a\x1b[0m"]), "vocabulary: entry 0, 'a\\x1b[0m', has a control character"),
        (lambda: CharacterTokenizer("ABC").encode("ABD"), "character 3 of the text, 'D', is not in the vocabulary (A, B, C)"),
        (
            lambda: CharacterTokenizer("abcdefghij").encode("\n"),
            "character 1 of the text, '\\n', is not in the vocabulary (a, b, c, d, e, f, g, h, … 10 characters)",
        ),
        (lambda: WordTokenizer(["a"]).encode("a \udc80"), "character 3 of the text is U+DC80, half of a surrogate pair"),
        (lambda: CharacterTokenizer("ABC").encode_bytes(b"A\xff"), "byte 1, 0xff, is not UTF-8"),
        (lambda: CharacterTokenizer("ABC").decode([3]), "no token has the id 3: the vocabulary has 0 to 2"),
        (lambda: WordTokenizer(["a"]).piece(-1), "no token has the id -1: the vocabulary has 0 to 0"),
    ],
)
def test_word_errors(call: Any, message: str) -> None:
    with pytest.raises(TokenizerError, match=f"^{re.escape(message)}$"):
        call()
