"""JSON files of strangers, read with their sizes and types checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from exactformer.messages import few
from exactformer.tokenizers.tokenizer import TokenizerError, brief

_MAX_BYTES = 16 * 2**20  # GPT-2's tokenizer.json has 3.6 million bytes at its longest
_MISSING: Any = object()


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
            raise self.error(few(unknown), f"{said}: only byte-level byte-pair encoding as GPT-2's is supported")

    def must_be(self, field: str, allowed: tuple[object, ...], default: Any = None) -> None:
        """Settings of which only one value means GPT-2's tokenizer. (In Python 0 == False, in a file they differ.)"""
        value = self.raw.get(field, default)
        if not any(type(value) is type(good) and value == good for good in allowed):
            raise self.error(field, f"is {brief(value)}: only byte-level byte-pair encoding as GPT-2's is supported")


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
    try:
        raw = json.loads(read_text(path), object_pairs_hook=_unique)
    except TokenizerError:
        raise
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
