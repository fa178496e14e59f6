"""Tokens to vectors, with positions added; and vectors to logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from exactformer.messages import quoted
from exactformer.model.fields import ConfigError, one_of, setting, whole
from exactformer.model.operations.lookup import LOOKUP, Sinusoidal, Table
from exactformer.model.operations.products import LINEAR, UNEMBED
from exactformer.model.operations.stream import ADD
from exactformer.model.recorder import Handle, Recorder

if TYPE_CHECKING:
    from exactformer.model.weights import Weights

Positions = Literal["table", "sinusoidal", "none"]
Unembedding = Literal["tied", "own", "none"]


@dataclass(frozen=True, kw_only=True)
class EmbeddingFields:
    vocabulary: tuple[str, ...]
    positions: Positions = setting("none", worksheet="must")
    length: int | None = setting(None, worksheet="cannot")  # the longest input; None: no limit
    # tied: the transposed embedding; own: W_U; none: the pass ends with the residual stream
    unembedding: Unembedding = setting("tied", worksheet="must")

    def check(self) -> None:
        if not self.vocabulary:
            raise ConfigError("vocabulary", "is empty")
        if not isinstance(self.vocabulary, tuple):
            raise ConfigError("vocabulary", "is not a tuple of texts")
        seen: set[str] = set()
        for token in self.vocabulary:
            if not isinstance(token, str) or not token:
                raise ConfigError("vocabulary", f"{quoted(token)} is not a token: tokens are texts that are not empty")
            if token in seen:
                raise ConfigError("vocabulary", f"has the token {quoted(token)} twice")
            seen.add(token)
        if self.length is not None:
            whole("length", self.length, 0)
        one_of("positions", self.positions, get_args(Positions))
        one_of("unembedding", self.unembedding, get_args(Unembedding))


def embedding(p: Recorder, weights: Weights, ids: list[int]) -> Handle:
    """Token embeddings, plus positions where there are any: the residual stream that the first block reads."""
    x = p.within("", "embed").do("embed", LOOKUP, Handle("tokens", ids), p.weight("W_E", weights.W_E))  # [T, dim]
    if p.config.positions == "none":
        return x
    p = p.within("", "+ position")
    if p.config.positions == "table":
        rows = p.do("pos_embed", Table(p.positions), p.weight("W_pos", weights.W_pos))  # [T, dim]
    else:
        rows = p.do("pos_embed", Sinusoidal(p.positions, p.config.dim))
    return p.do("blocks.0.resid_pre", ADD, x, rows)


def unembedding(p: Recorder, weights: Weights, x: Handle) -> Handle:
    """[T, dim] to [T, vocabulary]"""
    p = p.within("", "unembed")
    bias = p.weight("b_U", weights.b_U)
    if p.config.unembedding == "tied":
        return p.do("logits", UNEMBED, x, p.weight("W_E", weights.W_E), bias)
    return p.do("logits", LINEAR, x, p.weight("W_U", weights.W_U), bias)
