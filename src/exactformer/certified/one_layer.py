"""A network of one attention layer and nothing else, as tables: how strongly each token at each position is looked at from a last
token, and what it then adds to the logits. Enclosed once by Arb, and then floats with a known error (docs/certified.md, Lemma 34).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from exactformer.certified import bounds
from exactformer.messages import Refused
from exactformer.model import Config, Model
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.layers.embedding import embedding
from exactformer.model.recorder import Recorder, unnoted
from exactformer.numbers import exact
from exactformer.numbers.enclosure import precision

_BITS = 192
_LEAST = 2.0**-500  # η of Lemma 34: what a float may be off by besides 2u of itself
_MOST = 1 << 25  # entries of a table


class ShapeError(Refused):
    """A network that is not of one attention layer, in one line."""


@dataclass(frozen=True, eq=False)
class Tables:
    """For one last token: `weights` [heads, T, tokens], e^(score − c), 0 where it may not look; `says` [heads, T, tokens, outputs],
    what a token at a position adds to the logits if it is looked at alone, the last token's own part included. No entry of `says`
    is larger than `largest`, [heads]. The logits are Σ_h Σ_j weights · says / Σ_j weights."""

    weights: Any
    says: Any
    largest: Any


@dataclass(frozen=True, eq=False)
class OneLayer:
    """The tables of all last tokens, of inputs of one length."""

    weights: Any  # [tokens, heads, T, tokens]: of every last token
    copied: Any  # [heads, T, tokens, outputs]
    direct: Any  # [tokens, outputs]: of every last token, its own part of the logits, shared by the heads

    def of(self, last: int) -> Tables:
        says = self.copied + self.direct[last]
        largest = (np.abs(self.copied).max(axis=(1, 2, 3)) + np.abs(self.direct[last]).max()) * bounds.UP
        return Tables(self.weights[last], says, largest)


def check_shape(config: Config, length: int) -> None:
    """Refuse what is not one attention layer, read from the last position."""
    others = {
        f"{config.blocks} blocks": config.blocks != 1,
        "an MLP": bool(config.mlp),
        "a norm": config.norm != "none" or config.final_norm or config.qk_norm,
        "rotary positions": config.positions == "rotary",
        "a cap": config.score_cap is not None or config.logit_cap is not None,
        "hard attention": config.hard,
        "attention with a mistake": config.late_mask or config.mixed_sharing,
        "no logits": config.unembedding == "none",
        "but one output": len(config.spoken) == 1,
    }
    for what, has in others.items():
        if has:
            raise ShapeError(f"sets of inputs are for networks of one attention layer and nothing else: this one has {what}")
    tokens, widest = len(config.vocabulary), max(len(config.vocabulary), len(config.spoken))
    if max(config.heads, tokens) * length * tokens * widest > _MOST:
        raise ShapeError(f"sets of inputs: {tokens:,} tokens at {length} positions are too many for tables of all pairs of tokens")
    if not config.sight_at(0).seen(1, length).any():
        raise ShapeError("sets of inputs: the last position may look nowhere")


def one_layer(model: Model, length: int) -> OneLayer:
    """Enclosed by Arb, and rounded to floats that are checked against the balls.

    >>> from exactformer.worksheets import load
    >>> one_layer(load("capstone").model, 2).weights.shape
    Traceback (most recent call last):
    exactformer.certified.one_layer.ShapeError: sets of inputs are for networks of one attention layer ...: this one has an MLP
    """
    config, weights, ops = model.config, model.weights, ArbArithmetic(_BITS)
    check_shape(config, length)
    tokens, heads, attn = len(config.vocabulary), config.heads, model.weights.blocks[0].attn

    def given(array: Any) -> Any:
        return None if array is None else ops.load(array)

    x = _embedded(model, ops, length)
    rows = x.reshape(length * tokens, -1)
    k, v = (np.repeat(ops.project(rows, given(w), given(b)), heads // config.key_heads, axis=0) for w, b in _keys_and_values(attn))
    q = ops.project(x[-1], given(attn.W_Q), given(attn.b_Q))
    scores = ops.times(ops.scores(q, k), ops.constant(config.scale_at(0)))  # [heads, tokens, T · tokens]
    out = np.stack([ops.linear(v[h], given(attn.W_O)[h], None) for h in range(heads)])
    unembedding = given(weights.W_E).T if config.unembedding == "tied" else given(weights.W_U)
    copied = ops.linear(out.reshape(heads * length * tokens, -1), unembedding, None)
    stream = x[-1] if config.residual else ops.zeros_like(x[-1])
    own = ops.linear(stream if attn.b_O is None else ops.add(stream, given(attn.b_O)), unembedding, given(weights.b_U))
    seen = config.sight_at(0).seen(1, length)[0]
    by_last = np.moveaxis(_known(scores), 0, 1).reshape(tokens, heads, length, tokens)
    return OneLayer(
        np.array([[_weights(one, seen) for one in each] for each in by_last]),
        _floats(copied).reshape(heads, length, tokens, len(config.spoken)),
        _floats(ops.times(own, ops.constant(exact(1) / heads))),
    )


def _keys_and_values(attn: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (attn.W_K, attn.b_K), (attn.W_V, attn.b_V)


def _embedded(model: Model, ops: ArbArithmetic, length: int) -> Any:
    """Every token at every position, by the model's own wiring: [T, tokens, dim]."""
    p = Recorder(model.config, ops, unnoted, range(length))
    return np.stack([embedding(p, model.weights, [n] * length).value for n in range(len(model.config.vocabulary))], axis=1)


def _weights(scores: Any, seen: Any) -> Any:
    """e^(score − c) of [T, tokens], with c the float next to the largest of those that are seen."""
    top = max(float(score.mid()) for score in scores[seen].ravel())
    result = np.zeros(scores.shape)
    with precision(_BITS):
        result[seen] = _floats(np.array([[(score - arb(top)).exp() for score in row] for row in scores[seen]], dtype=object))
    return result


def _known(balls: Any) -> Any:
    if not all(isinstance(ball, arb) for ball in balls.ravel()):
        raise ShapeError("sets of inputs: a number of the network is not known, or beyond what balls hold")
    return balls


def _floats(balls: Any) -> Any:
    """The float next to each ball: checked to be within 2u of itself and η of all that the ball holds."""
    found = np.array([float(ball.mid()) for ball in _known(balls).ravel()])
    with precision(_BITS):
        least, unit = arb(_LEAST), arb(2 * bounds.UNIT)
        for ball, number in zip(balls.ravel(), found.tolist(), strict=True):
            if not abs(ball - arb(number)) <= unit * abs(arb(number)) + least:
                raise ShapeError("sets of inputs: a number of the network is beyond what floats hold")
    return found.reshape(balls.shape)
