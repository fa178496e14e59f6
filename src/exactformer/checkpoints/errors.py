"""What is wrong with a checkpoint, in one line."""

from __future__ import annotations

from pathlib import Path

from exactformer.messages import whole_number

_LONGEST = 60


class CheckpointError(ValueError):
    """A file, a field or a tensor that cannot be read, in one line that names it.

    >>> str(CheckpointError("config.json", "n_head", "is missing"))
    'config.json: n_head: is missing'
    """

    def __init__(self, *parts: Path | str) -> None:
        text = ": ".join(map(str, parts))
        super().__init__("".join(c if c.isprintable() else "?" for c in text))


def shown(value: object) -> str:
    """A name or a value from a file: quoted, in printable characters, and not longer than a line can hold.

    >>> shown("h.0\\n"), shown("x" * 100)
    ("'h.0\\\\n'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…")
    """
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a table"
    if value is None:
        return "null"
    if type(value) is int:
        return whole_number(value)
    text = ascii(value[: _LONGEST + 1]) if type(value) is str else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 2] + "…"
