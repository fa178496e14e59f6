"""Byte-pair encoding, on Hugging Face's tokenizers library, which cuts texts into tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from exactformer.messages import quoted
from exactformer.tokenizers.byte_pairs import merges, spelled, unspelled
from exactformer.tokenizers.tokenizer import Merge, Piece, TokenizerError, checked_id, checked_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Library

_STRAY_BYTES = re.compile("([\udc80-\udcff]+)")
_FALLBACK = re.compile("<0x([0-9A-F]{2})>")
SPACE = "▁"  # what stands for a space in a vocabulary of characters
Letters = Literal["bytes", "characters"]  # what a letter of a token's name is: a byte that is spelled so, or itself


class BytePairTokenizer:
    """`vocab` has the ids of tokens by name, `pairs` what may be merged, in order; `added` are tokens that are found before all
    else. `before` and `after` are ids that the library puts around a text; with `prefix_space` it puts a space before, which
    `decode` takes away again with `strips_space`.

    >>> from exactformer.tokenizers.packaged import byte_level
    >>> vocab = {spelled(bytes([byte])): byte for byte in range(256)} | {"ab": 256}
    >>> tokenizer = byte_level(vocab, [("a", "b")], {"<end>": 257})
    >>> tokenizer.encode("abba<end>")
    [256, 98, 97, 257]
    >>> tokenizer.decode([256, 257]), tokenizer.vocabulary[256]
    ('ab<end>', 'ab')
    """

    def __init__(
        self,
        library: Library,
        vocab: Mapping[str, int],
        pairs: Sequence[tuple[str, str]],
        added: Mapping[str, int],
        letters: Letters = "bytes",
        before: Sequence[int] = (),
        after: Sequence[int] = (),
        prefix_space: bool = False,
        strips_space: bool = False,
    ) -> None:
        self.pairs, self.added = pairs, dict(added)
        self.before, self.after = list(before), list(after)
        self.prefix_space, self._strips_space = prefix_space, strips_space
        self._library, self._letters, self._ids = library, letters, vocab
        self._bytes = {id: self._held(name) for name, id in vocab.items()}
        self._bytes |= {id: content.encode("utf-8") for content, id in self.added.items()}

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The name of each token: as the vocabulary has it, or for an added token its content, if that can be seen; else its bytes
        spelled with visible letters. Of several that would be named alike, the later ones get primes.
        """
        known = {id: name for name, id in self._ids.items()} if self._letters == "characters" else {}
        known |= {id: content for content, id in self.added.items()}
        names: dict[str, None] = {}
        for id in range(len(self._bytes)):
            name = known.get(id, "")
            if not name.isprintable() or not name or any(sign.isspace() for sign in name):
                name = spelled(self._bytes[id])
            while name in names:
                name += "′"
            names[name] = None
        return tuple(names)

    def encode(self, text: str, added: bool = True) -> list[int]:
        """The ids of a text. With `added=False`, "<|endoftext|>" in it is thirteen characters and not a token, and no token is put
        around the text.
        """
        library = self._library if added else self._without_special
        return list(library.encode(checked_text(text), add_special_tokens=added).ids)

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of any bytes. Stretches of UTF-8 are encoded as text; each run of bytes between them is a word of its own."""
        found: list[int] = []
        for n, part in enumerate(_STRAY_BYTES.split(data.decode("utf-8", "surrogateescape"))):
            if n % 2:
                found += self._stray(part.encode("utf-8", "surrogateescape"))
            elif part:
                found += self._library.encode(part, add_special_tokens=False).ids
        return [*self.before, *found, *self.after]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of the tokens, one after the other."""
        return b"".join(self._bytes[checked_id(id, len(self._bytes))] for id in ids)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids, without the space that encoding puts first where it does. Bytes that are not UTF-8, such as half of
        a character, become U+FFFD (`decode_bytes` keeps them).
        """
        text = self.decode_bytes(ids).decode("utf-8", "replace")
        return text.removeprefix(" ") if self._strips_space else text

    def piece(self, id: int) -> Piece:
        id = checked_id(id, len(self._bytes))
        return Piece(id, self.vocabulary[id], self._bytes[id], self._merges(id))

    def pieces(self, text: str) -> list[Piece]:
        return [self.piece(id) for id in self.encode(text)]

    def _held(self, name: str) -> bytes:
        """What a token of the vocabulary stands for."""
        if self._letters == "bytes":
            data = unspelled(name)
            return name.encode("utf-8") if data is None else data
        byte = _FALLBACK.fullmatch(name)
        return bytes([int(byte[1], 16)]) if byte else name.replace(SPACE, " ").encode("utf-8")

    def _merges(self, id: int) -> tuple[Merge, ...]:
        """What makes a token out of its letters, where merges do."""
        name = self._names.get(id)
        if name is None or id in self.added.values():
            return ()
        parts, made = merges(name, self._ranks)
        if parts != [name]:
            return ()
        first = 256 if self._letters == "bytes" else 0  # as GPT-2 counts: the single bytes have the lowest ranks
        return tuple(Merge(first + self._ranks[pair], *map(self._held, pair)) for pair in made)

    def _stray(self, data: bytes) -> list[int]:
        if self._letters == "bytes":
            return [self._ids[token] for token in merges(spelled(data), self._ranks)[0]]
        names = [f"<0x{byte:02X}>" for byte in data]
        if missing := [name for name in names if name not in self._ids]:
            raise TokenizerError(f"the vocabulary has no token {quoted(missing[0])}, for a byte that is not UTF-8")
        return [self._ids[name] for name in names]

    @cached_property
    def _names(self) -> dict[int, str]:
        return {id: name for name, id in self._ids.items()}

    @cached_property
    def _ranks(self) -> dict[tuple[str, str], int]:
        return {pair: rank for rank, pair in enumerate(self.pairs)}

    @cached_property
    def _without_special(self) -> Library:
        plain = type(self._library).from_str(self._library.to_str())
        plain.encode_special_tokens = True
        return plain
