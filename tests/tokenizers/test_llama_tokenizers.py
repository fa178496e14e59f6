"""Tokenizers of other families: characters that fall back to bytes, other ways to cut a text, tokens around it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from byte_pair_files import tokenizer_json, write_json
from hypothesis import given
from hypothesis import strategies as st

from exactformer.tokenizers import BytePairTokenizer, Merge, TokenizerError, load_tokenizer
from exactformer.tokenizers.byte_pairs import LETTERS

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
NAMES = ["<unk>", "<s>", "</s>", *BYTES, "▁", *"Onceuptim", "On", "▁On", "ce", "▁Once"]
PAIRS = [("O", "n"), ("▁", "On"), ("c", "e"), ("▁On", "ce")]
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def with_fallback() -> dict[str, Any]:
    """As sentencepiece models are converted."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    first = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": id, "content": NAMES[id], **flags} for id in range(3)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing", "single": [first, text], "pair": [first, text],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": True, "byte_fallback": True, "vocab": {name: id for id, name in enumerate(NAMES)},
            "merges": [" ".join(pair) for pair in PAIRS],
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def fallback(tmp_path_factory: pytest.TempPathFactory) -> BytePairTokenizer:
    return load_tokenizer(write_json(tmp_path_factory.mktemp("fallback"), with_fallback()))


def ids(*names: str) -> list[int]:
    return [NAMES.index(name) for name in names]


def test_spaces_and_bytes_have_tokens(fallback: BytePairTokenizer) -> None:
    assert fallback.encode("Once ц") == ids("<s>", "▁Once", "▁", "<0xD1>", "<0x86>")
    assert fallback.encode("</s>") == ids("<s>", "</s>")
    assert fallback.encode("Once<s>", added=False)[0] == NAMES.index("▁Once")
    assert fallback.decode(ids("▁Once", "▁", "<0xD1>", "<0x86>")) == "Once ц"
    assert fallback.decode_bytes(ids("▁Once", "<0xFF>")) == b" Once\xff"
    assert fallback.encode_bytes(b"On\xff") == ids("<s>", "▁On", "<0xFF>")


def test_pieces_have_their_merges(fallback: BytePairTokenizer) -> None:
    first, once, space = fallback.pieces("Once ")
    assert (first.name, first.merges) == ("<s>", ())
    assert (once.name, once.text) == ("▁Once", " Once")
    assert once.merges == (Merge(0, b"O", b"n"), Merge(1, b" ", b"On"), Merge(2, b"c", b"e"), Merge(3, b" On", b"ce"))
    assert (space.name, space.bytes, space.merges) == ("▁", b" ", ())
    assert fallback.piece(NAMES.index("<0x0A>")).text == r"\n"
    assert len(set(fallback.vocabulary)) == len(NAMES)
    assert all(name.isprintable() and " " not in name for name in fallback.vocabulary)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁<"), max_size=30))
def test_text_comes_back(text: str) -> None:
    from tokenizers import Tokenizer

    library = Tokenizer.from_str(json.dumps(with_fallback()))
    expected = library.encode(text).ids
    vocab = {name: id for id, name in enumerate(NAMES)}
    ours = BytePairTokenizer(library, vocab, PAIRS, {}, "characters", [1], [], prefix_space=True, strips_space=True)
    assert ours.encode(text) == expected
    assert ours.decode(expected[1:]) == text == library.decode(expected)


