"""Large arrays of plain numbers in TOML, which Python's JSON reads many times faster than its TOML.

Where an array is JSON as well, both mean the same by it. It is taken out of the text, with as many line ends left as it had, so
that what is said of other lines stays true; a name stands in its place, and when the rest has been parsed, the array.
"""

from __future__ import annotations

import json
import re
from typing import Any


class Decimal(str):
    """A decimal as the file writes it: 1e-05 is 1/100000, and not the float next to it."""

    __slots__ = ()


_BEGIN = re.compile(r"^[ \t]*+[A-Za-z0-9_]++[ \t]*+=[ \t]*+(?=\[)", re.MULTILINE)
_NUMBERS = re.compile(r"[-0-9.eE+,\s\[\]]++")
_BRACKET = re.compile(r"[\[\]]")
_END = re.compile(r"[ \t\r]*+(?:\n|\Z)")
_LARGE = 200  # characters: less is not worth it
_NAME = "array of numbers "
_OF_LINES = ('"' * 3, "'" * 3)  # texts of several lines


def taken_out(text: str) -> tuple[str, list[Any]]:
    """The text without its large arrays of numbers, and these.

    Only a line that begins with a key is looked at, and no document with texts of several lines, in which a line may be anything.
    """
    arrays: list[Any] = []
    if _NAME in text or any(mark in text for mark in _OF_LINES):
        return text, arrays
    parts, done = [], 0
    for begin in _BEGIN.finditer(text):
        if begin.end() < done:
            continue
        found = _array(text, begin.end())
        if found is not None:
            array, end = found
            parts += [text[done : begin.end()], f'"{_NAME}{len(arrays)}"', "\n" * text.count("\n", begin.end(), end)]
            arrays.append(array)
            done = end
    return "".join([*parts, text[done:]]), arrays


def _array(text: str, start: int) -> tuple[list[Any], int] | None:
    """The array of numbers that begins there, and where it ends, if it ends its line and is JSON too."""
    numbers = _NUMBERS.match(text, start)
    if numbers is None or numbers.end() - start < _LARGE:
        return None
    depth = 0
    for bracket in _BRACKET.finditer(text, start, numbers.end()):
        depth += 1 if bracket[0] == "[" else -1
        if not depth:
            break
    if depth or not _END.match(text, bracket.end()):
        return None
    try:
        return json.loads(text[start : bracket.end()], parse_float=Decimal), bracket.end()
    except (ValueError, RecursionError):
        return None


def put_back(value: Any, arrays: list[Any]) -> None:
    """Each array in its place again, in tables and in lists of tables."""
    if not arrays:
        return
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        if type(entry) is str and entry.startswith(_NAME):
            value[key] = arrays[int(entry.removeprefix(_NAME))]
        elif isinstance(entry, dict | list):
            put_back(entry, arrays)
