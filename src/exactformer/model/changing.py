"""A model with some of its weights changed, as one writes it down: `blocks.0.attn.W_Q[0,4,3] = 1/2`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from exactformer.messages import short
from exactformer.model.ablating import ModelPart, without
from exactformer.model.arithmetics.exact import ExactArithmetic
from exactformer.model.config import Config
from exactformer.model.fields import ConfigError
from exactformer.model.forward import Model
from exactformer.model.layers.norm import Norm, NormWeights
from exactformer.model.weights import declared, rebuilt_weights
from exactformer.numbers import array, exact

_SILENT = re.compile(r"\s*(blocks\.[0-9]+\.(?:attn\.head\.[0-9]+|mlp))\s*=\s*zero\s*")
_CHANGE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*\[([0-9\s,]*)\]\s*=(.*)")


def with_weights(model: Model, changes: Iterable[str]) -> Model:
    """The model with single entries of weights changed, or with a head or an MLP that writes nothing.

    >>> from exactformer.worksheets import load
    >>> with_weights(load("capstone").model, ["W_E[0,1] = 1/2"]).weights.W_E[0]
    array([exact('1'), exact('1/2')], dtype=object)
    >>> any(with_weights(load("capstone").model, ["blocks.0.attn.head.0 = zero"]).weights.blocks[0].attn.W_O.flat)
    False
    """
    values = dict(model.weights.named())
    copied: set[str] = set()
    silent: list[ModelPart] = []
    for change in changes:
        if (found := _SILENT.fullmatch(change)) is not None:
            silent.append(ModelPart.named(found[1], model.config))
            continue
        name, place, number = _parsed(change, values, model.config)
        if name not in copied:
            values[name] = ExactArithmetic().load(values[name]).copy()  # of the floats of a checkpoint, their values
            copied.add(name)
        values[name][place] = number
    changed = replace(model, weights=rebuilt_weights(model.weights, values)) if copied else model
    for part in silent:
        changed = without(changed, part)
    return changed


def with_norm(model: Model, norm: Norm) -> Model:
    """The model with LayerNorms elsewhere, or nowhere: new ones have gain 1 and bias 0, and ε = 1e-5 where it had none.

    That is GPT-2's ε, and PyTorch's. With an ε of 0, which a model has to ask for, a row of equal entries is undefined.
    """
    config = model.config
    if norm == config.norm:
        return model
    if norm == "none":
        blocks = tuple(replace(block, ln1=None, ln2=None) for block in model.weights.blocks)
        epsilon = config.epsilon if config.final_norm else None
        return Model(replace(config, norm=norm, epsilon=epsilon), replace(model.weights, blocks=blocks))
    plain = NormWeights(w=array([1] * config.dim), b=array([0] * config.dim))
    blocks = tuple(
        replace(block, ln1=block.ln1 or plain, ln2=(block.ln2 or plain) if block.mlp is not None else None)
        for block in model.weights.blocks
    )
    epsilon = exact("1e-5") if config.epsilon is None else config.epsilon
    return Model(replace(config, norm=norm, epsilon=epsilon), replace(model.weights, blocks=blocks))


def _parsed(change: str, values: dict[str, Any], config: Config) -> tuple[str, tuple[int, ...], Any]:
    match = _CHANGE.fullmatch(change)
    if match is None:
        raise ConfigError(short(change), "is not a change of a weight: write W_E[0,1] = 1/2")
    name = match[1]
    if name not in values:
        raise ConfigError(short(name), f"is not a weight of the model ({', '.join(values)})")
    written, shape = match[2].replace(",", " ").split(), values[name].shape
    place = tuple(int(number) if len(number) <= 18 else sys.maxsize for number in written)
    if len(place) != len(shape) or any(i >= n for i, n in zip(place, shape, strict=True)):
        words = [axis.word for axis in declared(config)[name].axes]
        words[-2:] = words[-2:] if len(set(words[-2:])) == len(words[-2:]) else ["row", "column"]
        sizes, last = " × ".join(map(str, shape)), ",".join(str(size - 1) for size in shape)
        raise ConfigError(
            f"{name}[{short(match[2].strip())}]",
            f"is not an entry: {name} is {sizes} ({', '.join(words)}), counted from 0; its last is {name}[{last}]",
        )
    try:
        return name, place, exact(match[3].strip())
    except ValueError as error:
        raise ConfigError(name, str(error)) from None
