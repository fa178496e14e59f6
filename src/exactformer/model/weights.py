"""The weights of a model, under the names that TransformerLens gives them. Each layer declares its own, with their axes.

Rows multiply matrices from the left: q = x W_Q, and so on. A weight that is None is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from exactformer.model.axes import DIMENSION, POSITION, SPOKEN, TOKEN, Axis
from exactformer.model.config import Config
from exactformer.model.fields import Array, ConfigError, Part, along, group
from exactformer.model.layers.attention import AttentionWeights
from exactformer.model.layers.mlp import MlpWeights
from exactformer.model.layers.norm import NormWeights
from exactformer.numbers.formats import brain_floats

_PIECE = 1 << 20  # entries that are copied at a time


def _normed(config: Config) -> bool:
    return config.norm != "none"


def _both_normed(config: Config) -> bool:
    return _normed(config) and config.mlp > 0 and not config.shared_norm


@dataclass(frozen=True, kw_only=True, repr=False)
class BlockWeights(Part):
    attn: AttentionWeights = group(AttentionWeights)
    mlp: MlpWeights | None = group(MlpWeights, when=lambda c: c.mlp > 0, goes_with="a width: model.mlp")
    ln1: NormWeights | None = group(NormWeights, when=_normed, goes_with='norm = "pre" or "post"')
    ln1_post: NormWeights | None = group(NormWeights, when=lambda c: c.post_norms, goes_with="post_norms = true")
    ln2: NormWeights | None = group(NormWeights, when=_both_normed, goes_with='norm = "pre" or "post", and an MLP')
    ln2_post: NormWeights | None = group(
        NormWeights, when=lambda c: c.post_norms and c.mlp > 0, goes_with="post_norms = true, and an MLP"
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Weights(Part):
    W_E: Array = along(TOKEN, DIMENSION)
    W_pos: Array | None = along(POSITION, DIMENSION, when=lambda c: c.positions == "table", goes_with='positions = "table"')
    blocks: tuple[BlockWeights, ...] = ()
    ln_final: NormWeights | None = group(NormWeights, when=lambda c: c.final_norm, goes_with="final_norm = true")
    W_U: Array | None = along(DIMENSION, SPOKEN, when=lambda c: c.unembedding == "own", goes_with='unembedding = "own"')
    b_U: Array | None = along(SPOKEN, when=lambda c: c.unembedding != "none", goes_with="an unembedding", optional=True)


def block_of(name: str) -> int | None:
    """The block that a weight or a step belongs to, by its name.

    >>> block_of("blocks.12.attn.W_Q"), block_of("W_E")
    (12, None)
    """
    return int(name.split(".")[1]) if name.startswith("blocks.") else None


class Declared(NamedTuple):
    """A weight that a configuration has."""

    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    optional: bool
    usual: Callable[[Config], Array] | None  # what a worksheet means that does not give it


def declared(config: Config) -> dict[str, Declared]:
    """Every weight that a configuration may have, by name.

    >>> config = Config(vocabulary=("a",), dim=4, heads=2, blocks=1, norm="none", mask="causal", scale="none")
    >>> declared(config)["blocks.0.attn.W_Q"].shape
    (2, 4, 2)
    """
    return dict(_declared("", Weights, config))


def assembled(config: Config, values: Mapping[str, Array]) -> Weights:
    """Weights by their names, put where the configuration has them."""

    def made(kind: type, prefix: str) -> Any:
        parts: dict[str, Any] = {}
        for field in fields(kind):
            name = prefix + field.name
            if field.name == "blocks":
                parts[field.name] = tuple(made(BlockWeights, f"{name}.{n}.") for n in range(config.blocks))
            elif "kind" not in field.metadata:
                parts[field.name] = values.get(name)
            elif field.metadata["when"](config):
                parts[field.name] = made(field.metadata["kind"], f"{name}.")
        return kind(**parts)

    if unknown := set(values) - set(declared(config)):
        raise ConfigError(min(unknown), "has no place in this model")
    result: Weights = made(Weights, "")
    return result


def place(weights: Array) -> tuple[Any, ...]:
    """Where an array lies in memory: the same for every view of the same numbers in the same order."""
    return (weights.__array_interface__["data"][0], weights.shape, weights.strides, weights.dtype)


def widened(weights: Array) -> Array:
    """bfloat16 as float32, which has all of its numbers, and which NumPy knows how to convert quickly; others as they are."""
    return brain_floats(weights.view("<u2")) if weights.dtype.name == "bfloat16" else weights


def as_float64(weights: Array) -> Array:
    """Floats as float64, which holds every shorter one: themselves, or a copy in the order of memory, made piece by piece."""
    if weights.dtype == np.float64:
        return weights
    floats = np.empty_like(weights, dtype=np.float64)
    turned = weights.flags.f_contiguous and not weights.flags.c_contiguous
    for made, given in zip(*(map(pieces, (floats.T, weights.T) if turned else (floats, weights))), strict=True):
        made[...] = widened(given)
    return floats


def pieces(weights: Any) -> Iterator[Any]:
    """Parts of an array in row-major order, each small, whatever its strides."""
    if weights.size <= _PIECE or weights.ndim == 0:
        yield weights
    elif weights[0].size > _PIECE:
        for row in weights:
            yield from pieces(row)
    else:
        rows = max(1, _PIECE // weights[0].size)
        for start in range(0, len(weights), rows):
            yield weights[start : start + rows]


def rebuilt_weights(weights: Weights, values: dict[str, Any]) -> Weights:
    """The same weights with other values, by name."""

    def rebuilt(part: Any, prefix: str) -> Any:
        changes: dict[str, Any] = {}
        for field in fields(part):
            value, name = getattr(part, field.name), prefix + field.name
            if field.name == "blocks":
                changes[field.name] = tuple(rebuilt(block, f"{name}.{n}.") for n, block in enumerate(value))
            elif "kind" in field.metadata and value is not None:
                changes[field.name] = rebuilt(value, f"{name}.")
            elif value is not None:
                changes[field.name] = values[name]
        return replace(part, **changes)

    result: Weights = rebuilt(weights, "")
    return result


def _declared(prefix: str, kind: type, config: Config) -> Iterator[tuple[str, Declared]]:
    for field in fields(kind):
        name = prefix + field.name
        if field.name == "blocks":
            for n in range(config.blocks):
                yield from _declared(f"{name}.{n}.", BlockWeights, config)
        elif field.metadata["when"](config):
            if "kind" in field.metadata:
                yield from _declared(f"{name}.", field.metadata["kind"], config)
            else:
                yield name, _weight(field.metadata, config)


def _weight(metadata: Any, config: Config) -> Declared:
    axes = metadata["axes"]
    return Declared(axes, tuple(axis.size(config) for axis in axes), metadata["optional"], metadata["usual"])
