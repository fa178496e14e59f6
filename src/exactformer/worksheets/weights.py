"""The model of a worksheet: its configuration, and its weights with their shorthands and defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import shake_256
from math import prod
from typing import Any, get_args

import numpy as np
from flint import fmpq

from exactformer.model import AttentionWeights, BlockWeights, Config, ConfigError, MlpWeights, Model, NormWeights, Weights
from exactformer.model.config import Activation, Mask, Norm, Positions, Unembedding
from exactformer.model.weights import expected_shapes
from exactformer.numbers import Exact
from exactformer.numbers.arrays import Array, zeros
from exactformer.numbers.field import ONE
from exactformer.tokenizers import Tokenizer
from exactformer.worksheets.reader import Decimal, Table, WorksheetError, describe

_MOST_ENTRIES = 1_000_000
_DRAWN = re.compile(r"drawn ([0-9]{1,9}) by 1/([1-9][0-9]{0,5})")
_IDENTITY = re.compile(r"(-|[^\s*]*)\s*\*?\s*identity")


def read_model(worksheet: Table, tokenizer: Tokenizer | None = None) -> Model:
    fields, weights = worksheet.table("model"), worksheet.table("weights")
    vocabulary = fields.take("vocabulary")
    if tokenizer is not None:
        vocabulary = list(tokenizer.vocabulary)
    elif isinstance(vocabulary, str):
        raise fields.error("vocabulary", f'is {describe(vocabulary)}: write a list of texts, or "gpt2"')
    elif not isinstance(vocabulary, list) or not all(isinstance(token, str) for token in vocabulary):
        raise fields.error("vocabulary", "is not a list of texts")
    table = weights.take("W_pos") if fields.raw.get("positions") == "table" else None
    try:
        choices = _choices(fields, table)
        fields.finish(activation="an mlp")
        config = Config(vocabulary=tuple(vocabulary), **choices)
        model = Model(config, _weights(weights, config, table))
    except ConfigError as error:
        place = "model" if hasattr(Config, error.field) or error.field in Config.__dataclass_fields__ else "weights"
        raise WorksheetError(f"{worksheet.file}: {place}.{error.field} {error.problem}") from None
    weights.finish(W_U='unembedding = "own"', b_U="an unembedding", W_pos='positions = "table"', ln_final="final_norm = true")
    return model


def _choices(fields: Table, table: Any) -> dict[str, Any]:
    mlp = fields.integer("mlp", 0)
    return {
        "dim": fields.integer("dim"),
        "blocks": fields.integer("blocks"),
        "heads": fields.integer("heads", 1),
        "head_dim": _head_dim(fields),
        "norm": fields.choice("norm", get_args(Norm)),
        "final_norm": fields.flag("final_norm", False),
        "epsilon": None if fields.take("epsilon", None) is None else fields.number("epsilon"),
        "mask": fields.choice("mask", get_args(Mask)),
        "scale": _scale(fields),
        "positions": fields.choice("positions", get_args(Positions)),
        "length": len(table) if isinstance(table, list) else None,
        "mlp": mlp,
        "activation": fields.choice("activation", get_args(Activation)) if mlp else None,
        "unembedding": fields.choice("unembedding", get_args(Unembedding)),
        "residual": fields.flag("residual", True),
    }


def _head_dim(fields: Table) -> int:
    """0 stands for dim / heads, which is what a model has that does not say."""
    value = fields.integer("head_dim", 0)
    if "head_dim" in fields.raw and value < 1:
        raise fields.error("head_dim", f"is {value}, not a whole number of at least 1")
    return value


def _scale(fields: Table) -> Any:
    value = fields.take("scale")
    if (
        isinstance(value, str)
        and not isinstance(value, Decimal)
        and value[:1] not in "+-.0123456789"
        and value not in ("none", "sqrt")
    ):
        raise fields.error("scale", f"is {describe(value)}, not one of none, sqrt, or a number")
    return value if value in ("none", "sqrt") else fields.exact(value, "scale")


def _weights(fields: Table, config: Config, table: Any) -> Weights:
    dim, vocabulary = config.dim, len(config.vocabulary)
    blocks = fields.tables("blocks")
    if len(blocks) != config.blocks:
        raise fields.error("blocks", f"has {len(blocks)} entries, but model.blocks is {config.blocks}")
    for name, shape in expected_shapes(config).items():
        if prod(shape) > _MOST_ENTRIES:
            raise ConfigError(name, f"would have {prod(shape):,} entries; in a worksheet a weight may have {_MOST_ENTRIES:,}")
    return Weights(
        W_E=_array(fields, "W_E", (vocabulary, dim)),
        W_pos=None if config.positions != "table" else _array(fields, "W_pos", (len(table), dim)),
        blocks=tuple(_block(block, config) for block in blocks),
        ln_final=_norm(fields, "ln_final", dim) if config.final_norm else None,
        W_U=_array(fields, "W_U", (dim, vocabulary)) if config.unembedding == "own" else None,
        b_U=None if config.unembedding == "none" else _optional(fields, "b_U", (vocabulary,)),
    )


def _block(fields: Table, config: Config) -> BlockWeights:
    dim, heads, head_dim = config.dim, config.heads, config.head_dim
    attn = fields.table("attn")
    matrices = {f"W_{letter}": _array(attn, f"W_{letter}", (heads, dim, head_dim)) for letter in "QKV"}
    biases = {f"b_{letter}": _optional(attn, f"b_{letter}", (heads, head_dim)) for letter in "QKV"}
    out = _array(attn, "W_O", (heads, head_dim, dim)) if "W_O" in attn.raw else _side_by_side(attn, config)
    attention = AttentionWeights(**matrices, **biases, W_O=out, b_O=_optional(attn, "b_O", (dim,)))
    attn.finish()
    mlp = None
    if config.mlp:
        inside = fields.table("mlp")
        mlp = MlpWeights(
            W_in=_array(inside, "W_in", (dim, config.mlp)),
            W_out=_array(inside, "W_out", (config.mlp, dim)),
            b_in=_optional(inside, "b_in", (config.mlp,)),
            b_out=_optional(inside, "b_out", (dim,)),
        )
        inside.finish()
    normed = config.norm != "none"
    ln1 = _norm(fields, "ln1", dim) if normed else None
    ln2 = _norm(fields, "ln2", dim) if normed and config.mlp else None
    fields.finish(mlp="a width: model.mlp", ln1='norm = "pre" or "post"', ln2='norm = "pre" or "post", and an MLP')
    return BlockWeights(attn=attention, mlp=mlp, ln1=ln1, ln2=ln2)


def _side_by_side(attn: Table, config: Config) -> Array:
    """Without W_O, the heads' results stand side by side in the residual stream."""
    attn.take("W_O", None)
    if config.heads * config.head_dim != config.dim:
        raise attn.error("W_O", f"is missing: {config.heads} heads of {config.head_dim} do not fill {config.dim} dimensions")
    return _identity(config.dim, ONE).reshape(config.heads, config.head_dim, config.dim)


