"""Vocabularies of small models in a folder: a list of characters or of words.

characters.json   all characters in the order of their ids, as one text or as a list
meta.json         what nanoGPT keeps as meta.pkl: a table with `itos`, from ids to characters, or `stoi`, or both
words.json        a list of words, with white space between them in a text
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exactformer.messages import few
from exactformer.reading import described, json_value
from exactformer.tokenizers.fields import read_bytes
from exactformer.tokenizers.tokenizer import TokenizerError
from exactformer.tokenizers.words import CharacterTokenizer, WordTokenizer

CHARACTERS, META, WORDS = LISTS = ("characters.json", "meta.json", "words.json")


def listed_tokenizer(folder: Path) -> CharacterTokenizer | WordTokenizer | None:
    """The tokenizer of the list that a folder has, if it has one."""
    there = [name for name in LISTS if (folder / name).exists()]
    if len(there) > 1:
        raise TokenizerError(f"{folder}: has {' and '.join(there)}: which of them is the vocabulary?")
    if not there:
        return None
    path = folder / there[0]
    value = json_value(read_bytes(path), TokenizerError, path)
    try:
        if path.name == WORDS:
            return WordTokenizer(_texts(value, path))
        return CharacterTokenizer(_texts(_in_order(value, path) if path.name == META else value, path))
    except TokenizerError as error:
        raise error if str(path) in str(error) else TokenizerError(path, str(error)) from None


def _texts(value: Any, path: Path) -> list[str]:
    if isinstance(value, str):
        return list(value) if path.name != WORDS else value.split()
    if not isinstance(value, list) or not all(type(item) is str for item in value):
        raise TokenizerError(path, "is neither a text nor a list of texts")
    return value


def _in_order(table: Any, path: Path) -> list[Any]:
    """The characters of a meta.json by their ids, which are 0, 1, 2, …"""
    if not isinstance(table, dict) or not table.keys() & {"itos", "stoi"}:
        raise TokenizerError(path, "is not a table with itos or stoi, from ids to characters or back")
    if unknown := sorted(table.keys() - {"itos", "stoi", "vocab_size"}):
        raise TokenizerError(path, f"{few(unknown)} is not a known field: known are itos, stoi and vocab_size")
    orders = [read(table[field], path) for field, read in (("itos", _by_id), ("stoi", _by_character)) if field in table]
    if orders[0] != orders[-1]:
        raise TokenizerError(path, "itos and stoi contradict each other")
    if table.get("vocab_size", len(orders[0])) != len(orders[0]):
        raise TokenizerError(path, "vocab_size", f"is {described(table['vocab_size'])}, but there are {len(orders[0])} characters")
    return orders[0]


def _by_id(itos: Any, path: Path) -> list[Any]:
    if isinstance(itos, list):
        return itos
    if not isinstance(itos, dict) or itos.keys() != {str(n) for n in range(len(itos))}:
        raise TokenizerError(path, "itos", "is neither a list nor a table whose keys are 0, 1, 2, …")
    return [itos[str(n)] for n in range(len(itos))]


def _by_character(stoi: Any, path: Path) -> list[str]:
    ids: list[Any] = list(stoi.values()) if isinstance(stoi, dict) else [None]
    if not all(type(id) is int for id in ids) or sorted(ids) != list(range(len(ids))):
        raise TokenizerError(path, "stoi", "is not a table of characters whose ids are 0, 1, 2, …")
    return sorted(stoi, key=stoi.__getitem__)
