"""Answers for pages without a server, where the page itself checks (web/static/exactly.js). They do not stand there in plain
text, so that nobody reads them by chance. This is no secrecy: whoever wants to can undo it.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from exactformer.exercises.cell import Cell, ExerciseError
from exactformer.exercises.explaining import derivation, hints, question
from exactformer.exercises.judging import FEWEST
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named
from exactformer.numbers.digits import decimal_bounds

DIGITS = 60  # in which a closed form has to agree
_MORE = 10  # digits of the enclosure beyond those


def hidden(cell: Cell, decimals: int = FEWEST) -> dict[str, Any]:
    """An exercise as plain data: the question in words; the answer, the hints and the derivation not.

    >>> from exactformer import load
    >>> from exactformer.exercises.cell import find_cell
    >>> kept = hidden(find_cell(load("capstone").trace(), "blocks.0.ln2.std[1, 0]"))
    >>> kept["cell"], "3/2" in str(kept), revealed(kept)["exact"]
    ('blocks.0.ln2.std[1, 0]', False, '3/2')
    """
    held: dict[str, Any] = {"decimals": decimals, "hints": list(hints(cell)), "derivation": list(derivation(cell))}
    value = cell.value
    if isinstance(value, Exact):
        held["exact"] = str(value)
    elif isinstance(value, Named):
        held["low"], held["high"] = decimal_bounds(value, DIGITS + _MORE)
        held["simplest"] = "" if str(value).startswith("≈") else str(value)
    elif value is MASKED or isinstance(value, str):
        held["word"] = "-inf" if value is MASKED else value
    else:
        raise ExerciseError(f"{cell.name}: has no value that a page could check")
    return {"cell": cell.name, "question": question(cell), "held": _scrambled(json.dumps(held, ensure_ascii=False), cell.name)}


def revealed(kept: dict[str, Any]) -> dict[str, Any]:
    """What `hidden` put away."""
    held = base64.b64decode(kept["held"])
    result: dict[str, Any] = json.loads(_mixed(held, kept["cell"]).decode("utf-8"))
    return result


def _scrambled(text: str, salt: str) -> str:
    return base64.b64encode(_mixed(text.encode("utf-8"), salt)).decode("ascii")


def _mixed(data: bytes, salt: str) -> bytes:
    """Each byte xor one of a stream that the salt starts: FNV-1a, then xorshift. exactly.js does the same."""
    state = 0x811C9DC5
    for byte in salt.encode("utf-8"):
        state = ((state ^ byte) * 0x01000193) & 0xFFFFFFFF
    state = state or 1
    mixed = bytearray()
    for byte in data:
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        mixed.append(byte ^ (state & 0xFF))
    return bytes(mixed)
