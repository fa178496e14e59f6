"""What a pass reads, as a user says it: a text, the ids of tokens, or their names in the vocabulary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from exactformer.model import InputError

MOST_TOKENS = 65_536
_LONELY_COMMA = re.compile(r"^\s*,|,\s*(,|$)")


@dataclass(frozen=True)
class Input:
    """At most one of the three; where none is given, the input is the worksheet's own.

    >>> from exactformer.worksheets import load
    >>> capstone = load("capstone")
    >>> [given.of(capstone) for given in (Input(prompt="a  b"), Input(ids="0,1"), Input(tokens="a b"), Input())]
    [[0, 1], [0, 1], [0, 1], [0, 1]]
    >>> Input(ids="0,3").of(capstone)
    Traceback (most recent call last):
    exactformer.model.forward.InputError: --ids: position 1: no token has the id 3: the vocabulary has 0 to 2
    """

    prompt: str | None = None  # a text, which the model's tokenizer cuts into tokens
    ids: str | None = None  # "0,1" or "0 1"
    tokens: str | None = None  # names in the vocabulary: "a b"

    def __post_init__(self) -> None:
        given = [name for name in ("prompt", "ids", "tokens") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(f"--{given[1]}: does not go with --{given[0]}: the input is given in one way")

    def of(self, worksheet: Any) -> list[int]:
        """The ids of the tokens in the vocabulary of the worksheet's model, which has a position for each of them."""
        vocabulary = worksheet.model.config.vocabulary
        if self.prompt is not None:
            names = tuple(piece.name for piece in worksheet.pieces(self.prompt))
        elif self.ids is not None:
            names = tuple(vocabulary[i] for i in _numbers(self.ids, len(vocabulary)))
        else:
            names = worksheet.own_tokens if self.tokens is None else tuple(self.tokens.split())
        if len(names) > MOST_TOKENS:
            raise InputError(f"the input has {len(names):,} tokens; up to {MOST_TOKENS:,} are taken")
        ids: list[int] = worksheet.model.ids(names)
        return ids


def _numbers(text: str, size: int) -> list[int]:
    """Ids, each of which a vocabulary of `size` tokens has."""
    words = text.replace(",", " ").split()
    if not words:
        raise InputError("--ids: is empty: give at least one token")
    if _LONELY_COMMA.search(text):
        raise InputError("--ids: has a comma without a number before or after it")
    for position, word in enumerate(words):
        if not (word.isascii() and word.isdigit()):
            raise InputError(f"--ids: {word[:40]!r} is not the id of a token: ids are whole numbers such as 0,1,2")
        if len(word) > 9 or int(word) >= size:
            raise InputError(f"--ids: position {position}: no token has the id {word[:40]}: the vocabulary has 0 to {size - 1:,}")
    return list(map(int, words))