def _norm(fields: Table, name: str, dim: int) -> NormWeights:
    """γ is 1 and β is 0 where they are not given."""
    norm = fields.table(name, required=False)
    w, b = _optional(norm, "w", (dim,)), _optional(norm, "b", (dim,))
    norm.finish()
    ones = zeros(dim)
    ones.fill(ONE)
    return NormWeights(w=ones if w is None else w, b=zeros(dim) if b is None else b)


def _optional(fields: Table, name: str, shape: tuple[int, ...]) -> Array | None:
    if name not in fields.raw:
        fields.take(name, None)
        return None
    return _array(fields, name, shape)


def _array(fields: Table, name: str, shape: tuple[int, ...]) -> Array:
    """An array of the given shape; the axis of a single head may be left out."""
    value = fields.take(name)
    if isinstance(value, str):
        return _shorthand(fields, name, value, shape)
    if not isinstance(value, list):
        raise fields.error(name, f'is {describe(value)}, not a list of numbers or "identity"')
    if len(shape) > 1 and shape[0] == 1 and _depth(value) == len(shape) - 1:
        value = [value]
    entries = list(_entries(fields, name, value, shape, ()))  # checked against the shape before memory is taken for it
    result = np.empty(len(entries), dtype=object)
    result[:] = entries
    return result.reshape(shape)


def _entries(fields: Table, name: str, value: Any, shape: tuple[int, ...], place: tuple[int, ...]) -> Iterator[Exact]:
    where = name + "".join(f"[{i}]" for i in place)
    if len(place) == len(shape):
        yield fields.exact(value, where)
        return
    wanted = shape[len(place)]
    if not isinstance(value, list) or len(value) != wanted:
        raise fields.error(where, f"is {describe(value)}, where a list of {wanted} belongs ({name} is {_times(shape)})")
    for i, item in enumerate(value):
        yield from _entries(fields, name, item, shape, (*place, i))


def _shorthand(fields: Table, name: str, text: str, shape: tuple[int, ...]) -> Array:
    if text.strip() == "zeros":
        return zeros(*shape)
    if drawn := _DRAWN.fullmatch(text.strip()):
        return _drawn(f"{drawn[1]} {fields.path}{name}", int(drawn[2]), shape)
    match = _IDENTITY.fullmatch(text.strip())
    if match is None or len(shape) < 2:
        wanted = '"zeros"' if len(shape) < 2 else '"identity", a multiple such as "1/2 identity", or "zeros"'
        raise fields.error(name, f"is {describe(text)}: write a list of numbers, {wanted}")
    if shape[-1] != shape[-2] or any(n != 1 for n in shape[:-2]):
        raise fields.error(name, f"is the identity, but its shape {_times(shape)} is not square")
    factor = fields.exact({"": "1", "-": "-1"}.get(match[1], match[1]), name)
    return _identity(shape[-1], factor).reshape(shape)


def _drawn(seed: str, parts: int, shape: tuple[int, ...]) -> Array:
    """Multiples of 1/parts from -1 to 1, drawn from a seed, the same on every machine.

    They are read off SHAKE-256 of the seed, the table and the name, four bytes at a time; what would favour some is passed over.
    """
    count, choices = prod(shape), 2 * parts + 1
    stream = shake_256(seed.encode()).digest(4 * (count + count // 100 + 64))
    numbers = (int.from_bytes(stream[n : n + 4]) for n in range(0, len(stream), 4))
    fair = (number % choices for number in numbers if number < 2**32 - 2**32 % choices)
    result = np.empty(count, dtype=object)
    result[:] = [Exact(fmpq(next(fair) - parts, parts)) for _ in range(count)]
    return result.reshape(shape)


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _identity(n: int, factor: Exact) -> Array:
    result = zeros(n, n)
    for i in range(n):
        result[i, i] = factor
    return result


def _depth(value: Any) -> int:
    depth = 0
    while isinstance(value, list):
        depth += 1
        value = value[0] if value else None
    return depth
