"""What is asked of certified passes: is there a token to prove, is there room for it, and what are tokens called?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from exactformer.model import InputError, Model


def check_question(model: Model, name: str, ids: Sequence[int], tokens: int) -> None:
    """Refuse a model without logits, and one that has too few positions for `tokens` to be proved after `ids`.

    >>> from exactformer.worksheets import load
    >>> check_question(load("capstone").model, "capstone", [0, 1], 2)
    Traceback (most recent call last):
    exactformer.model.forward.InputError: 2 tokens given and 2 to prove take 3 positions; the model has 2
    """
    if model.config.unembedding == "none":
        raise InputError(f"{name}: the model has no logits: there is no token to prove")
    if tokens > 1:
        model.check_fed_back()
    taken, length = len(ids) + tokens - 1, model.config.length  # None: as many positions as one likes
    if length is not None and taken > length:
        given = f"{len(ids):,} token{'s' * (len(ids) != 1)} given"
        raise InputError(f"{given} and {tokens:,} to prove take {taken:,} positions; the model has {length:,}")


def namer(worksheet: Any, said: bool = False) -> Callable[[int], str]:
    """What tokens are called: the text of a piece in quotes, with its id; or the word; or the id alone. Those that are read, or
    those that are `said`."""
    text = texts(worksheet, said)
    quoted = worksheet.tokenizer is not None and not (said and worksheet.model.config.outputs)

    def name(token: int) -> str:
        if quoted and token < len(worksheet.tokenizer.vocabulary):
            return f'"{text(token)}" {token}'
        return text(token)

    return name


def texts(worksheet: Any, said: bool = False) -> Callable[[int], str]:
    """The text of a token: that of its piece; or its word; or #7 where it has but an id. Outputs of their own have no pieces."""
    config, tokenizer = worksheet.model.config, worksheet.tokenizer
    vocabulary = config.spoken if said else config.vocabulary
    tokenizer = None if said and config.outputs else tokenizer

    def text(token: int) -> str:
        if tokenizer is not None and token < len(tokenizer.vocabulary):
            piece: str = tokenizer.piece(token).text
            return piece
        word = vocabulary[token] if token < len(vocabulary) else str(token)
        return f"#{token}" if word == str(token) else "".join(c if c.isprintable() else "?" for c in word)

    return text
