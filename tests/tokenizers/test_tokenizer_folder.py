"""Tokenizers of model folders are read as Hugging Face's library reads them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from byte_pair_files import BYTES, FEW, few, gpt2_files, tokenizer_json, write_json, write_pair
from hypothesis import given, settings
from hypothesis import strategies as st

from exactformer.tokenizers import gpt2, load_tokenizer
from exactformer.tokenizers.byte_pairs import merges, spelled


def test_gpt2s_own_files_are_gpt2s_tokenizer(tmp_path: Path) -> None:
    vocab, pairs = gpt2_files()
    (tmp_path / "new").mkdir()
    (tmp_path / "old").mkdir()
    for read in (
        load_tokenizer(write_json(tmp_path / "new", tokenizer_json(vocab, pairs))),
        load_tokenizer(write_pair(tmp_path / "old", vocab, pairs)),
    ):
        assert read.vocabulary == gpt2().vocabulary
        assert read.encode("hello my name is\n<|endoftext|>") == [31373, 616, 1438, 318, 198, 50256]
        assert [piece.merges[-1].right for piece in read.pieces("hello my")] == [b"o", b"y"]


def test_first_release_of_gpt2_is_read(tmp_path: Path) -> None:
    """Its tokenizer.json names no kind of model, writes a merge as one text, and marks the added token as normalized."""
    old = tokenizer_json(*few())
    del old["model"]["type"], old["model"]["byte_fallback"], old["model"]["ignore_merges"], old["pre_tokenizer"]["use_regex"]
    old["model"]["merges"] = [" ".join(pair) for pair in FEW]
    old["added_tokens"][0]["normalized"] = True
    old["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}
    ids = load_tokenizer(write_json(tmp_path, old)).encode(" the<|endoftext|>ll")
    assert ids == [259, 0, 260]


def trained(seed: int) -> tuple[dict[str, Any], Any]:
    """A tokenizer that Hugging Face's library trained on random text, with added tokens of both kinds, some inside others."""
    tokenizers = pytest.importorskip("tokenizers")
    rng = random.Random(seed)
    lines = ["".join(rng.choices("aab bcd éß🦙\n", k=60)) for _ in range(40)]
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False
    )
    peer.train_from_iterator(lines, trainer)
    peer.add_tokens([tokenizers.AddedToken(content, normalized=True) for content in ("ab<", "d é", "d é🦙", "aaaaa")])
    peer.add_special_tokens([tokenizers.AddedToken(content, normalized=False) for content in ("<end", "b<e", "  ")])
    return json.loads(peer.to_str()), peer


@pytest.mark.parametrize("seed", range(4))
def test_trained_tokenizers_agree_with_the_hugging_face_library(seed: int, tmp_path: Path) -> None:
    content, peer = trained(seed)
    ours = load_tokenizer(write_json(tmp_path, content))
    assert len(ours.vocabulary) == len(set(ours.vocabulary)) == peer.get_vocab_size()

    @settings(max_examples=150)
    @given(
        st.one_of(
            st.lists(st.sampled_from([*"abcd éß🦙\n<", "<end>", "<end", "ab<", "d é"]), max_size=40).map("".join),
            st.text(max_size=20),
        )
    )
    def agrees(text: str) -> None:
        ids = ours.encode(text)
        assert ids == peer.encode(text, add_special_tokens=False).ids
        assert ours.decode(ids) == text

    agrees()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=14), st.lists(st.text("abc", max_size=30), max_size=12))
def test_any_merges_are_followed_as_listed(
    tmp_path_factory: pytest.TempPathFactory, picks: list[tuple[int, int]], texts: list[str]
) -> None:
    """Merges that no training would give."""
    made = ["a", "b", "c"]
    pairs: list[tuple[str, str]] = []
    for left, right in picks:
        pair = made[left % len(made)], made[right % len(made)]
        if pair not in pairs and len("".join(pair)) < 12:
            pairs.append(pair)
            made.append("".join(pair))
    vocab = {name: id for id, name in enumerate(dict.fromkeys(["<|endoftext|>", *map(spelled, BYTES), *map("".join, pairs)]))}
    ours = load_tokenizer(write_json(tmp_path_factory.mktemp("merges"), tokenizer_json(vocab, pairs)))
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    for text in texts:
        assert ours.encode(text) == [vocab[token] for token in merges(text, ranks)[0]]


@pytest.mark.parametrize(
    ("pairs", "ids"),
    [
        ([("b", "c"), ("a", "b"), ("ab", "c")], ["a", "bc"]),  # who knows no pairs would go on to abc
        ([("b", "a"), ("a", "b"), ("ab", "ab")], ["a", "ba", "b"]),  # or take a word that is a token whole
    ],
)
def test_tokens_that_their_letters_do_not_come_to(pairs: list[tuple[str, str]], ids: list[str], tmp_path: Path) -> None:
    vocab = {name: id for id, name in enumerate(["<|endoftext|>", *map(spelled, BYTES), *map("".join, pairs)])}
    read = load_tokenizer(write_json(tmp_path, tokenizer_json(vocab, pairs)))
    assert read.encode("".join(ids)) == [vocab[name] for name in ids]
    assert read.piece(vocab["".join(pairs[2])]).merges == ()


def test_added_tokens_json_and_tokens_without_merges(tmp_path: Path) -> None:
    vocab, pairs = few()
    vocab["Ġspare"] = len(vocab)
    write_json(tmp_path, {"<pad>": len(vocab), "\n": len(vocab) + 1}, "added_tokens.json")
    read = load_tokenizer(write_pair(tmp_path, vocab, pairs))
    assert read.encode("<pad>he\n") == [264, 258, 265]
    assert read.decode([263]) == " spare"
    assert (read.vocabulary[264], read.vocabulary[265]) == ("<pad>", "Ċ′")
    assert read.piece(263).merges == ()


def test_windows_line_ends_are_read(tmp_path: Path) -> None:
    vocab, pairs = few()
    write_pair(tmp_path, vocab, pairs)
    (tmp_path / "merges.txt").write_bytes("".join(f"{a} {b}\r\n" for a, b in pairs).encode())
    assert load_tokenizer(tmp_path).encode(" the") == [259]
