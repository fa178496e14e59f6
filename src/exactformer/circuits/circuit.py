"""A model made of heads in words: from named subspaces to the weights W_E, W_pos, W_Q, W_K, W_V, W_O, W_U, all exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from exactformer.circuits.head import Head
from exactformer.messages import Refused, quoted, short
from exactformer.model import AttentionWeights, BlockWeights, Config, Model, Weights
from exactformer.model.sight import Mask
from exactformer.numbers import Exact, array, exact
from exactformer.numbers.arrays import Array, zeros
from exactformer.numbers.field import ONE

ONE_HOT = "one-hot"


class CircuitError(Refused):
    """Subspaces and heads that do not fit together."""


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """`stream` gives every subspace what it holds: "tokens", "positions", or a number of dimensions.

    `codes` says what the embedding writes: "one-hot", or a vector for each token (for each position, where the subspace holds
    positions). The logits are `confidence` times the subspace `predict`.

    >>> circuit = Circuit(
    ...     vocabulary=("a", "b"), length=3, stream={"token": "tokens", "position": "positions", "output": "tokens"},
    ...     codes={"token": "one-hot", "position": "one-hot"},
    ...     layers=[[Head(query="position", key="position", offset=1, strength=100, value="token", to="output")]],
    ... )
    >>> circuit.build().config.dim
    7
    >>> replace(circuit, predict="result").build()
    Traceback (most recent call last):
    exactformer.circuits.circuit.CircuitError: predict: there is no subspace 'result' (token, position, output)
    """

    vocabulary: tuple[str, ...]
    length: int
    stream: Mapping[str, str | int]
    codes: Mapping[str, Any]
    layers: tuple[tuple[Head, ...], ...]
    predict: str = "output"
    confidence: Any = 1
    mask: Mask = "strict"
    hard: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", tuple(self.vocabulary))
        object.__setattr__(self, "layers", tuple(tuple(layer) for layer in self.layers))
        object.__setattr__(
            self, "confidence", exact(self.confidence) if not isinstance(self.confidence, Exact) else self.confidence
        )
        self._check()

    # -- subspaces
    def labels(self, subspace: str) -> tuple[str, ...]:
        """What each direction of a subspace stands for."""
        held = self.stream[subspace]
        if held == "tokens":
            return self.vocabulary
        return tuple(map(str, range(self.length if held == "positions" else int(held))))

    def size(self, subspace: str) -> int:
        held = self.stream[subspace]
        return held if isinstance(held, int) else len(self.vocabulary) if held == "tokens" else self.length

    def span(self, subspace: str) -> slice:
        """The dimensions of the stream that a subspace has."""
        start = 0
        for name in self.stream:
            if name == subspace:
                return slice(start, start + self.size(name))
            start += self.size(name)
        raise KeyError(subspace)

    @property
    def dim(self) -> int:
        return sum(map(self.size, self.stream))

    @property
    def directions(self) -> tuple[str, ...]:
        """A name for every dimension of the stream: `token:a`, `position:0`, …"""
        return tuple(f"{name}:{label}" for name in self.stream for label in self.labels(name))

    # -- variants
    def stronger(self, strength: Any) -> Circuit:
        """The same heads, all of that strength."""
        return replace(self, layers=tuple(tuple(replace(head, strength=strength) for head in layer) for layer in self.layers))

    # -- checks
    def _check(self) -> None:
        if type(self.length) is not int or self.length < 1:
            raise CircuitError(f"length: {quoted(self.length)} is not a whole number of at least 1")
        for name, held in self.stream.items():
            if held not in ("tokens", "positions") and (type(held) is not int or held < 1):
                raise CircuitError(
                    f"stream.{short(name)}: {quoted(held)} is neither tokens nor positions nor a number of dimensions"
                )
        written = dict.fromkeys(self.codes, "the embedding")
        for name in self.codes:
            self._known(name, f"codes.{short(name)}")
        for n, layer in enumerate(self.layers):
            if not layer:
                raise CircuitError(f"layer {n}: has no head")
            before = dict(written)
            for h, head in enumerate(layer):
                self._check_head(head, f"layer {n}, head {h}", before)
                if head.to in written:
                    raise CircuitError(
                        f"layer {n}, head {h}: writes to {quoted(head.to)}, as does {written[head.to]}: writes would overlap"
                    )
                written[head.to] = f"layer {n}, head {h}"
        self._known(self.predict, "predict")
        if self.size(self.predict) != len(self.vocabulary):
            raise CircuitError(
                f"predict: {quoted(self.predict)} has {self.size(self.predict)} dimensions, "
                f"the vocabulary {len(self.vocabulary)} tokens"
            )
        if self.predict not in written:
            raise CircuitError(f"predict: nothing writes to {quoted(self.predict)}")

    def _check_head(self, head: Head, place: str, written: dict[str, str]) -> None:
        for role, names in (("query", head.query), ("key", head.key), ("value", (head.value,)), ("to", (head.to,))):
            for name in names:
                self._known(name, f"{place}: {role}")
                if role != "to" and name not in written:
                    raise CircuitError(f"{place}: {role} reads {quoted(name)}, to which nothing before this layer writes")
        if len(head.query) != len(head.key):
            raise CircuitError(f"{place}: query reads {len(head.query)} subspaces, key {len(head.key)}: they are matched in pairs")
        for one, other, verb in [*((q, k, "is matched with") for q, k in head.pairs), (head.value, head.to, "is copied to")]:
            if self.size(one) != self.size(other):
                raise CircuitError(
                    f"{place}: {quoted(one)} ({self.size(one)}) {verb} {quoted(other)} ({self.size(other)}): the sizes do not fit"
                )
        if head.offset and (len(head.query) > 1 or any(self.stream[name] != "positions" for name in (*head.query, *head.key))):
            raise CircuitError(f"{place}: offset goes with positions alone, one subspace each")
        if type(head.offset) is not int or not 0 <= head.offset < max(2, self.length):
            raise CircuitError(f"{place}: offset {quoted(head.offset)} is not a whole number from 0 to {self.length - 1}")

    def _known(self, name: Any, place: str) -> None:
        if name not in self.stream:
            raise CircuitError(f"{place}: there is no subspace {quoted(name)} ({', '.join(map(short, self.stream))})")

    # -- weights
    @property
    def config(self) -> Config:
        """The configuration of the model: heads are as wide as the widest, and layers have as many as the fullest."""
        heads = max(map(len, self.layers), default=1)
        width = max((self._width(head) for layer in self.layers for head in layer), default=1)
        return Config(
            vocabulary=self.vocabulary, dim=self.dim, blocks=len(self.layers), heads=heads, head_dim=width, norm="none",
            mask=self.mask, scale="none", positions="table", length=self.length, unembedding="own", hard=self.hard,
        )  # fmt: skip

    def build(self) -> Model:
        """The model, with exact weights."""
        config = self.config
        W_U = zeros(self.dim, len(self.vocabulary))
        _fill(W_U[self.span(self.predict)], self.confidence)
        token_codes = self._coded(len(self.vocabulary), [n for n in self.codes if self.stream[n] != "positions"])
        position_codes = self._coded(self.length, [n for n in self.codes if self.stream[n] == "positions"])
        blocks = tuple(BlockWeights(attn=self._attention(layer, config.heads, config.head_dim)) for layer in self.layers)
        return Model(config, Weights(W_E=token_codes, W_pos=position_codes, blocks=blocks, W_U=W_U))

    def _width(self, head: Head) -> int:
        return max(sum(map(self.size, head.key)), self.size(head.value))

    def _coded(self, rows: int, names: list[str]) -> Array:
        """The embedding of every token, or of every position."""
        table = zeros(rows, self.dim)
        for name in names:
            code, size = self.codes[name], self.size(name)
            if isinstance(code, str):
                if code != ONE_HOT or size != rows:
                    why = f"is {quoted(code)}" if code != ONE_HOT else f"has {size} dimensions for {rows} codes"
                    raise CircuitError(f"codes.{short(name)}: {why}: write one-hot, or {rows} vectors of {size} numbers")
                _fill(table[:, self.span(name)], ONE)
                continue
            vectors = array(code)
            if vectors.shape != (rows, size):
                raise CircuitError(f"codes.{short(name)}: has the shape {' × '.join(map(str, vectors.shape))}, not {rows} × {size}")
            table[:, self.span(name)] = vectors
        return table

    def _attention(self, layer: tuple[Head, ...], heads: int, width: int) -> AttentionWeights:
        W_Q, W_K, W_V = (zeros(heads, self.dim, width) for _ in range(3))
        W_O = zeros(heads, width, self.dim)
        for h, head in enumerate(layer):
            for columns, (query, key) in zip(self._columns(head), head.pairs, strict=True):
                _fill(W_Q[h, self.span(query), columns], head.strength, head.offset)
                _fill(W_K[h, self.span(key), columns], ONE)
            copied = slice(0, self.size(head.value))
            _fill(W_V[h, self.span(head.value), copied], ONE)
            _fill(W_O[h, copied, self.span(head.to)], ONE)
        return AttentionWeights(W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O)

    def _columns(self, head: Head) -> Iterator[slice]:
        """Where each pair of subspaces lies in the head's own space."""
        start = 0
        for name in head.key:
            yield slice(start, start + self.size(name))
            start += self.size(name)

    def inside(self, block: int, head: int, letter: str) -> tuple[str, ...]:
        """What the dimensions of q, k, v and z of a head stand for; those that it does not use are not named."""
        if head >= len(self.layers[block]):
            return ()
        names = self.layers[block][head].key if letter in "qk" else (self.layers[block][head].value,)
        return tuple(f"{name}:{label}" for name in names for label in self.labels(name))


def _fill(block: Array, value: Exact, offset: int = 0) -> None:
    """`value` where the row is the column plus the offset."""
    for column in range(block.shape[1] - offset):
        block[column + offset, column] = value
