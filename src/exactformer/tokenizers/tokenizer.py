"""What a tokenizer is: text or bytes to ids and back, and the pieces in between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import NamedTuple, Protocol

from exactformer.messages import Refused, quoted


class TokenizerError(Refused):
    """A text, an id or a tokenizer file that does not fit: one line that names it."""


class Merge(NamedTuple):
    """Two neighbouring byte strings made one. Of all merges that are possible, the one of the lowest rank comes first."""

    rank: int
    left: bytes
    right: bytes


@dataclass(frozen=True)
class Piece:
    """One token of a text."""

    id: int
    name: str  # in the vocabulary, such as "Ġmy"
    bytes: bytes
    merges: tuple[Merge, ...]  # what made it out of single bytes, in order

    @property
    def text(self) -> str:
        """The piece as shown: what cannot be seen, and bytes that are not UTF-8, as escapes.

        >>> Piece(198, "Ċ", b"\\n", ()).text, Piece(8582, "ðŁ", b"\\xf0\\x9f", ()).text
        ('\\\\n', '\\\\xf0\\\\x9f')
        """
        return "".join(_shown(character) for character in self.bytes.decode("utf-8", "surrogateescape"))


class Tokenizer(Protocol):
    """Every tokenizer here. `vocabulary` has a name for each id: unique, not empty, printable."""

    @property
    def vocabulary(self) -> tuple[str, ...]: ...

    def encode(self, text: str) -> list[int]: ...

    def encode_bytes(self, data: bytes) -> list[int]: ...

    def decode(self, ids: Iterable[int]) -> str: ...

    def decode_bytes(self, ids: Iterable[int]) -> bytes: ...

    def piece(self, id: int) -> Piece: ...

    def pieces(self, text: str) -> list[Piece]: ...


def checked_text(text: str) -> str:
    """`text`, if it is Unicode text: half of a surrogate pair is not, and has no bytes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise TokenizerError(f"character {error.start + 1} of the text is U+{code:04X}, half of a surrogate pair") from None
    return text


def checked_id(id: int, size: int) -> int:
    """`id`, if one of the `size` tokens has it."""
    try:
        number = index(id)
    except TypeError:
        raise TokenizerError(f"{quoted(id)} is not the id of a token: ids are whole numbers") from None
    if not 0 <= number < size:
        raise TokenizerError(f"no token has the id {quoted(number)}: the vocabulary has 0 to {size - 1}")
    return number


def _shown(character: str) -> str:
    if character == "\\":
        return r"\\"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if 0x80 <= code < 0x100 else character.encode("unicode_escape").decode("ascii")
