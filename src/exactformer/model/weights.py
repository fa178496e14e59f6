"""The weights of a model, under the names that TransformerLens gives them, and their shapes.

Rows multiply matrices from the left: q = x W_Q, and so on. A bias that is None is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from exactformer.model.config import Config, ConfigError
from exactformer.numbers import Number

Array = Any  # numpy.ndarray of numbers or of floats


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


def check_shapes(config: Config, weights: Weights) -> None:
    """Every weight there is has its place in the configuration, and its shape; none is missing."""
    shapes = expected_shapes(config)
    given = dict(weights.named())
    for name, value in given.items():
        if name not in shapes:
            raise ConfigError(name, "has no place in this model")
        if not hasattr(value, "shape") or (value.dtype == object and not all(isinstance(x, Number) for x in value.flat)):
            raise ConfigError(name, "is not an array of numbers: make one with exactformer.array")
        if tuple(value.shape) != shapes[name]:
            raise ConfigError(name, f"has the shape {_shape(value.shape)}, not {_shape(shapes[name])}")
    for name in shapes:
        if name not in given and not name.rpartition(".")[2].startswith("b_"):
            raise ConfigError(name, "is missing")


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "of a single number"
