"""What is asked of certified passes: which tokens are continued, how many follow, and what tokens are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactformer.model import InputError


def question(worksheet: Any, source: str, prompt: str | None, ids: str | None, tokens: int) -> list[int]:
    """The ids that a prompt is, or numbers such as "31373 616", or the worksheet's own input; with room for `tokens` to follow.

    >>> from exactformer.worksheets import load
    >>> question(load("capstone"), "capstone", "a b", None, 1)
    [0, 1]
    >>> question(load("capstone"), "capstone", None, "0 3", 1)
    Traceback (most recent call last):
    exactformer.model.errors.InputError: position 1: no token has the id 3: the vocabulary has 0 to 2
    """
    model = worksheet.model
    _refuse(model.config.unembedding == "none", f"{source}: the model has no logits: there is no token to prove")
    _refuse(prompt is not None and ids is not None, "--ids: does not go with --prompt")
    if prompt is not None:
        found = [piece.id for piece in worksheet.pieces(prompt)]
    elif ids is not None:
        found = _numbers(ids)
    else:
        _refuse(not worksheet.tokens, f"--prompt: is missing: what is {source} to continue? (or: --ids)")
        found = model.ids(worksheet.tokens)
    size, length = len(model.config.vocabulary), model.config.length
    for position, token in enumerate(found):
        _refuse(token >= size, f"position {position}: no token has the id {token:,}: the vocabulary has 0 to {size - 1:,}")
    taken = len(found) + tokens - 1
    _refuse(
        length is not None and taken > length,
        f"--tokens: {len(found):,} given and {tokens:,} to prove take {taken:,} positions; the model has {length:,}",
    )
    return found


def _numbers(ids: str) -> list[int]:
    words = ids.replace(",", " ").split()
    for word in words:
        _refuse(not (word.isascii() and word.isdigit() and len(word) <= 9), f"--ids: {word[:40]!r} is not the id of a token")
    _refuse(not words, "--ids: is empty: give at least one token")
    return list(map(int, words))


def _refuse(wrong: bool, problem: str) -> None:
    if wrong:
        raise InputError(problem)


def namer(worksheet: Any) -> Callable[[int], str]:
    """What tokens are called: the text of a piece in quotes, with its id; or the word; or the id alone."""
    text = texts(worksheet)
    quoted = worksheet.tokenizer is not None

    def name(token: int) -> str:
        if quoted and token < len(worksheet.tokenizer.vocabulary):
            return f'"{text(token)}" {token}'
        return text(token)

    return name


def texts(worksheet: Any) -> Callable[[int], str]:
    """The text of a token: that of its piece; or its word; or #7 where it has but an id."""
    tokenizer, vocabulary = worksheet.tokenizer, worksheet.model.config.vocabulary

    def text(token: int) -> str:
        if tokenizer is not None and token < len(tokenizer.vocabulary):
            piece: str = tokenizer.piece(token).text
            return piece
        word = vocabulary[token] if token < len(vocabulary) else str(token)
        return f"#{token}" if word == str(token) else "".join(c if c.isprintable() else "?" for c in word)

    return text
