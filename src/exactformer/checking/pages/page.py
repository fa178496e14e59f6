"""A file as it is read: a worksheet, or a page of some markup with comments and blocks of code in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from pathlib import PurePath
from typing import Literal

from exactformer.checking.pages import markdown, rst
from exactformer.checking.pages.found import Found, Span
from exactformer.checking.pages.notebook import Notebook

Kind = Literal["worksheet", "markdown", "rst", "notebook"]
ENDINGS: dict[str, Kind] = {
    ".toml": "worksheet", ".md": "markdown", ".markdown": "markdown", ".qmd": "markdown", ".rmd": "markdown", ".myst": "markdown",
    ".rst": "rst", ".rest": "rst", ".ipynb": "notebook",
}  # fmt: skip
_FENCED = re.compile(r"^ {0,3}(?:`{3}|~{3})|<!--", re.MULTILINE)
_DOTTED = re.compile(r"^\.\. ", re.MULTILINE)


class Page:
    """`text` is what is read and what all spans are places in: the file itself, or of a notebook its cells, one after the other.

    >>> page = Page("# T\\n<!-- exactformer: embed -->\\n", "page.md")
    >>> page.kind, page.line(5), len(page.found())
    ('markdown', 2, 1)
    """

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name
        self.kind = _kind(source, name)
        self._notebook = Notebook(source, name) if self.kind == "notebook" else None
        self.text = source if self._notebook is None else self._notebook.text

    def found(self, start: int = 0) -> list[Found]:
        """Comments and blocks of code from a place on, in order."""
        return rst.scan(self.text, start) if self.kind == "rst" else markdown.scan(self.text, start)

    def line(self, at: int) -> int:
        """The line of the file in which a place of the text stands; of a notebook it names the cell as well."""
        return bisect_right(self._ends, at) + 1 if self._notebook is None else self._notebook.line(at)

    @cached_property
    def _ends(self) -> list[int]:
        return [match.end() for match in re.finditer("\n", self.source)]

    def edited(self, edits: Iterable[tuple[Span, str]]) -> str:
        """The file with other texts in some places, and not one character changed elsewhere.

        >>> Page("It is 0.27.\\n", "page.md").edited([((6, 10), "0.28")])
        'It is 0.28.\\n'
        """
        if self._notebook is not None:
            return self._notebook.edited(edits)
        pieces, at = [], 0
        for (start, end), new in sorted(edits):
            pieces += [self.text[at:start], new]
            at = end
        return "".join([*pieces, self.text[at:]])


def _kind(text: str, name: str) -> Kind:
    """By the ending of its name; where that says nothing, by how it begins."""
    known = ENDINGS.get(PurePath(name).suffix.lower())
    if known is not None:
        return known
    if text.lstrip().startswith("{"):
        return "notebook"
    return "markdown" if _FENCED.search(text) else "rst" if _DOTTED.search(text) else "worksheet"
