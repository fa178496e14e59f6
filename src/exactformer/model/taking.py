"""How a model takes its weights: arrays of exact numbers, or of floats whose values every arithmetic takes exactly.

Nobody can write to them afterwards. So whoever keeps what was computed from an array may go by the array itself.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from exactformer.model.config import Config
from exactformer.model.fields import Array, ConfigError
from exactformer.model.weights import BlockWeights, Weights, declared, rebuilt_weights
from exactformer.numbers import Exact, Named, Undefined

_FLOATS = tuple(map(np.dtype, ("float16", "float32", "float64")))  # of this machine's byte order
_NUMBERS = {Exact, Named, Undefined}


def taken(config: Config, weights: Weights) -> Weights:
    """The weights as a model holds them: each has its place in the configuration and its shape, none is missing, all are numbers.

    What somebody could still write to, through the array or through one that it is a view of, is copied.

    >>> config = Config(vocabulary=("a",), dim=1, blocks=0, norm="none", mask="causal", scale="none")
    >>> taken(config, Weights(W_E=np.ones((1, 1), dtype=np.longdouble)))
    Traceback (most recent call last):
    exactformer.model.fields.ConfigError: W_E: has the dtype longdouble: float16, float32, float64 are taken, and exact numbers
    """
    _check_groups(weights)
    known = declared(config)
    given = dict(weights.named())
    for name, value in given.items():
        if name not in known:
            raise ConfigError(name, "has no place in this model")
        _check_kind(name, value)
        if tuple(value.shape) != known[name].shape:
            raise ConfigError(name, f"has the shape {_shape(value.shape)}, not {_shape(known[name].shape)}")
        _check_entries(name, value)
    for name, weight in known.items():
        if name not in given and not weight.optional:
            raise ConfigError(name, "is missing")
    if all(map(_lasting, given.values())):
        return weights
    return rebuilt_weights(weights, {name: value if _lasting(value) else _copied(value) for name, value in given.items()})


def _check_groups(weights: Any, kind: type = Weights, name: str = "") -> None:
    """Of these very classes: another could hold weights back."""
    if type(weights) is not kind:
        raise ConfigError(name.rstrip(".") or "weights", f"is of the class {type(weights).__name__}, not {kind.__name__}")
    for field in fields(kind):
        value = getattr(weights, field.name)
        if field.name == "blocks":
            if type(value) is not tuple:
                raise ConfigError("blocks", "is not a tuple of BlockWeights")
            for n, block in enumerate(value):
                _check_groups(block, BlockWeights, f"blocks.{n}.")
        elif "kind" in field.metadata and not (value is None and field.default is None):
            _check_groups(value, field.metadata["kind"], f"{name}{field.name}.")


def _check_kind(name: str, value: Any) -> None:
    """An array itself, no subclass such as a masked one, of numbers that every arithmetic takes as they are."""
    if not isinstance(value, np.ndarray):
        raise ConfigError(name, "is not an array of numbers: make one with exactformer.array")
    if type(value) is not np.ndarray:
        raise ConfigError(name, f"is of the class {type(value).__name__}: give a plain array, as numpy.asarray makes it")
    if value.dtype != object and value.dtype not in _FLOATS and not (value.dtype.name == "bfloat16" and _mapped(value)):
        taken = ", ".join(dtype.name for dtype in _FLOATS)
        kind = value.dtype.name if value.dtype.isnative else value.dtype.str
        raise ConfigError(name, f"has the dtype {kind}: {taken} are taken, and exact numbers, as exactformer.array makes them")


def _check_entries(name: str, value: Array) -> None:
    """Numbers of ours, or finite floats. The floats of a mapped file are looked at when they are computed with."""
    held = value[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.strides)]  # what is there but once
    if value.dtype == object:
        if not set(map(type, held.flat)) <= _NUMBERS:
            wrong = next(i for i, x in enumerate(value.flat) if type(x) not in _NUMBERS)
            kind = type(value.flat[wrong]).__name__
            raise ConfigError(entry(name, value, wrong), f"is a {kind}, not an exact number: make arrays with exactformer.array")
    elif not _mapped(value) and not np.isfinite(held).all():
        raise ConfigError(entry(name, value, int(np.argmin(np.isfinite(value)))), "is infinite or not a number")


def entry(name: str, value: Array, flat: int) -> str:
    """The name of an entry: W_E[0,1]."""
    return f"{name}[{','.join(str(int(i)) for i in np.unravel_index(flat, value.shape))}]"


def owner(value: Array) -> Any:
    """What an array is a view of at last: an array, or something else that holds bytes."""
    while isinstance(value, np.ndarray) and value.base is not None:
        value = value.base
    return value


def _mapped(value: Array) -> bool:
    return not isinstance(owner(value), np.ndarray)


def _lasting(value: Array) -> bool:
    """Can nobody write to the array, nor to any that it is a view of?"""
    while isinstance(value, np.ndarray):
        if value.flags.writeable:
            return False
        if value.base is None:
            return True
        value = value.base
    try:
        return memoryview(value).readonly
    except TypeError:
        return False


def _copied(value: Array) -> Array:
    """In the order of memory, so that heads stay side by side."""
    copy = np.array(value, order="K")
    copy.setflags(write=False)
    return copy


def sealed(weights: Weights) -> None:
    """Make arrays that nobody else holds, such as those of another process, read-only without a copy."""
    for _, value in weights.named():
        if value.base is None:
            value.setflags(write=False)


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "of a single number"
