"""A model without one of its parts: what a head or an MLP writes is left out, or is the same vector everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exactformer.messages import quoted, short
from exactformer.model.arithmetics.exact import ExactArithmetic
from exactformer.model.config import Config
from exactformer.model.fields import ConfigError
from exactformer.model.forward import Model
from exactformer.model.weights import widened

_PART = re.compile(r"blocks\.([0-9]{1,6})\.(?:attn\.head\.([0-9]{1,6})|mlp)")


@dataclass(frozen=True)
class ModelPart:
    """One head of a block, or its MLP, with b_out."""

    block: int
    head: int | None  # None: the MLP

    @classmethod
    def named(cls, name: str, config: Config) -> ModelPart:
        """The part that a name means.

        >>> from exactformer.worksheets import load
        >>> ModelPart.named("blocks.1.attn.head.7", load("induction").model.config)
        Traceback (most recent call last):
        exactformer.model.fields.ConfigError: blocks.1.attn.head.7: there is no such head: the model has 2 blocks of 1 head
        """
        found = _PART.fullmatch(name)
        if found is None:
            raise ConfigError(quoted(name), "is not a part of a model: write blocks.0.attn.head.3 or blocks.0.mlp")
        part = cls(int(found[1]), None if found[2] is None else int(found[2]))
        if part.block >= config.blocks or (part.head or 0) >= config.heads:
            has = f"{config.blocks} block{'s' * (config.blocks != 1)} of {config.heads} head{'s' * (config.heads != 1)}"
            raise ConfigError(short(name), f"there is no such {'MLP' if part.head is None else 'head'}: the model has {has}")
        if part.head is None and not config.mlp:
            raise ConfigError(short(name), "there is no such MLP: the blocks of the model are attention alone")
        return part

    @classmethod
    def every(cls, config: Config) -> Iterator[ModelPart]:
        """All parts, in the order of the pass.

        >>> from exactformer.worksheets import load
        >>> [part.name for part in ModelPart.every(load("induction").model.config)]
        ['blocks.0.attn.head.0', 'blocks.1.attn.head.0']
        """
        for block in range(config.blocks):
            yield from (cls(block, head) for head in range(config.heads))
            if config.mlp:
                yield cls(block, None)

    @property
    def name(self) -> str:
        return f"blocks.{self.block}." + ("mlp" if self.head is None else f"attn.head.{self.head}")

    @property
    def step(self) -> str:
        """Where what it gives stands in a pass: all heads before W_O, or what the MLP writes."""
        return f"blocks.{self.block}." + ("mlp.out" if self.head is None else "attn.z")


def without(model: Model, part: ModelPart, instead: Any = None) -> Model:
    """The model in which a part writes nothing, or at every position the same vector `instead`.

    Attention still looks where it did: it is the head's rows of W_O that are 0, and the vector is added to b_O.

    >>> from exactformer.trace import run
    >>> from exactformer.worksheets import load
    >>> model = load("induction").model
    >>> str(run(without(model, ModelPart(1, 0)), "a b a", "exact").logits[2, 1])
    '0'
    """
    block = model.weights.blocks[part.block]
    if part.head is None:
        assert block.mlp is not None
        silent = replace(block.mlp, W_out=_zeros(block.mlp.W_out), b_out=instead)
        return _with_block(model, part.block, replace(block, mlp=silent))
    W_O, bias = widened(block.attn.W_O).copy(), block.attn.b_O
    W_O[part.head] = _zeros(W_O[part.head])
    if instead is not None:
        exact = ExactArithmetic()
        bias = instead if bias is None else exact.add(exact.load(bias), instead)
    return _with_block(model, part.block, replace(block, attn=replace(block.attn, W_O=W_O, b_O=bias)))


def _with_block(model: Model, n: int, block: Any) -> Model:
    blocks = (*model.weights.blocks[:n], block, *model.weights.blocks[n + 1 :])
    return replace(model, weights=replace(model.weights, blocks=blocks))


def _zeros(weights: Any) -> Any:
    return ExactArithmetic().zeros_like(weights) if weights.dtype == object else np.zeros_like(widened(weights))
