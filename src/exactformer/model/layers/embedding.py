"""Tokens to vectors, with positions added; and vectors to logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from exactformer.messages import quoted
from exactformer.model.fields import ConfigError, one_of, positive, setting, whole
from exactformer.model.operations.activations import Cap
from exactformer.model.operations.attention import Scale
from exactformer.model.operations.lookup import LOOKUP, Sinusoidal, Table
from exactformer.model.operations.products import LINEAR, UNEMBED
from exactformer.model.operations.stream import ADD
from exactformer.model.recorder import Handle, Recorder
from exactformer.numbers import Exact, Number, exact, sqrt

if TYPE_CHECKING:
    from exactformer.model.weights import Weights

Positions = Literal["table", "sinusoidal", "rotary", "none"]
Unembedding = Literal["tied", "own", "none"]


@dataclass(frozen=True, kw_only=True)
class EmbeddingFields:
    dim: int
    vocabulary: tuple[str, ...]  # the tokens that are read
    # what is said, a name for each logit; (): the vocabulary. Everybody else asks `spoken`.
    outputs: tuple[str, ...] = setting((), worksheet="may")
    positions: Positions = setting("none", worksheet="must")
    length: int | None = setting(None, worksheet="cannot")  # the longest input; None: no limit
    # tied: the transposed embedding; own: W_U; none: the pass ends with the residual stream
    unembedding: Unembedding = setting("tied", worksheet="must")
    embedding_scale: Exact | Literal["none", "sqrt"] = "none"  # embeddings are multiplied by 1, by √dim, or by a number
    logit_cap: Exact | None = None  # c: logits become c · tanh(logit/c)

    def check(self) -> None:
        if not self.vocabulary:
            raise ConfigError("vocabulary", "is empty")
        _named("vocabulary", self.vocabulary)
        self._check_outputs()
        if self.length is not None:
            whole("length", self.length, 0)
        one_of("positions", self.positions, get_args(Positions))
        one_of("unembedding", self.unembedding, get_args(Unembedding))
        if not isinstance(self.embedding_scale, Number):
            one_of("embedding_scale", self.embedding_scale, ("none", "sqrt"))
        positive("logit_cap", self.logit_cap)
        if self.logit_cap is not None and self.unembedding == "none":
            raise ConfigError("logit_cap", "is given, but the model has no logits")

    def _check_outputs(self) -> None:
        _named("outputs", self.outputs)
        if self.outputs == self.vocabulary:
            object.__setattr__(self, "outputs", ())
        if self.outputs and self.unembedding == "tied":
            raise ConfigError("outputs", 'are not the vocabulary, which W_E is of: they go with unembedding = "own"')
        if self.outputs and self.unembedding == "none":
            raise ConfigError("outputs", "are given, but the model has no logits")

    @property
    def spoken(self) -> tuple[str, ...]:
        """What the model says: the name of each logit. What it reads is the `vocabulary`; in most models they are the same."""
        return self.outputs or self.vocabulary

    @property
    def heard(self) -> tuple[int | None, ...]:
        """The token that is read where an output is fed back: the one of the same name; None where there is none.

        >>> from exactformer.model import Config
        >>> fields = {"dim": 2, "blocks": 1, "norm": "none", "mask": "causal", "scale": "sqrt", "unembedding": "own"}
        >>> Config(vocabulary=("a", "b"), outputs=("b", "yes"), **fields).heard
        (1, None)
        """
        index = {token: n for n, token in enumerate(self.vocabulary)}
        return tuple(map(index.get, self.spoken))

    @property
    def embedding_factor(self) -> Number:
        """The exact number that embeddings are multiplied by."""
        if isinstance(self.embedding_scale, Number):
            return self.embedding_scale
        return exact(1) if self.embedding_scale == "none" else sqrt(self.dim)


def _named(field: str, names: object) -> None:
    """Texts, none of them empty, and none twice."""
    if not isinstance(names, tuple):
        raise ConfigError(field, "is not a tuple of texts")
    seen: set[str] = set()
    for token in names:
        if not isinstance(token, str) or not token:
            raise ConfigError(field, f"{quoted(token)} is not a token: tokens are texts that are not empty")
        if token in seen:
            raise ConfigError(field, f"has the token {quoted(token)} twice")
        seen.add(token)


def embedding(p: Recorder, weights: Weights, ids: list[int]) -> Handle:
    """Token embeddings, plus positions where there are any: the residual stream that the first block reads."""
    x = p.within("", "embed").do("embed", LOOKUP, Handle("tokens", ids), p.weight("W_E", weights.W_E))  # [T, dim]
    if (factor := p.config.embedding_factor) != 1:
        x = p.within("", "embed").do("embed_scaled", Scale(factor), x)
    if p.config.positions in ("none", "rotary"):
        return x
    p = p.within("", "+ position")
    if p.config.positions == "table":
        rows = p.do("pos_embed", Table(p.positions), p.weight("W_pos", weights.W_pos))  # [T, dim]
    else:
        rows = p.do("pos_embed", Sinusoidal(p.positions, p.config.dim))
    return p.do("blocks.0.resid_pre", ADD, x, rows)


def unembedding(p: Recorder, weights: Weights, x: Handle) -> Handle:
    """[T, dim] to [T, outputs]"""
    p = p.within("", "unembed")
    cap = p.config.logit_cap
    name, bias = "logits" if cap is None else "uncapped", p.weight("b_U", weights.b_U)
    if p.config.unembedding == "tied":
        logits = p.do(name, UNEMBED, x, p.weight("W_E", weights.W_E), bias)
    else:
        logits = p.do(name, LINEAR, x, p.weight("W_U", weights.W_U), bias)
    return logits if cap is None else p.do("logits", Cap(cap), logits)
