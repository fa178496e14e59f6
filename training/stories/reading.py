"""Is a text a story of the grammar? The story is told again with every choice in turn, up to the first letter that differs.

>>> from training.stories.grammar import write
>>> text = write(0).text
>>> unread(text), unread(text[:100]), unread("Twice upon a time")
('', '', 'Twice upon a time')
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from training.stories.grammar import tell
from training.stories.telling import Telling


class _Over(Exception):
    """The text is read to its end, or differs."""


@dataclass
class _Reading:
    """One telling, by a script of choices; where the script ends, the first choice is taken and added to it."""

    text: str
    script: list[int]
    sizes: list[int] = field(default_factory=list)  # how many choices there were at each turn
    read: int = 0

    def choose(self, options: Sequence[Any]) -> Any:
        different = list(dict.fromkeys(options))
        if len(self.sizes) == len(self.script):
            self.script.append(0)
        self.sizes.append(len(different))
        return different[self.script[len(self.sizes) - 1]]

    def emit(self, piece: str) -> None:
        rest = self.text[self.read : self.read + len(piece)]
        common = next((i for i, letter in enumerate(rest) if letter != piece[i]), len(rest))
        self.read += common
        if common < len(piece) or self.read == len(self.text):
            raise _Over


def unread(text: str) -> str:
    """What is left after the longest beginning that the grammar can tell: nothing of a story, whole or begun."""
    script: list[int] = []
    furthest = 0
    while True:
        reading = _Reading(text, script)
        with suppress(_Over):
            tell(Telling(reading.choose, reading.emit))
        furthest = max(furthest, reading.read)
        if furthest == len(text):
            return ""
        while script and script[-1] + 1 == reading.sizes[len(script) - 1]:  # depth first: the last turn that has another choice
            script.pop()
        if not script:
            return text[furthest:]
        script[-1] += 1
