"""The weights of a model, under the names that TransformerLens gives them, and their shapes.

Rows multiply matrices from the left: q = x W_Q, and so on. A bias that is None is not there.

Every model takes its weights through `taken`: arrays of exact numbers, or of floats whose values every arithmetic takes exactly;
and nobody can write to them afterwards. So whoever keeps what was computed from an array may go by the array itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from exactformer.model.config import Config, ConfigError
from exactformer.numbers import Exact, Named, Undefined

Array = Any  # numpy.ndarray of numbers or of floats
_FLOATS = tuple(map(np.dtype, ("float16", "float32", "float64")))  # of this machine's byte order; a bfloat16 is a float32
_NUMBERS = (Exact, Named, Undefined)


@dataclass(frozen=True, kw_only=True)
class NormWeights:
    w: Array  # [dim]  γ
    b: Array  # [dim]  β


@dataclass(frozen=True, kw_only=True)
class AttentionWeights:
    W_Q: Array  # [heads, dim, head_dim]
    W_K: Array
    W_V: Array
    W_O: Array  # [heads, head_dim, dim]
    b_Q: Array | None = None  # [heads, head_dim]
    b_K: Array | None = None
    b_V: Array | None = None
    b_O: Array | None = None  # [dim]


@dataclass(frozen=True, kw_only=True)
class MlpWeights:
    W_in: Array  # [dim, mlp]
    W_out: Array  # [mlp, dim]
    b_in: Array | None = None
    b_out: Array | None = None


@dataclass(frozen=True, kw_only=True)
class BlockWeights:
    attn: AttentionWeights
    mlp: MlpWeights | None = None
    ln1: NormWeights | None = None
    ln2: NormWeights | None = None


@dataclass(frozen=True, kw_only=True)
class Weights:
    W_E: Array  # [vocabulary, dim]
    W_pos: Array | None = None  # [length, dim]
    blocks: tuple[BlockWeights, ...] = ()
    ln_final: NormWeights | None = None
    W_U: Array | None = None  # [dim, vocabulary]; None where it is tied to W_E
    b_U: Array | None = None

    def named(self) -> Iterator[tuple[str, Array]]:
        """Every weight that is there, with its name."""
        yield from _named("", self)


def place(weights: Array) -> tuple[Any, ...]:
    """Where an array lies in memory: the same for every view of the same numbers in the same order."""
    return (weights.__array_interface__["data"][0], weights.shape, weights.strides, weights.dtype)


def _named(prefix: str, group: Any) -> Iterator[tuple[str, Array]]:
    for field in fields(group):
        value = getattr(group, field.name)
        if field.name == "blocks":
            for n, block in enumerate(value):
                yield from _named(f"{prefix}blocks.{n}.", block)
        elif hasattr(value, "__dataclass_fields__"):
            yield from _named(f"{prefix}{field.name}.", value)
        elif value is not None:
            yield prefix + field.name, value


def expected_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The shape of every weight that a configuration may have. `length` 0 stands for a table of any length.

    >>> config = Config(vocabulary=("a",), dim=4, heads=2, blocks=1, norm="none", mask="causal", scale="none")
    >>> expected_shapes(config)["blocks.0.attn.W_Q"]
    (2, 4, 2)
    """
    vocabulary, dim, heads, head_dim = len(config.vocabulary), config.dim, config.heads, config.head_dim
    shapes: dict[str, tuple[int, ...]] = {"W_E": (vocabulary, dim)}
    if config.positions == "table":
        shapes["W_pos"] = (config.length or 0, dim)
    for n in range(config.blocks):
        block = f"blocks.{n}."
        for letter in "QKV":
            shapes[f"{block}attn.W_{letter}"] = (heads, dim, head_dim)
            shapes[f"{block}attn.b_{letter}"] = (heads, head_dim)
        shapes[f"{block}attn.W_O"] = (heads, head_dim, dim)
        shapes[f"{block}attn.b_O"] = (dim,)
        if config.mlp:
            shapes |= {f"{block}mlp.W_in": (dim, config.mlp), f"{block}mlp.W_out": (config.mlp, dim)}
            shapes |= {f"{block}mlp.b_in": (config.mlp,), f"{block}mlp.b_out": (dim,)}
        if config.norm != "none":
            for norm in ("ln1", "ln2") if config.mlp else ("ln1",):
                shapes |= {f"{block}{norm}.w": (dim,), f"{block}{norm}.b": (dim,)}
    if config.final_norm:
        shapes |= {"ln_final.w": (dim,), "ln_final.b": (dim,)}
    if config.unembedding == "own":
        shapes["W_U"] = (dim, vocabulary)
    if config.unembedding != "none":
        shapes["b_U"] = (vocabulary,)
    return shapes


