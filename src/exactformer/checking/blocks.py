"""The worksheets of a text: the whole of a TOML file, or the fenced TOML blocks of a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})[ \t]*([^\r\n]*)", re.MULTILINE)
_OURS = re.compile(r"^\s*(\[model\]|\[\[\s*claims\s*\]\]|claims\s*=)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    text: str
    start: int  # the place of its first character in the file
    line: int  # the line before its first


def blocks(text: str, name: str) -> list[Block]:
    """
    >>> [block.line for block in blocks("# Title\\n```toml\\n[model]\\n```\\n~~~toml\\nother = 1\\n~~~\\n", "lesson.md")]
    [2]
    """
    suffix = PurePath(name).suffix.lower()
    if suffix in (".md", ".markdown") or (suffix != ".toml" and _FENCE.search(text)):
        return list(_fenced(text))
    return [Block(text, 0, 0)]


def _fenced(text: str) -> Iterator[Block]:
    at = 0
    while opening := _FENCE.search(text, at):
        fence, info = opening[2], opening[3].lower().split()
        start = min(opening.end() + len(re.match(r"\r?\n?", text[opening.end() : opening.end() + 2])[0]), len(text))  # type: ignore[index]
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*\r?$", re.MULTILINE).search(text, start)
        end = closing.start() if closing else len(text)
        at = closing.end() if closing else len(text)
        body = text[start:end]
        if "exactformer" in info or (info[:1] == ["toml"] and _OURS.search(body)):
            yield Block(body, start, text.count("\n", 0, start))
