"""Tokenizer files as the transformers library writes them, from GPT-2's ranks or from a few merges."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from exactformer.tokenizers import BytePairTokenizer, TokenizerError, load_tokenizer
from exactformer.tokenizers.byte_pairs import spelled
from exactformer.tokenizers.packaged import gpt2

BYTES = [bytes([byte]) for byte in range(256)]
FEW = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("l", "l"), ("Ċ", "Ċ"), ("Ã", "©")]


def few() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A small vocabulary whose ids are not its ranks: first <|endoftext|>, as tokenizers that are trained anew have it."""
    names = ["<|endoftext|>", *map(spelled, BYTES), *(left + right for left, right in FEW)]
    return {name: id for id, name in enumerate(names)}, FEW


@cache
def gpt2_files() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """GPT-2's vocab.json and merges.txt."""
    return {name: id for id, name in enumerate(gpt2().vocabulary)}, list(gpt2().pairs)


def tokenizer_json(vocab: dict[str, int], pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """As transformers 5 writes it."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    single = [{"Sequence": {"id": "A", "type_id": 0}}]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": vocab["<|endoftext|>"], "content": "<|endoftext|>", **flags}],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {},
        },
        "decoder": {**byte_level, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [list(pair) for pair in pairs],
        },
    }


def write_json(folder: Path, content: object, name: str = "tokenizer.json") -> Path:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def write_pair(folder: Path, vocab: dict[str, int], pairs: list[tuple[str, str]]) -> Path:
    """As transformers 4 and GPT-2's first release wrote them."""
    write_json(folder, vocab, "vocab.json")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in pairs), encoding="utf-8")
    return folder


def load_or_message(folder: Path) -> BytePairTokenizer | str:
    try:
        return load_tokenizer(folder)
    except TokenizerError as error:
        return str(error)
