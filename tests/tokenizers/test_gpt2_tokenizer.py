"""GPT-2's tokenizer: published vectors, round trips, merges, and the tiktoken library as a peer."""

from __future__ import annotations

import gzip
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from byte_pair_files import gpt2_files
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel

from exactformer.tokenizers import Merge, TokenizerError, gpt2, packaged
from exactformer.tokenizers.byte_pairs import merges, unspelled

VECTORS = Path(__file__).parents[3] / "shared" / "data" / "gpt2-tokenizer"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
# Text in which GPT-2's pattern has something to decide: contractions, runs of spaces, digits, line ends, marks, several scripts.
TRICKY = st.lists(
    st.sampled_from(
        [
            *"aZé7½٣Ⅷ一ก '\n\t\r\x0b\x1c\x1f\x85\xa0\u2003\u3000\u200d\ufeff_!🦙",
            "'s",
            "'LL",
            "'ve",
            "  ",
            "\r\n",
            "the",
            " name",
            "ä",
            "<|endoftext|>",
        ]
    ),
    max_size=40,
).map("".join)


def test_the_posters_prompt() -> None:
    assert gpt2().encode("hello my name is") == [31373, 616, 1438, 318]
    assert gpt2().encode("hello my name is\n") == [31373, 616, 1438, 318, 198]


@pytest.mark.skipif(not VECTORS.exists(), reason="the published vectors are not here (../shared/data/gpt2-tokenizer)")
def test_published_vectors() -> None:
    texts = (VECTORS / "vectors.inp").read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
    wanted = [[int(id) for id in line.split()] for line in (VECTORS / "vectors.out").read_text(encoding="utf-8").split("\n")]
    texts[-1] = texts[-1].removesuffix("\n")
    assert len(texts) == len(wanted) == 47
    for text, ids in zip(texts, wanted, strict=True):
        assert gpt2().encode(text) == ids, text
        assert gpt2().decode(ids) == text


@given(st.one_of(TEXT, TRICKY))
def test_text_comes_back(text: str) -> None:
    ids = gpt2().encode(text)
    assert gpt2().decode(ids) == text
    assert gpt2().encode_bytes(text.encode("utf-8")) == ids
    assert gpt2().decode(gpt2().encode(text, added=False)) == text


@given(st.binary(max_size=80))
@example(b"\xed\xa0\x80")
@example(bytes(range(256)))
def test_bytes_come_back(data: bytes) -> None:
    assert gpt2().decode_bytes(gpt2().encode_bytes(data)) == data


def test_bytes_that_are_not_text_are_merged_too() -> None:
    assert gpt2().encode_bytes(b"hello\xf0\x9f my") == [31373, 8582, 616]


@pytest.fixture(scope="module")
def peer() -> Any:
    """Another library, which knows tokens and ranks but no pairs, with GPT-2's pattern as it has it."""
    tiktoken = pytest.importorskip("tiktoken")
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    vocab, _ = gpt2_files()
    ranks = {unspelled(name): id for name, id in vocab.items() if id < 50256}
    return tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})


@settings(max_examples=400)
@given(st.one_of(TEXT, TRICKY))
def test_agrees_with_tiktoken(peer: Any, text: str) -> None:
    assert gpt2().encode(text) == peer.encode(text, allowed_special="all")


def test_agrees_on_characters_of_every_class(peer: Any) -> None:
    """A letter before and a digit after show to which class of the pattern a character belongs."""
    codes = [*range(0x3000), *range(0x3000, 0xD800, 11), *range(0xE000, 0x20000, 5), *range(0x20000, 0x110000, 997)]
    characters = [chr(code) for code in codes]
    for start in range(0, len(characters), 5000):
        text = "".join(f"a{character}1" for character in characters[start : start + 5000])
        assert gpt2().encode(text) == peer.encode(text, allowed_special="all"), start


