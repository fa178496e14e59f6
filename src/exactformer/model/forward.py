"""The wiring of a transformer, written once: which sub-layer reads what. It runs unchanged on every arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.messages import quoted, short
from exactformer.model.arithmetics.roles import Values
from exactformer.model.cache import Cache
from exactformer.model.config import Config
from exactformer.model.errors import InputError
from exactformer.model.fields import ConfigError
from exactformer.model.layers.attention import attention
from exactformer.model.layers.embedding import embedding, unembedding
from exactformer.model.layers.mlp import mlp
from exactformer.model.layers.norm import NormWeights, normed
from exactformer.model.operations.stream import ADD, SAME
from exactformer.model.recorder import Handle, Note, Recorder, unnoted
from exactformer.model.taking import sealed, taken
from exactformer.model.weights import BlockWeights, Weights
from exactformer.showing import Saved

__all__ = ["InputError", "Model", "forward"]


@dataclass(frozen=True)
class Model(Saved):
    """A configuration with weights that fit it. They are its own: nobody can write to them."""

    config: Config
    weights: Weights

    def __post_init__(self) -> None:
        if type(self.config) is not Config:
            raise ConfigError("config", f"is of the class {type(self.config).__name__}, not Config")
        object.__setattr__(self, "weights", taken(self.config, self.weights))

    def __repr__(self) -> str:
        """
        >>> from exactformer.worksheets import load
        >>> load("capstone").model
        <model: 2 dimensions, 1 block, 1 head, 3 tokens, 42 weights>
        """
        config = self.config
        sizes = {"dimension": config.dim, "block": config.blocks, "head": config.heads, "token": len(config.vocabulary)}
        if config.outputs:
            sizes["output"] = len(config.outputs)
        sizes["weight"] = sum(value.size for _, value in self.weights.named())
        counts = (f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s" for noun, count in sizes.items())
        return f"<model: {', '.join(counts)}>"

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

    def column(self, token: str) -> int:
        """Where the logits of a token stand."""
        try:
            return self.config.spoken.index(token)
        except ValueError:
            raise InputError(f"the token {quoted(token)} is not {self._among_outputs}") from None

    def columns(self, tokens: Sequence[str]) -> list[int]:
        """The same of one for each position."""
        index = {token: i for i, token in enumerate(self.config.spoken)}
        for position, token in enumerate(tokens):
            if token not in index:
                raise InputError(f"position {position}: the token {quoted(token)} is not {self._among_outputs}")
        return [index[token] for token in tokens]

    @property
    def _among_outputs(self) -> str:
        kind = "among the outputs" if self.config.outputs else "in the vocabulary"
        return f"{kind} ({_few(self.config.spoken)})"

    def fed_back(self, output: int) -> int:
        """The id of the token that is read where the model's output is fed back.

        >>> from exactformer.worksheets import load
        >>> load("capstone").model.fed_back(2)
        2
        """
        if not self.config.outputs:
            return output
        self.check_fed_back()
        token = self.config.heard[output]
        assert token is not None
        return token

    def check_fed_back(self) -> None:
        """Refuse a model of which not every output is a token that it reads: nothing can follow such an output."""
        for name, token in zip(self.config.spoken, self.config.heard, strict=True) if self.config.outputs else ():
            if token is None:
                raise InputError(
                    f"the output {quoted(name)} is not in the vocabulary ({_few(self.config.vocabulary)}): "
                    "it cannot be fed back, so no more than 1 token can be asked for"
                )

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

    def checked_many(self, ids: Any, start: int = 0) -> Any:
        """The same of many sequences of one length, as an array of ids [sequences, T].

        >>> from exactformer.worksheets import load
        >>> load("capstone").model.checked_many(np.array([[0, 1], [1, 7]]))
        Traceback (most recent call last):
        exactformer.model.errors.InputError: position 1: the token 7 is not in the vocabulary of 3
        """
        if not isinstance(ids, np.ndarray) or ids.ndim != 2 or ids.dtype.kind not in "iu" or not ids.size:
            raise InputError("many sequences: give an array of ids, [sequences, tokens], that is not empty")
        out = (ids < 0) | (ids >= len(self.config.vocabulary))
        for sequence in np.flatnonzero(out.any(axis=1))[:1]:
            self.checked(ids[sequence], start)
        self.checked(ids[0], start)
        return ids


def forward(model: Model, ids: Sequence[int] | Any, ops: Values, note: Note = unnoted, cache: Cache | None = None) -> Any:
    """The logits [T, outputs] of the tokens `ids`, or the last stream [T, dim] of a model without unembedding.

    Every step on the way is given to `note`. With a `cache`, `ids` are the tokens that follow those computed with it before. Many
    sequences at once are an array of ids [sequences, T], for an arithmetic that takes them: their rows follow one another.
    """
    return through(model, ids, ops, range(model.config.blocks), None, note, cache).value


def through(
    model: Model, ids: Sequence[int], ops: Values, blocks: range, x: Handle | None = None, note: Note = unnoted,
    cache: Cache | None = None,
) -> Handle:  # fmt: skip
    """Some blocks of a pass: with the first goes the embedding, and with the last what follows; else `x`, the stream, is handed on.

    >>> from exactformer.model.arithmetics.floats import FloatArithmetic
    >>> from exactformer.worksheets import load
    >>> model, ops = load("induction").model, FloatArithmetic("float64")
    >>> stream = through(model, [0, 1, 0], ops, range(1))
    >>> bool((through(model, [0, 1, 0], ops, range(1, 2), stream).value == forward(model, [0, 1, 0], ops)).all())
    True
    """
    ops.begin()
    ops.check(model.config)
    past = None if cache is None else cache.begin(model, ops)
    weights, start = model.weights, 0 if past is None else past.length
    ids = model.checked_many(ids, start) if ops.many else model.checked(ids, start)
    heard = note if note is unnoted else ops.watched(note)
    p = Recorder(model.config, ops, heard, range(start, start + np.shape(ids)[-1]), past)
    x = embedding(p, weights, ids) if x is None else x
    for n in blocks:
        x = _block(p, weights.blocks[n], n, x)
    if cache is not None and past is not None:
        cache.finish(past, ids)
    if blocks.stop < model.config.blocks:
        return x
    if weights.ln_final is not None:
        x = normed(p, x, weights.ln_final, "ln_final")
    return x if model.config.unembedding == "none" else unembedding(p, weights, x)


def _block(p: Recorder, weights: BlockWeights, n: int, x: Handle) -> Handle:
    """x → x + attention → x + MLP, with norms before (pre) or after (post) each sub-layer, or nowhere."""
    name = f"blocks.{n}"
    pre, post = p.config.norm == "pre", p.config.norm == "post"
    if x.name != f"{name}.resid_pre":
        x = p.do(f"{name}.resid_pre", SAME, x)
    start, first = x, _normed(p, x, weights.ln1, f"{name}.ln1", pre)
    y = _normed(p, attention(p, first, weights.attn, n, f"{name}.attn"), weights.ln1_post, f"{name}.ln1_post")
    x = _joined(p, f"{name}.resid_mid", x, y)
    x = _normed(p, x, weights.ln1, f"{name}.ln1", post)
    if weights.mlp is None:
        return p.do(f"{name}.resid_post", SAME, x)
    y = first if p.config.shared_norm else _normed(p, start if p.config.parallel else x, weights.ln2, f"{name}.ln2", pre)
    y = _normed(p, mlp(p, y, weights.mlp, f"{name}.mlp"), weights.ln2_post, f"{name}.ln2_post")
    x = _joined(p, f"{name}.resid_post", x, y)
    return _normed(p, x, weights.ln2, f"{name}.ln2", post)


def _normed(p: Recorder, x: Handle, weights: NormWeights | None, name: str, here: bool = True) -> Handle:
    return normed(p, x, weights, name) if here and weights is not None else x


def _joined(p: Recorder, name: str, x: Handle, y: Handle) -> Handle:
    """The stream after a sub-layer: with its result added, or replaced by it."""
    return p.within("", "+ residual").do(name, ADD, x, y) if p.config.residual else p.within("", "replace").do(name, SAME, y)


def _few(vocabulary: tuple[str, ...]) -> str:
    shown = ", ".join(map(short, vocabulary[:8]))
    return shown if len(vocabulary) <= 8 else f"{shown}, … {len(vocabulary):,} tokens"
