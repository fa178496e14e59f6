"""What tells one model from every other: a SHA-256 over its configuration and all of its weights.

In this order: the line `exactformer model 1`; a line of JSON with the configuration, keys sorted, exact numbers as texts, and the
number of tokens in place of their names; then for each weight, in the order of `Weights.named()`, a line with its name, its type
and its shape, and its entries in row-major order: the bytes of little-endian floats, or of exact numbers one text a line.

Nothing is joined ambiguously: a line of JSON or of a name ends at its line feed, and type and shape say how many entries follow and
how long they are. One thing is incomplete: a closed form that is too long to be shown counts by its first 60 digits alone, so two
models whose weights differ only in such forms, and there only later, would have one hash. Rational weights are written whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from exactformer.model import Config, Model
from exactformer.numbers import Exact
from exactformer.numbers.enclosure import digits

_TAKEN = "_sha256"  # where a model keeps its hash
_PIECE = 1 << 20  # entries that are copied at a time


def model_hash(model: Model, progress: Callable[[str], None] = lambda name: None) -> str:
    """The hash, read piece by piece: weights are not copied as a whole. `progress` is told the name of each weight.

    It is taken once of each model, whose weights nobody can change.

    >>> from exactformer.worksheets import load
    >>> model_hash(load("capstone").model) == model_hash(load("capstone").model) != model_hash(load("length4").model)
    True
    """
    if _TAKEN in model.__dict__:
        return model.__dict__[_TAKEN]  # type: ignore[no-any-return]
    digest = hashlib.sha256(b"exactformer model 1\n" + described(model.config).encode() + b"\n")
    for name, weights in model.weights.named():
        kind = "exact" if weights.dtype == object else weights.dtype.newbyteorder("<").str
        digest.update(f"{name} {kind} {'x'.join(map(str, weights.shape))}\n".encode())
        for piece in _pieces(weights):
            digest.update(_entries(piece))
        progress(name)
    model.__dict__[_TAKEN] = digest.hexdigest()
    return digest.hexdigest()


def described(config: Config) -> str:
    """The configuration as a line. Tokens are numbers to a proof: what they are called does not change the model."""
    told = {field.name: getattr(config, field.name) for field in fields(config) if field.name != "vocabulary"}
    return json.dumps(told | {"tokens": len(config.vocabulary)}, sort_keys=True, default=str)


def _pieces(weights: Any) -> Iterator[Any]:
    """Parts of an array in row-major order, each small, whatever its strides."""
    if weights.size <= _PIECE or weights.ndim == 0:
        yield weights
    elif weights[0].size > _PIECE:
        for row in weights:
            yield from _pieces(row)
    else:
        rows = max(1, _PIECE // weights[0].size)
        for start in range(0, len(weights), rows):
            yield weights[start : start + rows]


def _entries(piece: Any) -> Any:
    if piece.dtype == object:
        return "".join(f"{_text(number)}\n" for number in piece.flat).encode()
    return np.ascontiguousarray(piece, dtype=piece.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data


def _text(number: Any) -> str:
    """A closed form, which may be shown abridged where it is long, has its first digits besides."""
    return str(number.value) if isinstance(number, Exact) else f"{number} {digits(number, 60)}"
