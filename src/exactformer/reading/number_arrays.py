"""Large arrays of numbers in TOML, which are read many times faster than by Python's TOML.

An array is taken out of the text where all of it is known to be TOML: numbers with commas between them, in brackets that make rows
of the same length. An array of one text stands in its place, with as many line ends. Why nothing else can come out of it: if TOML
reads what is left, and every such text is found again as the one entry of an array, then TOML expected a value there, and went on
after it, as it would have after the array itself. Where one of them is not found, or what is left is refused, the whole text is
read as it is.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from exactformer.numbers.bulk import NUMBER, QUOTED, read_numbers
from exactformer.reading.toml_limits import TEXTS


class Decimal(str):
    """A decimal as the file writes it: 1e-05 is 1/100000, and not the float next to it."""

    __slots__ = ()


_BEGIN = re.compile(rf"{TEXTS.pattern}|(?P<array>=[ \t]*+(?=\[))", re.DOTALL)  # in a text or a comment nothing begins
_COMMENT = re.compile(r"#[^\x00-\x08\n-\x1f\x7f]*+")
_NUMBERS = re.compile(rf"""(?:[-+0-9.eE_, \t\n\[\]]++|"[-+0-9.eE_/]*+"|'[-+0-9.eE_/]*+'|{_COMMENT.pattern})++""")
_ENTRY = rf"""[ \t\n\[]*+(?:{NUMBER}|"{QUOTED}"|'{QUOTED}')[ \t\n\]]*+"""
_ENTRIES = re.compile(rf"(?:{_ENTRY},)*+{_ENTRY}")
_NO_BRACKETS = b"-+0123456789.eE_/\"' \t\n"
_BLANKS = " \t\n"
_LARGE = 200  # characters: less is not worth it
_DEEPEST = 8  # arrays in arrays
_NAME = "array of numbers "


@dataclass(frozen=True)
class NumberArray:
    """A large array that nobody has looked into yet: what it says, without comments, and how long its rows are."""

    text: str
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def numbers(self) -> NDArray[Any]:
        """All numbers, in one row."""
        return read_numbers(self.text)

    def listed(self) -> list[Any]:
        """As TOML has it, in lists: decimals as they are written.

        >>> NumberArray("[[0.50, 1], [+2, '1/3']]", (2, 2)).listed()
        [['0.50', 1], [2, '1/3']]
        """
        try:
            found: list[Any] = json.loads(self.text, parse_float=Decimal)  # many times faster, for those that JSON has, too
        except ValueError:
            found = tomllib.loads(f"a = {self.text}", parse_float=Decimal)["a"]
        return found


def taken_out(text: str) -> tuple[str, list[NumberArray]]:
    """The text without its large arrays of numbers, and these.

    >>> shorter, arrays = taken_out("[weights]\\nW = [" + "0.5, " * 60 + "]")
    >>> shorter, [array.shape for array in arrays]
    ('[weights]\\nW = ["array of numbers 0"]', [(60,)])
    """
    arrays: list[NumberArray] = []
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


def _array(text: str, start: int) -> tuple[NumberArray, int] | None:
    """The array of numbers that begins there, and where it ends."""
    numbers = _NUMBERS.match(text, start)
    if numbers is None or numbers.end() - start < _LARGE:
        return None
    bare = _COMMENT.sub(lambda found: " " * len(found[0]), numbers[0]) if "#" in numbers[0] else numbers[0]
    found = _first(bare)
    if found is None or not _ENTRIES.fullmatch(found[0]):
        return None
    # every entry is a number, after what opens and before what closes: with the brackets of rows this is such an array
    shape = _shape(found[0].encode().translate(None, _NO_BRACKETS).decode())
    return None if shape is None else (NumberArray(found[0], shape), start + found[1])


def _first(text: str) -> tuple[str, int] | None:
    """The array that a text begins with, without the commas at the ends of rows, and how long it is with them.

    >>> _first("[[1, 2, ],\\n[3],], 4]")
    ('[[1, 2],\\n[3]]', 16)
    """
    rows, depth, size = [], 0, 0
    for row in text.split("]")[:-1]:
        depth, size = depth + row.count("[") - 1, size + len(row) + 1
        rows.append(row.rstrip(_BLANKS).removesuffix(","))
        if not depth:
            return "]".join([*rows, ""]), size
    return None


def _shape(brackets: str) -> tuple[int, ...] | None:
    """The lengths of an array and of its rows, if these are alike, by its brackets and commas.

    >>> _shape("[[,,],[,,]]"), _shape("[[,],[]]")
    ((2, 3), None)
    """
    depth = len(brackets) - len(brackets.lstrip("["))
    lengths, row = [], ""
    for level in range(1, min(depth, _DEEPEST) + 1):
        first = brackets[depth - level : brackets.find("]" * level) + level]
        length = (len(first) - 1) // (len(row) + 1)
        row = "[" + ",".join([row] * length) + "]"
        lengths.append(length)
    return tuple(reversed(lengths)) if row == brackets else None


def put_back(document: dict[str, Any], arrays: list[NumberArray], unread: str = "") -> bool:
    """Each array in its place again, in tables and in lists of tables; was every one of them found?

    In the table `unread` they stay as they are, for somebody who needs no lists.
    """
    found = [*_put_back(document.get(unread), arrays, lambda array: array), *_put_back(document, arrays, NumberArray.listed)]
    return len(found) == len(arrays)


def _put_back(value: Any, arrays: list[NumberArray], made: Callable[[NumberArray], Any]) -> Iterator[str]:
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(entry, list) and len(entry) == 1 and type(entry[0]) is str and entry[0].startswith(_NAME):
            value[key] = made(arrays[int(entry[0].removeprefix(_NAME))])
            yield entry[0]
        else:
            yield from _put_back(entry, arrays, made)
