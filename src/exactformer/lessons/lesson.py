"""What a lesson is made of: prose, passes, bound numbers and views, each with its place in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exactformer.checking.allowing import NOTHING, Allowed
from exactformer.checking.pages.found import Span
from exactformer.checking.pages.page import Page
from exactformer.messages import Problems

Index = tuple[int, ...]
Style = Literal["plain", "bold", "code", "math"]
OPEN = re.compile(r"[+\-−]?(?:[0-9]+|\?)\.\?+|\?")  # what building writes over: ? as it likes, 0.?? with two decimals
ViewKind = Literal["step", "number", "picture", "break", "claim", "exercise"]


Problem = tuple[int, str]  # its line, 0 of the whole file, and what is told, which begins with the file and the line


class LessonError(Problems):
    """A lesson that is refused. Every problem is one line with its file and line."""


def refuse(problems: Iterable[Problem]) -> None:
    """All of them at once, in the order of the file."""
    told = [text for _, text in sorted(problems, key=lambda problem: problem[0])]
    if told:
        raise LessonError(told)


@dataclass(frozen=True)
class Use:
    """Which pass is meant from here on: a built-in example by `name`, or the text of a worksheet, which errors call `name`."""

    line: int
    name: str
    worksheet: str = ""
    file: str = ""  # the worksheet beside the lesson that it names, not yet read
    tokens: str | None = None
    backward: bool = False
    target: str = ""  # target tokens of the loss; "" for the input itself
    mistake: str = ""  # one that is made on purpose
    called: str = ""  # the name by which the lesson speaks of it later
    fence: int = -1  # where the fenced worksheet begins in the text, for its claims


@dataclass(frozen=True)
class Reference:
    """A step of the pass, or of one that has a name, or some of it: blocks.0.attn.pattern[0, 1], wide: embed."""

    step: str
    index: Index = ()
    of: str = ""

    def __str__(self) -> str:
        named = f"{self.of}: " if self.of else ""
        return named + self.step + (f"[{', '.join(map(str, self.index))}]" if self.index else "")


@dataclass(frozen=True)
class Binding:
    """What a comment binds: a step, or some of it. `after`: its numbers follow this text. `columns`: they stand transposed."""

    to: Reference
    after: str = ""
    columns: bool = False
    allowed: Allowed = NOTHING
    first: int | None = None  # what the index is counted from, where that is said


@dataclass(frozen=True)
class Count:
    """What indices are counted from, from here on."""

    first: int


@dataclass(frozen=True)
class Allow:
    """What is allowed from here on."""

    allowed: Allowed


@dataclass(frozen=True)
class Spot:
    """Where one printed number stands, and how it is set; a percentage is a hundred times the number that is meant."""

    span: Span
    text: str
    style: Style = "plain"
    percent: bool = False

    @property
    def open(self) -> bool:
        """Is it still to be written?"""
        return OPEN.fullmatch(self.text) is not None

    @property
    def places(self) -> int | None:
        """How many decimals are asked for: 0.?? are two."""
        return self.text.count("?", self.text.index(".")) if "." in self.text else None


@dataclass(frozen=True)
class Bound:
    """A number in the prose (one spot), or a table, matrix or code block (rows of spots), bound to a step."""

    line: int
    span: Span  # of the comment
    to: Reference
    kind: Literal["number", "table", "matrix", "code"]
    rows: tuple[tuple[Spot, ...], ...]
    columns: bool = False
    allowed: Allowed = NOTHING
    after: Bound | None = None  # in a block that several comments are bound to, the one whose numbers come before
    more: bool = False  # may there be numbers in the block that are none of its own?


@dataclass(frozen=True)
class View:
    """`written` is where the text for plain readers stands, None where it is not there yet; `prefix` begins each of its lines."""

    line: int
    span: Span  # of the comment, or of all up to the closing one
    kind: ViewKind
    to: Reference = Reference("")
    position: int | None = None
    head: int | None = None
    digits: int = 30
    mistake: str = ""
    claim: str = ""
    tokens: str | None = None  # of an exercise about another input
    total: bool = False  # does an exercise ask for the sum of a row?
    hints: tuple[str, ...] = ()
    written: Span | None = None
    prefix: str = ""


@dataclass(frozen=True)
class Prose:
    span: Span
    text: str


@dataclass(frozen=True)
class Unread:
    """What could not be read, and may have named another pass: up to the next one nobody knows which is meant."""

    span: Span


Block = Prose | Use | Bound | View | Unread


@dataclass(frozen=True)
class Lesson:
    """`text` is what is read, in which all places are: the file, or of a notebook its cells. One with problems is there in part."""

    name: str
    page: Page
    title: str
    blocks: tuple[Block, ...]
    summary: str = ""
    next: str = ""
    language: str = "en"
    folder: Path | None = None  # where worksheets beside it may be read; None where there is no such place
    body: int = 0  # where the text begins after its front matter
    problems: tuple[Problem, ...] = ()

    @property
    def text(self) -> str:
        return self.page.text

    def line(self, at: int) -> int:
        return self.page.line(at)
