"""Byte-pair encoding itself: the merges that make tokens out of bytes, and the letters that bytes are written with.

Two facts carry this package.

1. A merge inside a stretch of bytes depends on nothing outside it until a merge crosses an end of the stretch, and no merge crosses
   the ends of a token that came out. So the merges of a token are those of its bytes alone, whatever stood around it.
2. Hugging Face's library merges only listed pairs; tiktoken merges any two neighbours whose union is a token, and takes a word that
   is a token whole. They agree on every input if the bytes of each token alone come to that token, at the last by its listed pair:
   then by 1 every merge that tiktoken makes is listed, and having the lowest rank of all it has the lowest of those listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from exactformer.tokenizers.tokenizer import Merge

_VISIBLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_HIDDEN = tuple(byte for byte in range(256) if byte not in _VISIBLE)
_LETTER = {byte: chr(byte) for byte in _VISIBLE} | {byte: chr(0x100 + n) for n, byte in enumerate(_HIDDEN)}
_BYTE = {letter: byte for byte, letter in _LETTER.items()}


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


def merges(data: bytes, ranks: Mapping[bytes, int]) -> tuple[list[bytes], list[Merge]]:
    """The tokens that `data` becomes, and the merges in their order: the lowest rank first, of equal ranks the leftmost.

    >>> parts, made = merges(b"abcab", {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4})
    >>> parts
    [b'a', b'bc', b'ab']
    >>> made
    [Merge(rank=3, left=b'b', right=b'c'), Merge(rank=4, left=b'a', right=b'b')]
    """
    size = len(data)
    ends = [*range(1, size + 1), 0]  # where the part that starts here ends; 0: no part starts here
    before = list(range(-1, size))  # where the part to the left starts
    waiting = [(ranks[pair], i, i + 1, i + 2) for i in range(size - 1) if (pair := data[i : i + 2]) in ranks]
    heapify(waiting)
    made = []
    while waiting:
        rank, start, middle, end = heappop(waiting)
        if ends[start] != middle or ends[middle] != end:
            continue  # one of the two has been merged with another since
        made.append(Merge(rank, data[start:middle], data[middle:end]))
        ends[start], ends[middle], before[end] = end, 0, start
        left, right = before[start], ends[end]
        if start and (found := ranks.get(data[left:end])) is not None:
            heappush(waiting, (found, left, start, end))
        if end < size and (found := ranks.get(data[start:right])) is not None:
            heappush(waiting, (found, start, end, right))
    return [data[start:end] for start, end in enumerate(ends) if end], made
