"""A Markdown text as the reader sees it: comments outside of code, fenced blocks, and the lines between them.

Only what stands in the way of finding comments is looked at here: fences and code spans, in which a comment is an example of one.
Turning Markdown into a page is markdown-it's work (`page.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exactformer.lessons.lesson import Span

PREFIX = re.compile(r"(?:[ \t]{0,3}>[ \t]?)*[ \t]*")  # a line may stand in a quotation
_FENCE = re.compile(r"((?: {0,3}>[ ]?)* {0,3})(`{3,}|~{3,})[ \t]*([^\r\n]*)")
_MARK = re.compile(r"`+|<!--|\\.", re.DOTALL)
_BLANK = re.compile(r"\n[ \t>]*(?:\r?\n|$)")
LONGEST_COMMENT = 4000


@dataclass(frozen=True)
class Comment:
    """`alone`: nothing else stands on its lines but the marks of a quotation, which are its `prefix`."""

    span: Span
    text: str
    alone: bool
    prefix: str = ""


@dataclass(frozen=True)
class Fence:
    span: Span
    info: str
    body: Span


@dataclass(frozen=True)
class Unclosed:
    """A comment without an end."""

    span: Span


Found = Comment | Fence | Unclosed


def scan(text: str, start: int = 0) -> list[Found]:
    """Every comment and fenced block, in order.

    >>> [type(each).__name__ for each in scan("a <!-- b --> `<!-- c -->`\\n```\\n<!-- d -->\\n```\\n")]
    ['Comment', 'Fence']
    """
    found: list[Found] = []
    at = plain = start
    while at < len(text):
        opening = _FENCE.match(text, at)
        if opening is not None and not (opening[2][0] == "`" and "`" in opening[3]):
            found += _comments(text, plain, at)
            fence = _fence(text, opening)
            found.append(fence)
            at = plain = max(fence.span[1], at + 1)
            continue
        end = text.find("\n", at)
        line_end = len(text) if end < 0 else end + 1
        comment = text.find("<!--", at, line_end)
        if comment >= 0:  # a comment may go on over lines that look like fences
            closed = text.find("-->", comment)
            if closed >= 0 and closed > line_end and "`" not in text[at:comment]:
                end = text.find("\n", closed)
                line_end = len(text) if end < 0 else end + 1
        at = line_end
    return found + list(_comments(text, plain, len(text)))


def _fence(text: str, opening: re.Match[str]) -> Fence:
    mark = opening[2]
    start = text.find("\n", opening.end())
    start = len(text) if start < 0 else start + 1
    closing = re.compile(rf"^(?: {{0,3}}>[ ]?)* {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?$", re.MULTILINE).search(
        text, start
    )
    end = closing.start() if closing else len(text)
    after = closing.end() if closing else len(text)
    return Fence((opening.start(), after), opening[3].strip(), (min(start, end), end))


def _comments(text: str, start: int, end: int) -> Iterator[Found]:
    at = start
    while (mark := _MARK.search(text, at, end)) is not None:
        at = mark.end()
        if mark[0].startswith("`"):
            at = _after_code(text, mark, end)
        elif mark[0] == "<!--":
            closed = text.find("-->", at, end)
            if closed < 0:
                yield Unclosed((mark.start(), min(len(text), mark.start() + 40)))
                return
            yield _comment(text, mark.start(), closed + 3)
            at = closed + 3


def _after_code(text: str, mark: re.Match[str], end: int) -> int:
    """Where a code span ends; a run of backticks that nothing closes in its paragraph is text."""
    blank = _BLANK.search(text, mark.end(), end)
    last = blank.start() if blank else end
    closing = re.compile(rf"(?<!`)`{{{len(mark[0])}}}(?!`)").search(text, mark.end(), last)
    return closing.end() if closing else mark.end()


def _comment(text: str, start: int, end: int) -> Comment:
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    stop = text.find("\n", end)
    after = text[end : len(text) if stop < 0 else stop]
    alone = PREFIX.fullmatch(before) is not None and not after.strip()
    return Comment((start, end), text[start + 4 : end - 3], alone, before if alone else "")
