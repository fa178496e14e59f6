"""The wiring of a transformer, written once: which sub-layer reads what. It runs unchanged on every arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.messages import quoted, short
from exactformer.model.arithmetic import Arithmetic, Note
from exactformer.model.cache import Cache
from exactformer.model.config import Config, ConfigError
from exactformer.model.errors import InputError
from exactformer.model.positions import sinusoidal
from exactformer.model.weights import BlockWeights, Weights, sealed, taken

__all__ = ["InputError", "Model", "forward"]


@dataclass(frozen=True)
class Model:
    """A configuration with weights that fit it. They are its own: nobody can write to them."""

    config: Config
    weights: Weights

    def __post_init__(self) -> None:
        if type(self.config) is not Config:
            raise ConfigError("config", f"is of the class {type(self.config).__name__}, not Config")
        object.__setattr__(self, "weights", taken(self.config, self.weights))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From another process, or a deep copy: arrays that this model alone holds."""
        sealed(state["weights"])
        Model.__init__(self, state["config"], state["weights"])

    def same_as(self, other: Model) -> bool:
        """Is it this very model: the same configuration with the same arrays? They cannot have changed."""
        if self is other:
            return True
        pairs = list(zip(self.weights.named(), other.weights.named(), strict=False))
        same = all(name == theirs and mine is array for (name, mine), (theirs, array) in pairs)
        return same and len(pairs) == len(list(other.weights.named())) and self.config == other.config

    def ids(self, tokens: tuple[str, ...]) -> list[int]:
        """The vocabulary indices of `tokens`, or one clear line about the first that does not fit."""
        if not tokens:
            raise InputError("the input is empty: give at least one token")
        index = {token: i for i, token in enumerate(self.config.vocabulary)}
        for position, token in enumerate(tokens):
            if token not in index:
                raise InputError(
                    f"position {position}: the token {quoted(token)} is not in the vocabulary ({_few(self.config.vocabulary)})"
                )
        if self.config.length is not None and len(tokens) > self.config.length:
            raise InputError(
                f"position {self.config.length}: the token {quoted(tokens[self.config.length])} has no position: "
                f"the model has {self.config.length}, the input {len(tokens)} tokens"
            )
        return [index[token] for token in tokens]

    def checked(self, ids: Sequence[int], start: int = 0) -> list[int]:
        """Vocabulary indices as plain integers, or one clear line about the first that does not fit; `start` are before them.

        >>> from exactformer.worksheets import load
        >>> load("capstone").model.checked([0, True])
        Traceback (most recent call last):
        exactformer.model.errors.InputError: position 1: True is not the id of a token
        """
        size, length = len(self.config.vocabulary), self.config.length
        try:
            given = list(ids)
        except TypeError:
            raise InputError(f"{str(ids)[:40]}: is not a sequence of ids of tokens") from None
        if not given:
            raise InputError("the input is empty: give at least one token")
        for position, token in enumerate(given, start):
            if type(token) is not int and not isinstance(token, np.integer):
                raise InputError(f"position {position}: {str(token)[:40]} is not the id of a token")
            if not 0 <= token < size:
                raise InputError(f"position {position}: the token {token} is not in the vocabulary of {size:,}")
        if length is not None and start + len(given) > length:
            raise InputError(f"position {length}: the model has {length} positions, the input {start + len(given)} tokens")
        return list(map(int, given))


def forward(model: Model, ids: Sequence[int], ops: Arithmetic, note: Note, cache: Cache | None = None) -> Any:
    """The logits [T, vocabulary] of the tokens `ids`, or the last stream [T, dim] of a model without unembedding.

    Every step on the way is told to `note`. With a `cache`, `ids` are the tokens that follow those computed with it before.
    """
    ops.begin()
    note = ops.watched(note)
    config, weights = model.config, model.weights
    past = None if cache is None else cache.begin(model, ops)
    start = 0 if past is None else past.length
    ids = model.checked(ids, start)
    x, at = _embed(config, weights, ids, start, ops, note)
    for n, block in enumerate(weights.blocks):
        x, at = _block(config, block, f"blocks.{n}", x, at, ops, note, past)
    if cache is not None and past is not None:
        cache.finish(past, ids)
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
    shown = ", ".join(map(short, vocabulary[:8]))
    return shown if len(vocabulary) <= 8 else f"{shown}, … {len(vocabulary):,} tokens"
