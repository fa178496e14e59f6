"""Byte-pair encoding itself: the merges that make a token, and the letters that bytes are written with.

A merge inside a stretch depends on nothing outside it until a merge crosses an end of the stretch, and no merge crosses the ends of
a token that came out. So the merges of a token are those of its own letters alone, whatever stood around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

_VISIBLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_HIDDEN = tuple(byte for byte in range(256) if byte not in _VISIBLE)
_LETTER = {byte: chr(byte) for byte in _VISIBLE} | {byte: chr(0x100 + n) for n, byte in enumerate(_HIDDEN)}
_BYTE = {letter: byte for byte, letter in _LETTER.items()}
LETTERS = tuple(_LETTER.values())  # of all bytes, in the order of GPT-2's vocabulary


def spelled(data: bytes) -> str:
    """Bytes written with a visible letter for each, as GPT-2's vocabulary files write them.

    >>> spelled(b" my\\n")
    'ĠmyĊ'
    """
    return "".join(map(_LETTER.__getitem__, data))


def unspelled(letters: str) -> bytes | None:
    """The bytes that are spelled so, or None if a letter stands for no byte.

    >>> unspelled("Ġmy"), unspelled("a b")
    (b' my', None)
    """
    try:
        return bytes(map(_BYTE.__getitem__, letters))
    except KeyError:
        return None


def merges(letters: str, ranks: Mapping[tuple[str, str], int]) -> tuple[list[str], list[tuple[str, str]]]:
    """The tokens that single letters become, and the merges in their order: the lowest rank first, of equal ranks the leftmost.

    >>> merges("abcab", {("b", "c"): 0, ("a", "b"): 1})
    (['a', 'bc', 'ab'], [('b', 'c'), ('a', 'b')])
    """
    size = len(letters)
    ends = [*range(1, size + 1), 0]  # where the part that starts here ends; 0: no part starts here
    before = list(range(-1, size))  # where the part to the left starts
    waiting = [(ranks[pair], i, i + 1, i + 2) for i in range(size - 1) if (pair := (letters[i], letters[i + 1])) in ranks]
    heapify(waiting)
    made = []
    while waiting:
        _, start, middle, end = heappop(waiting)
        if ends[start] != middle or ends[middle] != end:
            continue  # one of the two has been merged with another since
        made.append((letters[start:middle], letters[middle:end]))
        ends[start], ends[middle], before[end] = end, 0, start
        left, right, part = before[start], ends[end], letters[start:end]
        if start and (found := ranks.get((letters[left:start], part))) is not None:
            heappush(waiting, (found, left, start, end))
        if end < size and (found := ranks.get((part, letters[end:right]))) is not None:
            heappush(waiting, (found, start, end, right))
    return [letters[start:end] for start, end in enumerate(ends) if end], made
