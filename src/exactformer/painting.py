"""Text in colour, and verdicts with a mark: ✓ proved or right, ✗ refuted or wrong, ? undecided. Plain text has neither."""

from __future__ import annotations

from collections.abc import Callable

Paint = Callable[[str, str], str]  # text and what it is in, text out

_CODES = {
    "exact": "", "named": "36", "recovered": "32", "masked": "90", "undefined": "31", "float": "", "dim": "90", "strong": "1",
    "right": "32", "wrong": "31", "undecided": "33",
}  # fmt: skip
_MARKS = {True: ("right", "✓"), False: ("wrong", "✗"), None: ("undecided", "?")}


def plain(text: str, status: str) -> str:
    return text


def coloured(text: str, status: str) -> str:
    code = _CODES[status]
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def judged(text: str, verdict: bool | None, paint: Paint) -> str:
    """A verdict in words, with its mark and in its colour where there are colours.

    >>> judged("proved", True, plain), judged("proved", True, coloured)
    ('proved', '\\x1b[32m✓ proved\\x1b[0m')
    """
    status, mark = _MARKS[verdict]
    return text if paint is plain else paint(f"{mark} {text}", status)
