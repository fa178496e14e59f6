"""A Markdown text as the reader sees it: comments outside of code, fenced blocks, and the lines between them.

Only what stands in the way of finding comments is looked at here: fences and code spans, in which a comment is an example of one.
Turning Markdown into a page is markdown-it's work (`lessons/paging.py`). Quarto and MyST are Markdown with more kinds of fences:
`{.toml .exactformer}`, `{code-block} toml`, `:::{math}`; what stands in a note of MyST is read as what stands around it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

from exactformer.checking.pages.found import Comment, Fence, Found, Span, Unclosed
from exactformer.checking.pages.ours import OURS, like_ours

PREFIX = re.compile(r"[ \t>]*")  # a line may stand in a quotation
_FENCE = re.compile(r"([ >]*)(`{3,}|~{3,}|:{3,}(?=[ \t]*\{(?:code|sourcecode|math)))[ \t]*([^\r\n]*)")
_OPTIONS = re.compile(r"(?:[ >]*(?::[\w-]+:|#\|)[^\n]*\n)+|[ >]*---[ \t]*\r?\n(?:[^\n]*\n)*?[ >]*---[ \t]*\r?\n")
_NOTE = re.compile(
    r"\{(?:note|warning|tip|hint|important|caution|attention|danger|error|seealso|admonition|dropdown|exercise|solution|proof"
    r"|theorem|prf:\w+|card|grid|tab-set|tab-item|margin|sidebar|table|figure)\}"
)  # of MyST: Markdown within a fence
_PERCENT = re.compile(r"%([^\r\n]*)")  # a comment of MyST
_INDENT = 4  # blanks of a line of code, in which nothing is a fence
_MARK = re.compile(r"`+|<!--|\\.", re.DOTALL)
_RUN = re.compile(r"`+")
_BLANK = re.compile(r"\n[ \t>]*(?=\r?\n)")
_DEEPEST = 10  # notes within notes
LONGEST_COMMENT = 4000


def scan(text: str, start: int = 0, stop: int | None = None, depth: int = 0) -> list[Found]:
    """Every comment and fenced block, in order.

    >>> [type(each).__name__ for each in scan("a <!-- b --> `<!-- c -->`\\n```\\n<!-- d -->\\n```\\n")]
    ['Comment', 'Fence']
    """
    found: list[Found] = []
    at = plain = start
    last = len(text) if stop is None else stop
    while at < last:
        opening = _FENCE.match(text, at)
        if opening is not None and _opens(opening):
            found += _comments(text, plain, at)
            fence = _fence(text, opening, last)
            note = _NOTE.match(fence.info) and depth < _DEEPEST
            found += scan(text, *fence.body, depth + 1) if note else [fence]
            at = plain = max(fence.span[1], at + 1)
            continue
        percent = _PERCENT.match(text, at)
        if percent is not None and like_ours(percent[1]):
            found += _comments(text, plain, at)
            found.append(Comment(percent.span(), percent[1], alone=True))
            at = plain = percent.end()
            continue
        end = text.find("\n", at, last)
        line_end = last if end < 0 else end + 1
        comment = text.find("<!--", at, line_end)
        if comment >= 0:  # a comment may go on over lines that look like fences
            closed = text.find("-->", comment)
            if closed >= 0 and closed > line_end and "`" not in text[at:comment]:
                end = text.find("\n", closed, last)
                line_end = last if end < 0 else end + 1
        at = line_end
    return found + list(_comments(text, plain, last))


def _opens(opening: re.Match[str]) -> bool:
    """Code in the line itself opens no block, and an indented line is code."""
    before = opening[1].rpartition(">")
    return not (opening[2][0] == "`" and "`" in opening[3]) and len(before[2]) < _INDENT + bool(before[1])


def _fence(text: str, opening: re.Match[str], last: int) -> Fence:
    mark = opening[2]
    start = text.find("\n", opening.end(), last)
    start = last if start < 0 else start + 1
    closing = re.compile(rf"^[ >]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?$", re.MULTILINE).search(text, start, last)
    end = closing.start() if closing else last
    after = closing.end() if closing else last
    options = _OPTIONS.match(text, start, end) if opening[3].startswith("{") else None
    start = options.end() if options else start
    return Fence((opening.start(), after), opening[3].strip(), (min(start, end), end))


def _comments(text: str, start: int, end: int) -> Iterator[Found]:
    at = start
    code = _Code(text, start, end)
    while (mark := _MARK.search(text, at, end)) is not None:
        at = mark.end()
        if mark[0].startswith("`"):
            at = code.after(mark)
        elif mark[0] == "<!--":
            closed = text.find("-->", at, end)
            if closed < 0:
                yield Unclosed((mark.start(), min(len(text), mark.start() + 40)))
                return
            hidden: list[Found] = list(_hidden(text, mark.start(), closed + 3))
            yield from hidden or [_comment(text, mark.start(), closed + 3)]
            at = closed + 3


def _hidden(text: str, start: int, end: int) -> Iterator[Fence]:
    """Worksheets that readers do not see: fences of ours in the comment from `start` to `end`."""
    at = text.find("\n", start, end) + 1
    while 0 < at < end:
        fence = fence_at(text, at, end - 3)
        if fence is not None:
            if fence.nearly or OURS in fence.words:
                yield replace(fence, hidden=(start, end))
            at = max(fence.span[1], at)
        at = text.find("\n", at, end) + 1


def fence_at(text: str, at: int, last: int) -> Fence | None:
    """The block that the line at a place opens, where it opens one."""
    opening = _FENCE.match(text, at, last)
    return _fence(text, opening, last) if opening is not None and _opens(opening) else None


def code_spans(text: str) -> Iterator[Span]:
    """Every code span of a text.

    >>> list(code_spans("a `b` ``c`d`` `e"))
    [(2, 5), (6, 13)]
    """
    at, code = 0, _Code(text, 0, len(text))
    while (run := _RUN.search(text, at)) is not None:
        at = code.after(run)
        if at > run.end():
            yield run.start(), at


class _Code:
    """Where code spans end: at the next run of as many backticks in the same paragraph. Runs are looked up, not searched for."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.runs: dict[int, list[int]] = {}
        for run in _RUN.finditer(text, start, end):
            self.runs.setdefault(len(run[0]), []).append(run.start())
        self.blanks = [blank.start() for blank in _BLANK.finditer(text, start, end)] + [end]

    def after(self, mark: re.Match[str]) -> int:
        """A run that nothing closes is text."""
        same = self.runs.get(len(mark[0]), [])
        n = bisect_left(same, mark.end())
        last = self.blanks[bisect_left(self.blanks, mark.end())]
        return same[n] + len(mark[0]) if n < len(same) and same[n] < last else mark.end()


def _comment(text: str, start: int, end: int) -> Comment:
    line, after = start, end
    while line and text[line - 1] in " \t>":
        line -= 1
    while after < len(text) and text[after] in " \t\r":
        after += 1
    alone = (line == 0 or text[line - 1] == "\n") and (after == len(text) or text[after] == "\n")
    return Comment((start, end), text[start + 4 : end - 3], alone, text[line:start] if alone else "")