def taken(config: Config, weights: Weights) -> Weights:
    """The weights as a model holds them: each has its place in the configuration and its shape, none is missing, all are numbers.

    What somebody could still write to, through the array or through one that it is a view of, is copied.

    >>> config = Config(vocabulary=("a",), dim=1, blocks=0, norm="none", mask="causal", scale="none")
    >>> taken(config, Weights(W_E=np.ones((1, 1), dtype=np.longdouble)))
    Traceback (most recent call last):
    exactformer.model.config.ConfigError: W_E: has the dtype longdouble: float16, float32, float64 are taken, and exact numbers
    """
    _check_groups(weights)
    shapes = expected_shapes(config)
    given = dict(weights.named())
    for name, value in given.items():
        if name not in shapes:
            raise ConfigError(name, "has no place in this model")
        _check_kind(name, value)
        if tuple(value.shape) != shapes[name]:
            raise ConfigError(name, f"has the shape {_shape(value.shape)}, not {_shape(shapes[name])}")
        _check_entries(name, value)
    for name in shapes:
        if name not in given and not name.rpartition(".")[2].startswith("b_"):
            raise ConfigError(name, "is missing")
    if all(map(_lasting, given.values())):
        return weights
    return rebuilt_weights(weights, {name: value if _lasting(value) else _copied(value) for name, value in given.items()})


def _check_groups(weights: Weights) -> None:
    """Of these very classes: another could hold weights back."""
    kinds: list[tuple[str, Any, type]] = [("weights", weights, Weights)]
    if type(weights) is Weights:
        if type(weights.blocks) is not tuple:
            raise ConfigError("blocks", "is not a tuple of BlockWeights")
        kinds += [(f"blocks.{n}", block, BlockWeights) for n, block in enumerate(weights.blocks)]
        for n, block in enumerate(weights.blocks):
            if type(block) is BlockWeights:
                parts = (("attn", AttentionWeights), ("mlp", MlpWeights), ("ln1", NormWeights), ("ln2", NormWeights))
                kinds += [(f"blocks.{n}.{part}", getattr(block, part), kind) for part, kind in parts]
        kinds.append(("ln_final", weights.ln_final, NormWeights))
    for name, group, kind in kinds:
        if type(group) is not kind and not (group is None and name.rpartition(".")[2] in ("mlp", "ln1", "ln2", "ln_final")):
            raise ConfigError(name, f"is of the class {type(group).__name__}, not {kind.__name__}")


def _check_kind(name: str, value: Any) -> None:
    """An array itself, no subclass such as a masked one, of numbers that every arithmetic takes as they are."""
    if not isinstance(value, np.ndarray):
        raise ConfigError(name, "is not an array of numbers: make one with exactformer.array")
    if type(value) is not np.ndarray:
        raise ConfigError(name, f"is of the class {type(value).__name__}: give a plain array, as numpy.asarray makes it")
    if value.dtype != object and value.dtype not in _FLOATS:
        taken = ", ".join(dtype.name for dtype in _FLOATS)
        kind = value.dtype.name if value.dtype.isnative else value.dtype.str
        raise ConfigError(name, f"has the dtype {kind}: {taken} are taken, and exact numbers, as exactformer.array makes them")


def _check_entries(name: str, value: Array) -> None:
    """Numbers of ours, or finite floats. The floats of a mapped file are looked at when they are computed with."""
    held = value[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.strides)]  # what is there but once
    if value.dtype == object:
        if not all(type(x) in _NUMBERS for x in held.flat):
            wrong = next(i for i, x in enumerate(value.flat) if type(x) not in _NUMBERS)
            kind = type(value.flat[wrong]).__name__
            raise ConfigError(entry(name, value, wrong), f"is a {kind}, not an exact number: make arrays with exactformer.array")
    elif not _mapped(value) and not np.isfinite(held).all():
        raise ConfigError(entry(name, value, int(np.argmin(np.isfinite(value)))), "is infinite or not a number")


def entry(name: str, value: Array, flat: int) -> str:
    """The name of an entry: W_E[0,1]."""
    return f"{name}[{','.join(str(int(i)) for i in np.unravel_index(flat, value.shape))}]"


def _owner(value: Array) -> Any:
    """What an array is a view of at last: an array, or something else that holds bytes."""
    while isinstance(value, np.ndarray) and value.base is not None:
        value = value.base
    return value


def _mapped(value: Array) -> bool:
    return not isinstance(_owner(value), np.ndarray)


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


def rebuilt_weights(weights: Weights, values: dict[str, Any]) -> Weights:
    """The same weights with other values, by name."""

    def rebuilt(group: Any, prefix: str) -> Any:
        changes: dict[str, Any] = {}
        for field in group.__dataclass_fields__:
            value = getattr(group, field)
            if field == "blocks":
                changes[field] = tuple(rebuilt(block, f"{prefix}blocks.{n}.") for n, block in enumerate(value))
            elif hasattr(value, "__dataclass_fields__"):
                changes[field] = rebuilt(value, f"{prefix}{field}.")
            elif value is not None:
                changes[field] = values[prefix + field]
        return replace(group, **changes)

    result: Weights = rebuilt(weights, "")
    return result


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "of a single number"
