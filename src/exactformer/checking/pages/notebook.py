"""A notebook as its readers see it: the texts of its cells, and the outputs that a comment is bound to. Nothing of it is run.

A text is made of it, Markdown in which each output is a block of code. Where every character stands in the file is kept, so that
a number is rewritten there and nothing else, and in which cell, which is what readers see. Strings and their places are read by the
scanner of `json` itself.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from exactformer.checking.pages.found import Span
from exactformer.checking.pages.ours import like_ours
from exactformer.messages import Refused
from exactformer.reading import described, json_table

LARGEST = 64 * 2**20  # bytes: pictures stand in notebooks as text
_MOST = 2**20  # characters of what is read
_CHARACTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.", re.DOTALL)
_COMMENT = re.compile(r"^[ \t]*#(.*)$", re.MULTILINE)
_FORMAT = 4  # that is read


class NotebookError(Refused):
    """A notebook that cannot be read: one line that names the file and the part at fault."""


class CellLine(int):
    """A line of the file; as text also the cell and the line in it, both counted from 1."""

    cell: int
    row: int
    output: bool  # is it a line of what the cell puts out?

    @property
    def seen(self) -> str:
        return f"cell {self.cell}, line {self.row}{' of its output' * self.output}"

    def __str__(self) -> str:
        return f"{int(self)}: {self.seen}"


class _Placed(str):
    """A text of the document, and where it begins in the file, after its quote."""

    place: int


class _Decoder(json.JSONDecoder):
    def __init__(self) -> None:
        super().__init__()
        self.parse_string = _placed
        self.scan_once = py_make_scanner(self)


def _placed(text: str, start: int, strict: bool = True) -> tuple[str, int]:
    value, end = scanstring(text, start, strict)
    found = _Placed(value)
    found.place = start
    return found, end


class Notebook:
    """`text` is what is read; `places` has, for each of its characters, where it stands in the file."""

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name
        self.parts: list[str] = []
        self.places = array("q")
        self.starts = [0]  # where a piece of a cell begins in what is read
        self.cells = [(1, 1, False)]  # its cell, the line in it, and whether it is of its output
        json_table(source.encode("utf-8", "replace"), NotebookError, name)  # no key twice, not nested without end
        document = _Decoder().decode(source)
        if document.get("nbformat") != _FORMAT:
            raise NotebookError(
                f"{name}: nbformat is {described(document.get('nbformat'))}: notebooks of format {_FORMAT} are read"
            )
        waiting = False  # does the text before a cell end in a comment, which may be bound to its output?
        for n, cell in enumerate(self._list(document.get("cells"), "cells")):
            where = f"cells[{n}]"
            kind = cell.get("cell_type") if isinstance(cell, dict) else None
            if kind == "markdown":
                text = self._texts(cell.get("source"), f"{where}.source")
                self._begin(n + 1, 1)
                for part in text:
                    self._take(part)
                waiting = "".join(text).rstrip().endswith("-->")
                self._put("\n\n")
            elif kind == "code":
                self._code(cell, n, waiting)
                waiting = False
        self.text = "".join(self.parts)

    def line(self, at: int) -> CellLine:
        """The line of the file in which a place of the text stands, and of the cell."""
        place = self.places[min(at, len(self.places) - 1)] if self.places else 0
        found = CellLine(bisect_right(self.ends, place) + 1)
        n = bisect_right(self.starts, at) - 1
        found.cell, row, found.output = self.cells[n]
        found.row = row + self.text.count("\n", self.starts[n], at)
        return found

    @cached_property
    def ends(self) -> list[int]:
        return [match.end() for match in re.finditer("\n", self.source)]

    def _code(self, cell: dict[str, Any], n: int, waiting: bool) -> None:
        where = f"cells[{n}]"
        texts = self._texts(cell.get("source"), f"{where}.source")
        comments = list(_ours(texts))
        for comment, place, row in comments:
            self._begin(n + 1, row)
            self._put("<!--", place)
            self._put(comment, place)
            self._put(" -->\n", place)
        if not (comments or waiting):
            return
        outputs = self._list(cell.get("outputs"), f"{where}.outputs")
        shown = [self._output(each, f"{where}.outputs[{m}]", n + 1) for m, each in enumerate(outputs)]
        mark = "~" * max([3, *(1 + len(run) for parts in shown for part in parts for run in re.findall("~+", part))])
        self._put(f"{mark}\n")
        row = 1
        for parts in shown:
            for part in parts:
                self._begin(n + 1, row, output=True)
                self._take(part)
                row += part.count("\n")
            if parts and not parts[-1].endswith("\n"):  # the next output is shown below
                self._put("\n")
                row += 1
        self._put(f"\n{mark}\n\n")

    def _output(self, output: Any, where: str, cell: int) -> list[_Placed]:
        """What is printed, or shown as plain text; what is shown as a table of HTML is not read."""
        if not isinstance(output, dict):
            raise NotebookError(f"{self.name}: {where} is {described(output)}, not a table")
        if output.get("output_type") == "stream":
            return self._texts(output.get("text"), f"{where}.text") if output.get("name") != "stderr" else []
        data = output.get("data", {})
        if not isinstance(data, dict):
            raise NotebookError(f"{self.name}: {where}.data is {described(data)}, not a table")
        if "text/html" in data:
            line = self._line(data["text/html"])
            raise NotebookError(
                f"{self.name}:{line}: cell {cell}: its output is shown as HTML, which is not read: print it as text"
            )
        return self._texts(data["text/plain"], f"{where}.data.text/plain") if "text/plain" in data else []

    def _list(self, value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise NotebookError(f"{self.name}: {where} is {described(value)}, not a list")
        return value

    def _texts(self, value: Any, where: str) -> list[_Placed]:
        """A text, which may stand there as a list of its lines."""
        texts = value if isinstance(value, list) else [value]
        for n, text in enumerate(texts):
            if not isinstance(text, _Placed):
                raise NotebookError(f"{self.name}: {where}{f'[{n}]' * isinstance(value, list)} is {described(text)}, not a text")
        return texts

    def _line(self, value: Any) -> int:
        first = value[0] if isinstance(value, list) and value else value
        return self.source.count("\n", 0, getattr(first, "place", 0)) + 1

    def _begin(self, cell: int, row: int, output: bool = False) -> None:
        """What is taken next stands there."""
        self.starts.append(len(self.places))
        self.cells.append((cell, row, output))

    def _put(self, text: str, place: int | None = None) -> None:
        """What is not in the file; messages about it name the place where it is put in."""
        here = (self.places[-1] if self.places else 0) if place is None else place
        self.parts.append(text)
        self.places.extend([here] * len(text))

    def _take(self, text: _Placed) -> None:
        if len(self.places) + len(text) > _MOST:
            raise NotebookError(f"{self.name}: has more than {_MOST:,} characters of text")
        self.parts.append(text)
        self.places.extend(_characters(self.source, text))

    def edited(self, edits: Iterable[tuple[Span, str]]) -> str:
        """The file with other texts in some places of what is read."""
        result, plain = self.source, self.source.isascii()
        for (start, end), new in sorted(edits, reverse=True):
            first = self.places[start]
            last = self.places[end - 1]
            written = _CHARACTER.match(self.source, last)
            stop = written.end() if written else last
            if end <= start or json.loads(f'"{self.source[first:stop]}"', strict=False) != self.text[start:end]:
                raise NotebookError(f"{self.name}: what is to be written stands in no one text of the notebook")
            result = result[:first] + json.dumps(new, ensure_ascii=plain)[1:-1] + result[stop:]
        return result


def _characters(source: str, text: _Placed) -> Iterator[int]:
    """Where each character of a text stands."""
    at = text.place
    for _ in text:
        yield at
        at = _CHARACTER.match(source, at).end()  # type: ignore[union-attr]


def _ours(texts: Iterable[_Placed]) -> Iterator[tuple[str, int, int]]:
    """The comments of ours in the code of a cell, each with the place of its text in the file, and its line in the cell."""
    row = 1
    for text in texts:
        for comment in _COMMENT.finditer(text):
            if like_ours(comment[1]):
                yield comment[1], text.place, row + text.count("\n", 0, comment.start(1))
        row += text.count("\n")
