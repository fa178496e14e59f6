"""Where the values of a TOML text stand, so that a number can be rewritten and nothing else.

`tomllib` tells values, not places. This walks over a text that `tomllib` has read, so it need not check anything; whoever uses
a place still compares what stands there with what `tomllib` read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

Path = tuple[str | int, ...]
Span = tuple[int, int]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'|([A-Za-z0-9_-]+)")
_STRINGS = [
    re.compile(r'"""((?:[^\\]|\\.)*?"{0,2})"""(?!")', re.DOTALL),
    re.compile(r"'''(.*?'{0,2})'''(?!')", re.DOTALL),
    re.compile(r'"((?:[^"\\\n]|\\.)*)"'),
    re.compile(r"'([^'\n]*)'"),
]
_BARE = re.compile(r"[^,\]}#\r\n]*")


def positions(text: str) -> dict[Path, Span]:
    """The place of every scalar by its path; of a string, what stands between the quotes.

    >>> text = 'a.b = [0.5, "x"] # one\\n[[c]]\\n[[c]]\\nd = { e = 7 }'
    >>> {path: text[start:end] for path, (start, end) in positions(text).items()}
    {('a', 'b', 0): '0.5', ('a', 'b', 1): 'x', ('c', 1, 'd', 'e'): '7'}
    """
    return _Walk(text).document()


class Located(str):
    """The name of a file that knows where its fields stand: messages about them name the line.

    `line` says of a place in the text, a TOML document, on which line of the file it is.

    >>> file = Located("x.toml")
    >>> file.where("a")
    'x.toml'
    >>> file.locate("[a]\\nb = [1,\\n  2]", lambda at: 1 + "[a]\\nb = [1,\\n  2]".count("\\n", 0, at))
    >>> file.where("a.b[1]"), file.where("a.c"), file.where("d")
    ('x.toml:3', 'x.toml:1', 'x.toml:1')
    """

    def __init__(self, _name: str = "") -> None:
        self.text = ""
        self.line: Callable[[int], int] = lambda at: 1
        self.starts: dict[Path, int] | None = None
        self.problems: list[str] = []  # of fields that were read without an end at the first

    def locate(self, text: str, line: Callable[[int], int]) -> None:
        self.text, self.line = text, line

    def where(self, field: str) -> str:
        """The file and the line of a field, or of the nearest table around it: `claims.0.values[1][0]`."""
        if not self.text:
            return str(self)
        if self.starts is None:
            walk = _Walk(self.text)
            with suppress(ValueError):
                walk.document()
            self.starts = {path: span[0] for path, span in walk.found.items()} | walk.starts
        path: Path = tuple(int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]:]+", field))
        while path and path not in self.starts:
            path = path[:-1]
        return f"{self}:{self.line(self.starts.get(path, 0))}"


class _Walk:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Path, Span] = {}
        self.starts: dict[Path, int] = {}  # of tables and fields

    def document(self) -> dict[Path, Span]:
        prefix: Path = ()
        counts: dict[Path, int] = {}  # of the tables in each array of tables
        while True:
            self.skip(_BLANK)
            if self.at == len(self.text):
                return self.found
            if not self.sees("["):
                self.pair(prefix)
                continue
            many, start = self.sees("[["), self.at
            self.at += 2 if many else 1
            prefix = ()
            parts = self.key()
            for n, part in enumerate(parts):
                prefix = (*prefix, part)
                if many and n == len(parts) - 1:
                    counts[prefix] = counts.get(prefix, -1) + 1
                if prefix in counts:
                    prefix = (*prefix, counts[prefix])
                self.starts.setdefault(prefix, start)
            self.at += 2 if many else 1

    def pair(self, prefix: Path) -> None:
        start = self.at
        path = (*prefix, *self.key())
        for end in range(len(prefix) + 1, len(path) + 1):
            self.starts.setdefault(path[:end], start)
        self.at += 1  # =
        self.skip(_SPACE)
        self.value(path)

    def key(self) -> Path:
        parts: list[str] = []
        while True:
            self.skip(_SPACE)
            match = self.skip(_KEY)
            parts.append(next(group for group in match.groups() if group is not None))
            self.skip(_SPACE)
            if not self.sees("."):
                return tuple(parts)
            self.at += 1

    def value(self, path: Path) -> None:
        self.starts.setdefault(path, self.at)
        if self.sees("["):
            self.items("]", lambda n: self.value((*path, n)))
        elif self.sees("{"):
            self.items("}", lambda _: self.pair(path))
        else:
            self.found[path] = self.scalar()

    def items(self, end: str, item: Callable[[int], None]) -> None:
        self.at += 1
        n = 0
        while True:
            self.skip(_BLANK)
            if self.sees(end):
                self.at += 1
                return
            item(n)
            n += 1
            self.skip(_BLANK)
            if self.sees(","):
                self.at += 1

    def scalar(self) -> Span:
        for pattern in _STRINGS:
            match = pattern.match(self.text, self.at)
            if match:
                self.at = match.end()
                return match.span(1)
        start = self.at
        bare = self.skip(_BARE)[0].rstrip()
        return start, start + len(bare)

    def sees(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def skip(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(f"character {self.at}: not understood")
        self.at = match.end()
        return match
