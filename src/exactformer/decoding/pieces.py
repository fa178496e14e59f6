"""The text of a continuation, token by token: a character is handed out once all of its bytes are there."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from exactformer.tokenizers import Tokenizer


class Pieces:
    """Fed with one token after another. Without a tokenizer, tokens are words with a space between them.

    >>> from exactformer.tokenizers import gpt2
    >>> pieces = Pieces(gpt2(), (), [])
    >>> [pieces.text(id) for id in gpt2().encode("ก!")]
    ['', 'ก', '!']
    """

    def __init__(self, tokenizer: Tokenizer | None, vocabulary: tuple[str, ...], prompt: Sequence[int]) -> None:
        self.tokenizer, self.vocabulary = tokenizer, vocabulary
        self.ids: list[int] = []
        self.done = 0  # bytes that went to the decoder
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        if tokenizer is not None:
            self.decoder.decode(tokenizer.decode_bytes(self._known(prompt)))  # a prompt may end inside a character

    def text(self, id: int, last: bool = False) -> str:
        """What can be shown now that this token is there. At the last one, what is left of a character becomes U+FFFD."""
        if self.tokenizer is None:
            self.ids.append(id)
            return ("" if len(self.ids) == 1 else " ") + self.vocabulary[id]
        self.ids += self._known([id])
        so_far = self.tokenizer.decode_bytes(self.ids)
        new, self.done = so_far[self.done :], len(so_far)
        return self.decoder.decode(new, last)

    def rest(self) -> str:
        """What is left when no token follows."""
        return self.decoder.decode(b"", True)

    def _known(self, ids: Sequence[int]) -> list[int]:
        """Without those that the tokenizer has no text for: models may have more rows than there are tokens."""
        assert self.tokenizer is not None
        return [id for id in ids if id < len(self.tokenizer.vocabulary)]
