"""Models as files: a folder that other programs read too, or a worksheet."""

from __future__ import annotations

import json
import os
from pathlib import Path

from exactformer.checkpoints import Checkpoint, save_checkpoint
from exactformer.messages import Refused
from exactformer.model import Config, Model
from exactformer.tokenizers import CharacterTokenizer, WordTokenizer
from exactformer.tokenizers.lists import CHARACTERS, WORDS
from exactformer.worksheets import Worksheet
from exactformer.worksheets.worksheet import GPT2_TOKENS
from exactformer.worksheets.writing import save_worksheet

_COPIED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt", "added_tokens.json")


def save(thing: Model | Checkpoint | Worksheet, path: str | os.PathLike[str]) -> None:
    """With the ending .toml a worksheet, else a folder. What the format cannot say is refused by its name."""
    path = Path(path)
    if path.suffix not in ("", ".toml"):
        raise Refused(path, "is neither a folder nor a worksheet (.toml)")
    worksheet = thing if isinstance(thing, Worksheet) else Worksheet(thing if isinstance(thing, Model) else thing.model, (), "", "")
    if path.suffix:
        save_worksheet(worksheet, path)
    else:
        save_checkpoint(worksheet.model, path, _tokenizer(worksheet))


def _tokenizer(worksheet: Worksheet) -> dict[str, str]:
    """The files that say what tokens are called, and how a text is cut into them."""
    config, tokenizer = worksheet.model.config, worksheet.tokenizer
    if isinstance(tokenizer, CharacterTokenizer):
        return {CHARACTERS: json.dumps("".join(tokenizer.tokens), ensure_ascii=False) + "\n"}
    if worksheet.origin is not None and tokenizer is not None:
        there = [worksheet.origin.folder / name for name in _COPIED]
        if found := {path.name: path.read_text(encoding="utf-8") for path in there if path.is_file()}:
            return found
    if _numbered(config) or (tokenizer is not None and len(config.vocabulary) == GPT2_TOKENS):
        return {}  # a folder without any names them so
    return {WORDS: json.dumps(WordTokenizer(config.vocabulary).tokens, ensure_ascii=False) + "\n"}


def _numbered(config: Config) -> bool:
    return all(name == str(n) for n, name in enumerate(config.vocabulary))