def split_by(pattern: str, folder: Path, **model: Any) -> BytePairTokenizer:
    """Of bytes, cut by a pattern, with tokens for 123 and for words."""
    names = ["<|endoftext|>", *LETTERS, "12", "123", "ab", "Ġab", "abc", "<|begin|>"]
    pairs = [("1", "2"), ("12", "3"), ("a", "b"), ("Ġ", "ab")]
    content = tokenizer_json({name: id for id, name in enumerate(names)}, pairs)
    cut = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [cut, content["pre_tokenizer"] | {"use_regex": False}]}
    begin = {"id": len(names) - 1, "content": "<|begin|>"}
    content["added_tokens"].append(content["added_tokens"][0] | begin)
    template = content["post_processor"] | {
        "single": [{"SpecialToken": {"id": "<|begin|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {"<|begin|>": {"id": "<|begin|>", "ids": [len(names) - 1], "tokens": ["<|begin|>"]}},
    }
    content["post_processor"] = {"type": "Sequence", "processors": [content["decoder"], template]}
    content["model"] |= model
    return load_tokenizer(write_json(folder, content))


def names_of(tokenizer: BytePairTokenizer, text: str) -> list[str]:
    return [piece.name for piece in tokenizer.pieces(text)]


def test_llama_3_cuts_numbers_in_threes_and_takes_words_whole(tmp_path: Path) -> None:
    tokenizer = split_by(LLAMA3, tmp_path, ignore_merges=True)
    assert names_of(tokenizer, "1234 ab") == ["<|begin|>", "123", "4", "Ġab"]
    assert names_of(tokenizer, "abc") == ["<|begin|>", "abc"]
    assert tokenizer.pieces("abc")[1].merges == ()
    assert names_of(split_by(LLAMA3, tmp_path), "abc") == ["<|begin|>", "ab", "c"]


def test_qwen_cuts_numbers_in_digits(tmp_path: Path) -> None:
    tokenizer = split_by(LLAMA3.replace("{1,3}", ""), tmp_path)
    assert names_of(tokenizer, "123") == ["<|begin|>", "1", "2", "3"]


@pytest.mark.parametrize(
    ("place", "value", "line"),
    [
        (("model", "byte_fallback"), False, "model.byte_fallback is false: supported is"),
        (("model", "vocab", "<0x41>"), ..., "model.vocab.'<0x41>' is missing, the token of the byte 0x41"),
        (("decoder",), {"type": "Fuse"}, "decoder has no ByteFallback, though the model falls back to bytes"),
        (("decoder",), {"type": "ByteLevel"}, "decoder and pre_tokenizer must both be ByteLevel, or neither"),
        (("normalizer", "normalizers", 0, "prepend"), "x", "normalizer.normalizers.0.prepend is 'x': supported is"),
        (("post_processor", "special_tokens"), {}, "post_processor.special_tokens.<s> is missing"),
        (("post_processor", "special_tokens", "<s>", "ids"), [999], "post_processor puts the id 999 around the text"),
        (("post_processor", "special_tokens", "<s>", "ids"), [-1], "post_processor.special_tokens.<s>.ids are not ids of tokens"),
        (("post_processor", "single"), [], "post_processor.single does not have the text once"),
        (("post_processor", "single", 0), {"Sequence": {"id": "B"}}, "post_processor.single.0 is a table of 1, not a token"),
        (("added_tokens", 1, "content"), "<x>", "added token '<x>' with the id 1 contradicts the vocabulary"),
    ],
)  # fmt: skip
def test_what_is_refused(place: tuple[Any, ...], value: Any, line: str, tmp_path: Path) -> None:
    content = with_fallback()
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    if value is ...:
        inner["A"] = inner.pop(place[-1])
    else:
        inner[place[-1]] = value
    with pytest.raises(TokenizerError) as refusal:
        load_tokenizer(write_json(tmp_path, content))
    assert line in str(refusal.value)


def test_settings_agree_with_the_tokenizer(tmp_path: Path) -> None:
    write_json(tmp_path, with_fallback())
    fine = {"add_bos_token": True, "add_eos_token": False, "add_prefix_space": True, "legacy": False, "bos_token": "<s>"}
    write_json(tmp_path, fine | {"tokenizer_class": "LlamaTokenizer"}, "tokenizer_config.json")
    assert load_tokenizer(tmp_path).encode("On") == ids("<s>", "▁On")
    for field in ("add_bos_token", "add_eos_token", "add_prefix_space"):
        write_json(tmp_path, fine | {field: not fine[field]}, "tokenizer_config.json")
        with pytest.raises(TokenizerError, match=f"{field} is {json.dumps(not fine[field])}, which is not what the tokenizer does"):
            load_tokenizer(tmp_path)


@pytest.mark.parametrize("kind", ["Llama", "Gemma", "Qwen2", "GPTNeoX", "CodeGen", "GPT2"])
def test_what_the_library_saves_is_read(kind: str, tmp_path: Path) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    characters = [*NAMES, "<pad>", "<eos>", "<bos>", "<mask>"], PAIRS
    names, pairs = (
        characters if kind in ("Llama", "Gemma") else ([*LETTERS, "On", "ce", "ĠOn"], [("O", "n"), ("c", "e"), ("Ġ", "On")])
    )
    peer = getattr(transformers, f"{kind}Tokenizer")(vocab={name: id for id, name in enumerate(names)}, merges=pairs)
    peer.save_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    for text in ("Once 123 é.", "  On ce", "", "a🦙\n\n ", "It's <s> 4567"):
        assert ours.encode(text) == peer(text)["input_ids"], text
        assert ours.decode(ours.encode(text)) == peer.decode(peer(text)["input_ids"])
