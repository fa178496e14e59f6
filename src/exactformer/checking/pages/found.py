"""What is found in a page, whatever its markup: comments outside of code, and blocks of code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from exactformer.checking.pages.ours import OURS, near

Span = tuple[int, int]
_CODE = re.compile(r"\{(?:code-block|code|code-cell|sourcecode)\}")  # of MyST; the language follows
_WORDS = re.compile(r"[\w-]+(?![\w-]*=)")
_WORKSHEET = re.compile(r"^\s*(\[\s*model\s*\]|\[\s*circuit\s*\]|\[\[\s*claims\s*\]\]|claims\s*=)", re.MULTILINE)


@dataclass(frozen=True)
class Comment:
    """`alone`: nothing else stands on its lines but the marks of a quotation, which are its `prefix`."""

    span: Span
    text: str
    alone: bool
    prefix: str = ""


@dataclass(frozen=True)
class Fence:
    """A block of code: the line that opens it, and its body; where readers do not see it, the comment that it stands in."""

    span: Span
    info: str
    body: Span
    hidden: Span | None = None

    @property
    def words(self) -> list[str]:
        """
        >>> [Fence((0, 0), info, (0, 0)).words for info in ("toml exactformer", "{.toml .exactformer}", "{code-block} toml")]
        [['toml', 'exactformer'], ['toml', 'exactformer'], ['toml']]
        """
        return _WORDS.findall(_CODE.sub(" ", self.info).lower())

    @property
    def nearly(self) -> bool:
        """Is a word nearly our name? It would be passed over in silence."""
        return any(word != OURS and near(word) for word in self.words)

    def is_worksheet(self, text: str) -> bool:
        """Is it marked as one, or plainly one?"""
        marked = OURS in self.words
        return marked or (self.words[:1] == ["toml"] and self.hidden is None and _WORKSHEET.search(text, *self.body) is not None)


@dataclass(frozen=True)
class Unclosed:
    """A comment without an end."""

    span: Span


Found = Comment | Fence | Unclosed
