"""Byte-level byte-pair encoding as GPT-2 does it, on the tiktoken library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from exactformer.tokenizers.byte_pairs import merges, spelled
from exactformer.tokenizers.tokenizer import Piece, TokenizerError, checked_id, checked_text

# GPT-2's pattern, which cuts a text before any merge: contractions; words, numbers, other signs, each with at most a space before;
# white space, of which the last character is left to what follows. Possessive, so that long runs need no stack.
_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
# White space in the pattern's sense (Unicode's property, not Python's \s), in runs that might overflow the library's stack.
_LONG_BLANK = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]{1000,}")
_STRAY_BYTES = re.compile("([\udc80-\udcff]+)")


class BytePairTokenizer:
    """Tokens in the order of their ranks (the single bytes first), and the id of each.

    `added` are tables {content: id} of tokens that are found before anything else: those of the first table in the
    text, those of the second in what is left. `others` are tokens that no text becomes, but that a model may choose.

    >>> tokenizer = BytePairTokenizer([*(bytes([byte]) for byte in range(256)), b"ab"], range(257), [{"<end>": 257}])
    >>> tokenizer.encode("abba<end>")
    [256, 98, 97, 257]
    >>> tokenizer.decode([256, 257]), tokenizer.vocabulary[256]
    ('ab<end>', 'ab')
    """

    def __init__(
        self,
        tokens: Sequence[bytes],
        ids: Sequence[int],
        added: Sequence[Mapping[str, int]] = (),
        others: Mapping[int, bytes] = MappingProxyType({}),
    ) -> None:
        self.ranks = {token: rank for rank, token in enumerate(tokens)}
        self.added = {content: id for table in added for content, id in table.items()}
        self._ids = ids
        self._searches = [(_search(table), table) for table in added if table]
        self._bytes = {**others, **dict(zip(ids, tokens, strict=True))}
        self._bytes |= {id: content.encode("utf-8") for content, id in self.added.items()}

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The name of each token: its bytes spelled with visible letters; for an added token its content, if that can be seen.

        Of several that would be named alike, the later ones get primes.
        """
        contents = {id: content for content, id in self.added.items() if content.isprintable() and " " not in content}
        names: dict[str, None] = {}
        for id in range(len(self._bytes)):
            name = contents.get(id) or spelled(self._bytes[id])
            while name in names:
                name += "′"
            names[name] = None
        return tuple(names)

    def encode(self, text: str, added: bool = True) -> list[int]:
        """The ids of a text. With `added=False`, "<|endoftext|>" in it is thirteen characters and not a token."""
        found: list[int] = []
        for part, id in self._parts(checked_text(text), 0 if added else len(self._searches)):
            if id is None:
                found += (self._ids[rank] for stretch in _cut(part) for rank in self._encode_ordinary(stretch))
            else:
                found.append(id)
        return found

    def encode_bytes(self, data: bytes, added: bool = True) -> list[int]:
        """The ids of any bytes. Stretches of UTF-8 are encoded as text; each run of bytes between them is a word of its own."""
        found: list[int] = []
        for n, part in enumerate(_STRAY_BYTES.split(data.decode("utf-8", "surrogateescape"))):
            if n % 2:
                found += (self._ids[self.ranks[token]] for token in merges(part.encode("utf-8", "surrogateescape"), self.ranks)[0])
            else:
                found += self.encode(part, added)
        return found

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        return b"".join(self._bytes[checked_id(id, len(self._bytes))] for id in ids)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; bytes that are not UTF-8, such as half of a character, become U+FFFD (`decode_bytes` keeps them)."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def piece(self, id: int) -> Piece:
        id = checked_id(id, len(self._bytes))
        data = self._bytes[id]
        rank = self.ranks.get(data)
        made = merges(data, self.ranks)[1] if rank is not None and self._ids[rank] == id else ()
        return Piece(id, self.vocabulary[id], data, tuple(made))

    def pieces(self, text: str) -> list[Piece]:
        return [self.piece(id) for id in self.encode(text)]

    def _parts(self, text: str, table: int) -> Iterator[tuple[str, int | None]]:
        """The text in order, cut at the added tokens of this table and the next: (content, id), or (ordinary text, None)."""
        if table == len(self._searches):
            yield text, None
            return
        search, ids = self._searches[table]
        for n, part in enumerate(search.split(text)):
            if n % 2:
                yield part, ids[part]
            elif part:
                yield from self._parts(part, table + 1)

    @cached_property
    def _encode_ordinary(self) -> Callable[[str], list[int]]:
        try:
            from tiktoken import Encoding
        except ImportError:
            raise TokenizerError("byte-pair encoding needs the tiktoken library: pip install tiktoken") from None
        encoding = Encoding("gpt2", pat_str=_PATTERN, mergeable_ranks=self.ranks, special_tokens={})
        encode: Callable[[str], list[int]] = encoding.encode_ordinary
        return encode


def _search(table: Iterable[str]) -> re.Pattern[str]:
    """Finds the leftmost of these contents, of several that start there the longest."""
    return re.compile(f"({'|'.join(map(re.escape, sorted(table, key=len, reverse=True)))})")


def _cut(text: str) -> Iterator[str]:
    """The text, cut before the last character of each long run of white space, where the pattern cuts it in any case."""
    start = 0
    for run in _LONG_BLANK.finditer(text):
        if run.end() < len(text):
            yield text[start : run.end() - 1]
            start = run.end() - 1
    yield text[start:]
