"""A text in reStructuredText as the reader sees it: comments of ours, and blocks of code, of formulas and of doctest.

A comment is `.. exactformer: …`. Markup goes by lines and their indentation, so a block is all that stands further in than the line
that opens it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from exactformer.checking.pages import markdown
from exactformer.checking.pages.found import Comment, Fence, Found
from exactformer.checking.pages.ours import OURS, like_ours

_DIRECTIVE = re.compile(r"\.\. +(code-block|code|sourcecode|math|parsed-literal)::[ \t]*(.*)")
_COMMENT = re.compile(r"\.\.[ \t]+(?!\S+::)(.*)")
_OPTION = re.compile(r"[ \t]*:[\w-]+:")


def scan(text: str, start: int = 0) -> list[Found]:
    """Every comment of ours and every block of code, in order.

    >>> [type(each).__name__ for each in scan(".. exactformer: probs\\n\\n.. code-block:: text\\n\\n   0.27 0.73\\n")]
    ['Comment', 'Fence']
    """
    return list(_Lines(text, start).found())


class _Lines:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.starts = [m.start() for m in re.finditer("^", text, re.MULTILINE) if m.start() >= start and m.start() < len(text)]
        self.starts.append(len(text))

    def line(self, n: int) -> str:
        return self.text[self.starts[n] : self.starts[n + 1]].rstrip("\r\n")

    def indent(self, n: int) -> int:
        line = self.line(n)
        return len(line) - len(line.lstrip())

    def block(self, n: int) -> int:
        """The line after the last that stands further in than line n."""
        end = after = n + 1
        while after < len(self.starts) - 1 and (not self.line(after).strip() or self.indent(after) > self.indent(n)):
            after += 1
            end = after if self.line(after - 1).strip() else end
        return end

    def found(self) -> Iterator[Found]:
        n = paragraph = 0
        while n < len(self.starts) - 1:
            line = self.line(n)
            bare = line.strip()
            paragraph = paragraph if bare and n and self.line(n - 1).strip() else n
            if (directive := _DIRECTIVE.match(bare)) is not None:
                info = directive[2] if directive[1].endswith(("code", "block")) else directive[1]
                end = self.block(n)
                yield self.fence(n, n + 1, end, info)
                n = end
            elif bare == ".." or ((comment := _COMMENT.match(bare)) is not None and like_ours(comment[1])):
                end = self.block(n)
                yield from self.hidden(n, end) if bare == ".." else [self.comment(n, end)]
                n = end
            elif bare.startswith(">>>"):
                end = next((m for m in range(n, len(self.starts) - 1) if not self.line(m).strip()), len(self.starts) - 1)
                yield self.fence(n, n, end, "python")
                n = end
            elif bare.endswith("::") and not bare.startswith("..") and (end := self.block(n)) > n + 1:
                yield self.fence(paragraph, n + 1, end, "")
                n = end
            else:
                n += 1

    def fence(self, opens: int, first: int, end: int, info: str) -> Fence:
        while first < end and (not self.line(first).strip() or _OPTION.match(self.line(first))):
            first += 1
        return Fence((self.starts[opens], self.starts[end]), info, (self.starts[first], self.starts[end]))

    def comment(self, n: int, end: int) -> Comment:
        start = self.starts[n] + self.indent(n)
        stop = self.starts[end - 1] + len(self.line(end - 1))
        return Comment((start, stop), self.text[start + 2 : stop], alone=True)

    def hidden(self, n: int, end: int) -> Iterator[Fence]:
        """Worksheets in a comment, between marks as in Markdown."""
        span = self.starts[n], self.starts[end]
        at = span[0]
        for m in range(n + 1, end):
            here = self.starts[m] + self.indent(m)  # marks may be indented as far as the comment is
            fence = markdown.fence_at(self.text, here, span[1]) if here >= at else None
            if fence is not None:
                at = fence.span[1]
                if OURS in fence.words or fence.nearly:
                    yield replace(fence, hidden=span)
