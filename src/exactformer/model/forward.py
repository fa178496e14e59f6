"""The wiring of a transformer, written once: which sub-layer reads what. It runs unchanged on every arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.model.arithmetic import Arithmetic, Note
from exactformer.model.cache import Cache
from exactformer.model.config import Config
from exactformer.model.positions import sinusoidal
from exactformer.model.weights import BlockWeights, Weights, check_shapes


class InputError(ValueError):
    """Tokens that the model cannot take."""


@dataclass(frozen=True)
class Model:
    """A configuration with weights that fit it."""

    config: Config
    weights: Weights

    def __post_init__(self) -> None:
        check_shapes(self.config, self.weights)

    def ids(self, tokens: tuple[str, ...]) -> list[int]:
        """The vocabulary indices of `tokens`, or one clear line about the first that does not fit."""
        if not tokens:
            raise InputError("the input is empty: give at least one token")
        index = {token: i for i, token in enumerate(self.config.vocabulary)}
        for position, token in enumerate(tokens):
            if token not in index:
                raise InputError(
                    f"position {position}: the token {token!r} is not in the vocabulary ({_few(self.config.vocabulary)})"
                )
        if self.config.length is not None and len(tokens) > self.config.length:
            raise InputError(
                f"position {self.config.length}: the token {tokens[self.config.length]!r} has no position: "
                f"the model has {self.config.length}, the input {len(tokens)} tokens"
            )
        return [index[token] for token in tokens]


def forward(model: Model, ids: list[int], ops: Arithmetic, note: Note, cache: Cache | None = None) -> Any:
    """The logits [T, vocabulary] of the tokens `ids`, or the last stream [T, dim] of a model without unembedding.

    Every step on the way is told to `note`. With a `cache`, `ids` are the tokens that follow those computed with it before.
    """
    config, weights = model.config, model.weights
    x, at = _embed(config, weights, ids, 0 if cache is None else cache.length, ops, note)
    for n, block in enumerate(weights.blocks):
        x, at = _block(config, block, f"blocks.{n}", x, at, ops, note, cache)
    if cache is not None:
        cache.length += len(ids)
    if weights.ln_final is not None:
        x, at = ops.layer_norm(x, weights.ln_final, config, "ln_final", at, note), "ln_final.out"
    if config.unembedding == "none":
        return x
    tied = config.unembedding == "tied"
    bias = None if weights.b_U is None else ops.load(weights.b_U)
    logits = ops.linear(x, ops.load(np.transpose(weights.W_E) if tied else weights.W_U), bias)  # [T, vocabulary]
    return note("logits", "unembed" if tied else "linear", logits, at, "W_E" if tied else "W_U", *_present(b_U=bias))


def _embed(config: Config, weights: Weights, ids: list[int], start: int, ops: Arithmetic, note: Note) -> tuple[Any, str]:
    """Token embeddings, plus positions where there are any: the residual stream that the first block reads."""
    x = note("embed", "lookup", ops.embed(ops.load(weights.W_E), ids), "tokens", "W_E")  # [T, dim]
    if config.positions == "none":
        return x, "embed"
    table = weights.W_pos if config.positions == "table" else sinusoidal(start + len(ids), config.dim)
    rows = ops.embed(ops.load(table), list(range(start, start + len(ids))))  # [T, dim]
    note("pos_embed", config.positions, rows, *_present(W_pos=weights.W_pos))
    return note("blocks.0.resid_pre", "add", ops.add(x, rows), "embed", "pos_embed"), "blocks.0.resid_pre"


def _block(
    config: Config, block: BlockWeights, name: str, x: Any, at: str, ops: Arithmetic, note: Note, cache: Cache | None
) -> tuple[Any, str]:
    """x → x + attention → x + MLP, with LayerNorm before (pre) or after (post) each sub-layer, or nowhere."""
    pre, post = config.norm == "pre", config.norm == "post"

    def normed(y: Any, weights: Any, ln: str, reads: str) -> tuple[Any, str]:
        return ops.layer_norm(y, weights, config, f"{name}.{ln}", reads, note), f"{name}.{ln}.out"

    def joined(resid: str, x: Any, at: str, y: Any, source: str) -> tuple[Any, str]:
        """The stream after a sub-layer: with its result added, or replaced by it."""
        to = f"{name}.{resid}"
        if config.residual:
            return note(to, "add", ops.add(x, y), at, source), to
        return note(to, "same", y, source), to

    stream = f"{name}.resid_pre"
    if at != stream:
        note(stream, "same", x, at)
    y, reads = normed(x, block.ln1, "ln1", stream) if pre else (x, stream)
    attended = ops.attend(y, block.attn, config, f"{name}.attn", reads, note, cache)
    x, stream = joined("resid_mid", x, stream, attended, f"{name}.attn.out")
    if post:
        x, stream = normed(x, block.ln1, "ln1", stream)
    if block.mlp is None:
        return note(f"{name}.resid_post", "same", x, stream), f"{name}.resid_post"
    y, reads = normed(x, block.ln2, "ln2", stream) if pre else (x, stream)
    computed = ops.mlp(y, block.mlp, config, f"{name}.mlp", reads, note)
    x, stream = joined("resid_post", x, stream, computed, f"{name}.mlp.out")
    return normed(x, block.ln2, "ln2", stream) if post else (x, stream)


def _present(**weights: Any) -> tuple[str, ...]:
    """The names of the weights that are there."""
    return tuple(name for name, weight in weights.items() if weight is not None)


def _few(vocabulary: tuple[str, ...]) -> str:
    shown = ", ".join(vocabulary[:8])
    return shown if len(vocabulary) <= 8 else f"{shown}, … {len(vocabulary):,} tokens"
