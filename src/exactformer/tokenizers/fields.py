"""The files of a tokenizer, of which some kinds are read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from exactformer.messages import few
from exactformer.reading import Table, decoded, described, json_table, read_regular
from exactformer.tokenizers.tokenizer import TokenizerError

_MAX_BYTES = 64 * 2**20  # a tokenizer.json of 262,144 tokens has 33 million bytes
SUPPORTED = "supported is byte-pair encoding as GPT-2, Llama and Qwen have it"


class Fields(Table):
    """A JSON table with its place in the file."""

    refusal = TokenizerError

    def only(self, known: Collection[str]) -> None:
        """Refuse a field that is none of these: it might change an id."""
        unknown = [field for field in self.raw if field not in known]
        if unknown:
            said = "is not a known field" if len(unknown) == 1 else "are not known fields"
            raise self.refusal(f"{self.file}: {self.place}{few(unknown)} {said}: {SUPPORTED}")

    def must_be(self, field: str, allowed: tuple[object, ...], default: Any = None) -> None:
        """Settings of which only some values are supported. (In Python 0 == False, in a file they differ.)"""
        value = self.raw.get(field, default)
        if not any(type(value) is type(good) and value == good for good in allowed):
            raise self.error(field, f"is {described(value)}: {SUPPORTED}")


def read_bytes(path: Path) -> bytes:
    return read_regular(path, _MAX_BYTES, "a tokenizer file", TokenizerError)


def read_text(path: Path) -> str:
    return decoded(read_bytes(path), path, TokenizerError)


def read_fields(path: Path) -> Fields:
    """The table that a JSON file holds."""
    return fields_of(read_bytes(path), path)


def fields_of(data: bytes, path: Path) -> Fields:
    """The table that some JSON is, which was read from `path`."""
    return Fields(json_table(data, TokenizerError, path), path)
