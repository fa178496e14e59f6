"""JSON files of strangers, read with their sizes and types checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from exactformer.messages import few
from exactformer.tokenizers.tokenizer import TokenizerError, brief

_MAX_BYTES = 64 * 2**20  # a tokenizer.json of 262,144 tokens has 33 million bytes
_MISSING: Any = object()
SUPPORTED = "supported is byte-pair encoding as GPT-2, Llama and Qwen have it"


class Fields:
    """A JSON object with its place in the file."""

    def __init__(self, raw: dict[str, Any], path: Path, place: str = "") -> None:
        self.raw, self.path, self.place = raw, path, place

    def error(self, field: str, problem: str) -> TokenizerError:
        return TokenizerError(f"{self.path}: {self.place}{field} {problem}")

    def take(self, field: str, kind: type, name: str, default: Any = _MISSING) -> Any:
        value = self.raw.get(field, default)
        if value is _MISSING:
            raise self.error(field, "is missing")
        if type(value) is not kind and value is not default:
            raise self.error(field, f"is {brief(value)}, not {name}")
        return value

    def table(self, field: str) -> Fields:
        return Fields(self.take(field, dict, "a table"), self.path, f"{self.place}{field}.")

    def entries(self, field: str) -> dict[str, Any]:
        found: dict[str, Any] = self.take(field, dict, "a table")
        return found

    def items(self, field: str, default: Any = _MISSING) -> list[Any]:
        found: list[Any] = self.take(field, list, "a list", default)
        return found

    def text(self, field: str) -> str:
        return str(self.take(field, str, "a text"))

    def integer(self, field: str) -> int:
        return int(self.take(field, int, "a whole number"))

    def flag(self, field: str, default: bool) -> bool:
        return bool(self.take(field, bool, "true or false", default))

    def only(self, known: Collection[str]) -> None:
        """Refuse a field that is none of these: it might change an id."""
        unknown = [field for field in self.raw if field not in known]
        if unknown:
            said = "is not a known field" if len(unknown) == 1 else "are not known fields"
            raise self.error(few(unknown), f"{said}: {SUPPORTED}")

    def must_be(self, field: str, allowed: tuple[object, ...], default: Any = None) -> None:
        """Settings of which only some values are supported. (In Python 0 == False, in a file they differ.)"""
        value = self.raw.get(field, default)
        if not any(type(value) is type(good) and value == good for good in allowed):
            raise self.error(field, f"is {brief(value)}: {SUPPORTED}")


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file of a size that a tokenizer may have."""
    try:
        if not path.is_file():  # a pipe or a device could be read for ever
            raise TokenizerError(f"{path}: is not a file" if path.exists() else f"{path}: there is no such file")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise TokenizerError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > _MAX_BYTES:
        raise TokenizerError(f"{path}: is larger than {_MAX_BYTES // 2**20} MiB, the most that a tokenizer file may have")
    return data


def read_text(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{path}: byte {error.start} is not UTF-8") from None


def read_fields(path: Path) -> Fields:
    """The object that a JSON file holds."""
    return fields_of(read_text(path), path)


def fields_of(text: str, path: Path) -> Fields:
    """The object that a text is, which was read from `path`."""
    try:
        raw = json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        raise TokenizerError(f"{path}: is not JSON ({error})") from None
    except RecursionError:
        raise TokenizerError(f"{path}: is nested too deeply") from None
    if not isinstance(raw, dict):
        raise TokenizerError(f"{path}: is {brief(raw)}, not a table")
    return Fields(raw, path)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {brief(twice)} is given twice")
    return table