@given(st.one_of(TEXT, TRICKY))
def test_our_merges_make_the_librarys_tokens(text: str) -> None:
    vocab, pairs = gpt2_files()
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    words = [word for word, _ in ByteLevel(add_prefix_space=False).pre_tokenize_str(text)]
    assert [vocab[token] for word in words for token in merges(word, ranks)[0]] == gpt2().encode(text, added=False)


def test_every_token_is_made_of_its_bytes() -> None:
    for id in range(0, 50256, 5):
        piece = gpt2().piece(id)
        parts = [piece.bytes[n : n + 1] for n in range(len(piece.bytes))]
        for merge in piece.merges:
            at = next(n for n, pair in enumerate(pairwise(parts)) if pair == (merge.left, merge.right))
            parts[at : at + 2] = [merge.left + merge.right]
        assert parts == [piece.bytes]


def test_pieces() -> None:
    hello, my, end = gpt2().pieces("hello my<|endoftext|>")
    assert (hello.id, hello.name, hello.bytes, hello.text) == (31373, "hello", b"hello", "hello")
    assert hello.merges == (
        Merge(258, b"h", b"e"),
        Merge(297, b"l", b"l"),
        Merge(12758, b"he", b"ll"),
        Merge(31373, b"hell", b"o"),
    )
    assert (my.name, my.text, my.merges) == ("Ġmy", " my", (Merge(285, b" ", b"m"), Merge(616, b" m", b"y")))
    assert (end.id, end.name, end.merges) == (50256, "<|endoftext|>", ())
    assert [piece.text for piece in gpt2().pieces("\n\\🦙")] == [r"\n", r"\\", r"\xf0\x9f", r"\xa6", r"\x99"]


def test_vocabulary_has_a_printable_name_for_every_token() -> None:
    names = gpt2().vocabulary
    assert len(names) == len(set(names)) == 50257
    assert all(name.isprintable() and name and " " not in name for name in names)
    assert (names[616], names[198], names[220], names[50256]) == ("Ġmy", "Ċ", "Ġ", "<|endoftext|>")


@pytest.mark.parametrize("blank", [" ", "\n", "\u3000", "\x1c"])
def test_long_runs_of_white_space(peer: Any, blank: str) -> None:
    for text in (blank * 500 + "a", "a" + blank * 500, f"a{blank * 100}b{blank * 101}\n{blank * 200}"):
        assert gpt2().encode(text) == peer.encode(text, allowed_special="all")
    text = blank * 300_000 + "a"
    assert gpt2().decode(gpt2().encode(text)) == text


def test_long_runs_of_stray_bytes_take_no_quadratic_time() -> None:
    data = b"\xff\xfe" * 50_000
    assert gpt2().decode_bytes(gpt2().encode_bytes(data)) == data


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gpt2().encode("ab\ud800"), "character 3 of the text is U+D800, half of a surrogate pair"),
        (lambda: gpt2().decode([50257]), "no token has the id 50257: the vocabulary has 0 to 50256"),
        (lambda: gpt2().decode([-1]), "no token has the id -1: the vocabulary has 0 to 50256"),
        (lambda: gpt2().piece(10**50), "no token has the id a number of 167 bits: the vocabulary has 0 to 50256"),
        (lambda: gpt2().decode([1.5]), "1.5 is not the id of a token: ids are whole numbers"),  # type: ignore[list-item]
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(TokenizerError, match=f"^{re.escape(message)}$"):
        call()


def test_bytes_that_make_no_character_decode_to_a_replacement() -> None:
    assert gpt2().decode([8582]) == "\ufffd"


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: b"no", lambda data: gzip.compress(gzip.decompress(data) + b" ")]
)
def test_damaged_data_is_noticed(damage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    data = files("exactformer.tokenizers").joinpath("data", "gpt2.merges.gz").read_bytes()
    (tmp_path / "data" / "gpt2.merges.gz").write_bytes(damage(data))
    monkeypatch.setattr(packaged, "files", lambda package: tmp_path)
    with pytest.raises(TokenizerError, match=r"^gpt2\.merges\.gz: the tokenizer data of this package [^\n]*: install it again$"):
        gpt2.__wrapped__()
