"""The hash of a model as certificates of format 2 have it: version 1, which is written no more.

In this order: the line `exactformer model 1`; a line of JSON with the configuration, keys sorted, exact numbers as texts, and the
number of tokens in place of their names; then for each weight, in the order of `Weights.named()`, a line with its name, its type
and its shape, and its entries in row-major order: the bytes of little-endian floats, or of exact numbers one text a line.

Two things are wrong with it, which is why there is a version 2 (`hash.py`). The same numbers have another hash in another type. And
a closed form that is too long to be shown counts by its first 60 digits alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from exactformer.certificates.hash import ALWAYS, USUAL, usual
from exactformer.model import Config, Model
from exactformer.model.weights import pieces
from exactformer.numbers import Exact
from exactformer.numbers.digits import digits


def first_model_hash(model: Model, progress: Callable[[str], None] = lambda name: None) -> str:
    """Version 1. `progress` gets the name of each weight."""
    digest = hashlib.sha256(b"exactformer model 1\n" + _described(model.config).encode() + b"\n")
    for name, weights in model.weights.named():
        kind = "exact" if weights.dtype == object else weights.dtype.newbyteorder("<").str
        digest.update(f"{name} {kind} {'x'.join(map(str, weights.shape))}\n".encode())
        for piece in pieces(weights):
            digest.update(_entries(piece))
        progress(name)
    return digest.hexdigest()


def _described(config: Config) -> str:
    """Every setting that there was. One that came later is said where it is not as usual: no certificate is of such a model."""
    names = [field.name for field in fields(config) if field.name in (*USUAL, *ALWAYS) or not usual(config, field)]
    said = {name: getattr(config, name) for name in names if name != "vocabulary"}
    return json.dumps(said | {"tokens": len(config.vocabulary)}, sort_keys=True, default=str)


def _entries(piece: Any) -> Any:
    if piece.dtype == object:
        return "".join(f"{_text(number)}\n" for number in piece.flat).encode()
    return np.ascontiguousarray(piece, dtype=piece.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data


def _text(number: Any) -> str:
    """A closed form, which may be shown abridged where it is long, has its first digits besides."""
    return str(number.value) if isinstance(number, Exact) else f"{number} {digits(number, 60)}"
