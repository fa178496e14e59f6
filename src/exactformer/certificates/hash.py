"""What tells one model from every other: a SHA-256 over what its configuration says and over the values of its weights.

In this order, each with its type and its length (`hashing.Digest`): `exactformer model 2`; the number of tokens; the settings that
are not as usual, by name; then for each weight, by name: its name, its shape, and its values in row-major order. Those that are all
floats of 64 bits are the bytes of these, little-endian, with one zero; others are spelled number by number, whole
(`numbers/spelling.py`).

So a model has one hash however its numbers are held: a worksheet's 1/2, a file's 0.5 in float16 and Python's are one value. What
tokens are called is no part of it: tokens are numbers to a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields, replace
from operator import itemgetter
from typing import Any

import numpy as np

from exactformer.hashing import Digest
from exactformer.model import Config, ConfigError, Model, machine
from exactformer.model.weights import block_of, pieces, widened
from exactformer.numbers import Number
from exactformer.numbers.parse import equal_float
from exactformer.numbers.spelling import spelled

_PURPOSE = "exactformer model 2"
_TAKEN = "_sha256"  # where a model keeps its hash

# The settings that version 2 began with: what they are where nothing is said, and those that are always said. Frozen, whatever the
# declared defaults become. One that is not here came later: its default changes nothing about a model, so it counts only where
# something else is said, and the models of before keep their hash.
USUAL = {
    "activation": None, "epsilon": None, "final_norm": False, "hard": False, "heads": 1, "late_mask": False, "length": None,
    "mlp": 0, "positions": "none", "residual": True, "scale_by_block": False, "stable": False, "unembedding": "tied",
}  # fmt: skip
ALWAYS = ("blocks", "dim", "head_dim", "mask", "norm", "scale")


def model_hash(model: Model, progress: Callable[[str], None] = lambda name: None) -> str:
    """The hash, read piece by piece: weights are not copied as a whole. `progress` gets the name of each weight.

    It is taken once of each model, whose weights nobody can change.

    >>> from exactformer.worksheets import load
    >>> model_hash(load("capstone").model) == model_hash(load("capstone").model) != model_hash(load("length4").model)
    True
    """
    if _TAKEN in model.__dict__:
        return model.__dict__[_TAKEN]  # type: ignore[no-any-return]
    model.__dict__[_TAKEN] = _hash(_PURPOSE, model, model.weights.named(), progress)
    return model.__dict__[_TAKEN]  # type: ignore[no-any-return]


def part_hash(model: Model, blocks: range) -> str:
    """What tells these blocks of a model from every other, with all that is in no block where they are the first or the last.

    >>> from exactformer.worksheets import load
    >>> part_hash(load("induction").model, range(1)) == part_hash(load("induction").model, range(1, 2))
    False
    """
    ends = blocks.start == 0 or blocks.stop == model.config.blocks
    wanted = {*blocks, None} if ends else {*blocks}
    weights = ((name, values) for name, values in model.weights.named() if block_of(name) in wanted)
    return _hash(f"exactformer blocks {blocks.start} to {blocks.stop} of a model", model, weights)


def _hash(
    purpose: str, model: Model, weights: Iterable[tuple[str, Any]], progress: Callable[[str], None] = lambda name: None
) -> str:
    """Of weights, in the order of their names."""
    machine.check()  # floats are converted, small ones too
    named = sorted(weights, key=itemgetter(0))
    digest = Digest(purpose).add(len(model.config.vocabulary), unusual(model.config), len(named))
    for name, values in named:
        digest.add(name, tuple(values.shape))
        _add_values(digest, values)
        progress(name)
    return digest.hexdigest()


def unusual(config: Config) -> list[Any]:
    """All but the vocabulary that are not as usual, each with its name. Of outputs, which token is read where each is fed back."""
    said = []
    for field in sorted(fields(config), key=lambda field: field.name):
        value = getattr(config, field.name)
        if field.name != "vocabulary" and not usual(config, field):
            said.append((field.name, list(config.heard) if field.name == "outputs" else _plain(value)))
    return said


def _plain(value: Any) -> Any:
    """Numbers are spelled, one or several."""
    numbers = value if isinstance(value, tuple) else (value,)
    return list(spelled(numbers)) if numbers and all(isinstance(number, Number) for number in numbers) else value


def usual(config: Config, field: Field[Any]) -> bool:
    """Is the setting what it was in configurations that did not have it?"""
    value = getattr(config, field.name)
    if field.name in USUAL:
        return _same(value, USUAL[field.name])
    if field.name in ALWAYS or field.default is MISSING:
        return False
    if _same(value, field.default):
        return True
    try:  # a default may stand for what follows from other settings
        return _same(value, getattr(replace(config, **{field.name: field.default}), field.name))
    except ConfigError:
        return False


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _add_values(digest: Digest, weights: Any) -> None:
    floats = _as_floats(weights) if weights.dtype == object else weights
    if floats is None:
        digest.add("numbers")
        for number in spelled(weights.flat):
            digest.add(number)
    else:
        digest.add("floats").add_bytes(8 * floats.size, map(_float_bytes, pieces(floats)))


def _as_floats(numbers: Any) -> Any | None:
    """The same values as floats of 64 bits; None where one is none."""
    found = np.empty(numbers.size)
    for i, number in enumerate(numbers.flat):
        value = equal_float(number)
        if value is None:
            return None
        found[i] = value
    return found.reshape(numbers.shape)


def _float_bytes(piece: Any) -> memoryview:
    """As float64, which holds every shorter float; -0 + 0 is 0."""
    floats = np.add(widened(piece), 0.0, dtype=np.float64)
    return np.ascontiguousarray(floats, dtype="<f8").reshape(-1).view(np.uint8).data
