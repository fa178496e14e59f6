"""Large arrays of numbers in TOML, which Python's JSON reads many times faster than its TOML.

An array is taken out of the text where JSON, without the comma at its end and without comments, means the same by it as TOML. An
array of one text stands in its place, with as many line ends. Why nothing else can come out of it: if TOML reads what is left, and
every such text is found again as the one entry of an array, then TOML expected a value there, and went on after it, as it would
have after the array itself. Where one of them is not found, or what is left is refused, the whole text is read as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from exactformer.reading.toml_limits import TEXTS


class Decimal(str):
    """A decimal as the file writes it: 1e-05 is 1/100000, and not the float next to it."""

    __slots__ = ()


_BEGIN = re.compile(rf"{TEXTS.pattern}|(?P<array>=[ \t]*+(?=\[))", re.DOTALL)  # in a text or a comment nothing begins
_COMMENT = re.compile(r"#[^\x00-\x08\n-\x1f\x7f]*+")
_NUMBERS = re.compile(rf"""(?:[-0-9.eE+, \t\n\[\]]++|"[-0-9.eE+/]*+"|{_COMMENT.pattern})++""")
_NO_ENTRY = re.compile(r"\[[ \t\n]*+,")  # before its comma
_BLANKS = " \t\n"
_LARGE = 200  # characters: less is not worth it
_DEEPEST = 8  # arrays in arrays
_NAME = "array of numbers "


def taken_out(text: str) -> tuple[str, list[Any]]:
    """The text without its large arrays of numbers, and these.

    >>> shorter, arrays = taken_out("[weights]\\nW = [" + "0.5, " * 60 + "]")
    >>> shorter, len(arrays[0])
    ('[weights]\\nW = ["array of numbers 0"]', 60)
    """
    arrays: list[Any] = []
    given, text = text, text.replace("\r\n", "\n")  # as TOML has it
    if _NAME in text or "\r" in text:
        return given, arrays
    parts, done, at = [], 0, 0
    while begin := _BEGIN.search(text, at):
        at = begin.end()
        if begin["array"] and (found := _array(text, at)) is not None:
            array, end = found
            parts += [text[done:at], f'["{_NAME}{len(arrays)}"', "\n" * text.count("\n", at, end), "]"]
            arrays.append(array)
            done = at = end
    return "".join([*parts, text[done:]]), arrays


def _array(text: str, start: int) -> tuple[list[Any], int] | None:
    """The array of numbers that begins there, and where it ends, if it is JSON but for comments and the commas at its ends."""
    numbers = _NUMBERS.match(text, start)
    if numbers is None or numbers.end() - start < _LARGE:
        return None
    bare = _COMMENT.sub(lambda found: " " * len(found[0]), numbers[0]) if "#" in numbers[0] else numbers[0]
    if _NO_ENTRY.search(bare):
        return None
    rows, depth, end = [], 0, start
    for row in bare.split("]")[:-1]:
        depth, end = depth + row.count("["), end + len(row) + 1
        rows.append(row.rstrip(_BLANKS).removesuffix(","))
        if depth > _DEEPEST:
            return None
        depth -= 1
        if not depth:
            break
    else:
        return None
    try:
        return json.loads("]".join([*rows, ""]), parse_float=Decimal), end
    except ValueError:
        return None


def put_back(document: dict[str, Any], arrays: list[Any]) -> bool:
    """Each array in its place again, in tables and in lists of tables; was every one of them found?"""
    return sum(_put_back(document, arrays)) == len(arrays)


def _put_back(value: Any, arrays: list[Any]) -> Iterator[int]:
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(entry, list) and len(entry) == 1 and type(entry[0]) is str and entry[0].startswith(_NAME):
            value[key] = arrays[int(entry[0].removeprefix(_NAME))]
            yield 1
        elif isinstance(entry, dict | list):
            yield from _put_back(entry, arrays)
