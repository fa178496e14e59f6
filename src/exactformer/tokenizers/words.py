"""Vocabularies of small models: every token a word, or every token a character."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Self
from unicodedata import category

from exactformer.messages import quoted
from exactformer.tokenizers.tokenizer import Piece, TokenizerError, checked_id, checked_text


class _ListedTokenizer(ABC):
    """A token for each entry of a list."""

    kind: ClassVar[str]
    glue: ClassVar[str]

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = tuple(tokens)
        if not self.tokens:
            raise TokenizerError("vocabulary: is empty")
        self.ids: dict[str, int] = {}
        for id, token in enumerate(self.tokens):
            if not isinstance(token, str) or self._split(token) != [token] or any(category(sign) == "Cs" for sign in token):
                raise TokenizerError(f"vocabulary: entry {id}, {quoted(token)}, is not a {self.kind}")
            if token in self.ids:
                raise TokenizerError(f"vocabulary: has the {self.kind} {quoted(token)} twice")
            self.ids[token] = id
        self.vocabulary = tuple(map(self._name, self.tokens))

    @classmethod
    def of(cls, text: str) -> Self:
        """The tokenizer of the words or characters of a text, in alphabetical order."""
        return cls(sorted(set(cls._split(checked_text(text)))))

    @staticmethod
    @abstractmethod
    def _split(text: str) -> list[str]: ...

    @staticmethod
    @abstractmethod
    def _name(token: str) -> str: ...

    def encode(self, text: str) -> list[int]:
        parts = self._split(checked_text(text))
        for place, part in enumerate(parts, start=1):
            if part not in self.ids:
                few = ", ".join(self.vocabulary[:8]) + (f", … {len(self.tokens):,} {self.kind}s" if len(self.tokens) > 8 else "")
                raise TokenizerError(f"{self.kind} {place} of the text, {quoted(part)}, is not in the vocabulary ({few})")
        return [self.ids[part] for part in parts]

    def encode_bytes(self, data: bytes) -> list[int]:
        try:
            return self.encode(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise TokenizerError(f"byte {error.start}, {data[error.start]:#04x}, is not UTF-8") from None

    def decode(self, ids: Iterable[int]) -> str:
        return self.glue.join(self.tokens[checked_id(id, len(self.tokens))] for id in ids)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        return self.decode(ids).encode("utf-8")

    def piece(self, id: int) -> Piece:
        id = checked_id(id, len(self.tokens))
        return Piece(id, self.vocabulary[id], self.tokens[id].encode("utf-8"), ())

    def pieces(self, text: str) -> list[Piece]:
        return [self.piece(id) for id in self.encode(text)]


class WordTokenizer(_ListedTokenizer):
    """Words with white space between them, as in worksheets. Decoding puts one space between words.

    >>> tokenizer = WordTokenizer(["I", "will", "work", "."])
    >>> tokenizer.encode("I will  work .")
    [0, 1, 2, 3]
    >>> tokenizer.decode([0, 1, 2, 3])
    'I will work .'
    >>> tokenizer.encode("I work hard")
    Traceback (most recent call last):
    exactformer.tokenizers.tokenizer.TokenizerError: word 3 of the text, 'hard', is not in the vocabulary (I, will, work, .)
    """

    kind = "word"
    glue = " "

    def __init__(self, tokens: Iterable[str]) -> None:
        super().__init__(tokens)
        for id, token in enumerate(self.tokens):
            if any(category(sign) == "Cc" for sign in token):
                raise TokenizerError(f"vocabulary: entry {id}, {quoted(token)}, has a control character")

    @staticmethod
    def _split(text: str) -> list[str]:
        return text.split()

    @staticmethod
    def _name(token: str) -> str:
        return token


class CharacterTokenizer(_ListedTokenizer):
    """A token for each of these characters. In names, a space is ␣, and what cannot be seen is an escape.

    >>> CharacterTokenizer("ABC").encode("CBA")
    [2, 1, 0]
    >>> CharacterTokenizer.of("to be\\n").vocabulary
    ('\\\\n', '␣', 'b', 'e', 'o', 't')
    """

    kind = "character"
    glue = ""

    @staticmethod
    def _split(text: str) -> list[str]:
        return list(text)

    @staticmethod
    def _name(token: str) -> str:
        if token == " ":
            return "␣"
        return token if token.isprintable() and token != "␣" else token.encode("unicode_escape").decode("ascii")
