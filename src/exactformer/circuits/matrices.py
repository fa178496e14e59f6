"""The QK and OV circuits of any head, in token space or between positions: exact matrices to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from exactformer.arithmetics import adjoints, arithmetic
from exactformer.circuits.circuit import CircuitError
from exactformer.model import Model
from exactformer.model.operations.rotation import Rotate
from exactformer.numbers.arrays import Array, matmul
from exactformer.showing import Shown

_MOST_ENTRIES = 1_000_000


@dataclass(frozen=True)
class CircuitTable(Shown):
    """A matrix with the names of its rows and columns, and what it says."""

    title: str
    meaning: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array

    def __repr__(self) -> str:
        return f"<{self.title}, {' × '.join(map(str, self.values.shape))}>"

    @property
    def is_zero(self) -> bool:
        return all(value == 0 for value in self.values.flat)


def qk(model: Model, block: int, head: int, query: Array | None = None, key: Array | None = None, distance: int = 0) -> Array:
    """query W_Q W_Kᵀ keyᵀ, times the scale: what a query row scores with a key row. By default both are token embeddings.

    With rotary positions a score depends on how far back the key is: `distance`. Biases and norms are left out, and so is a soft
    cap: it is the circuit of the weights.
    """
    weights = model.weights.blocks[block].attn
    query, key = (_loaded(model.weights.W_E) if rows is None else rows for rows in (query, key))
    queries = matmul(query, _loaded(weights.W_Q[head]))
    keys = matmul(key, _loaded(weights.W_K[_key_head(model, head)]))
    if (rotary := model.config.rotary_at(block)) is not None and distance:
        everywhere = Rotate(rotary, range(distance, distance + 1))  # turned as if the key were at position 0
        queries = everywhere.apply(adjoints("exact"), queries[None])[0]
    scale = model.config.scale_at(block)
    return _scaled(_product(queries, keys.T), scale)


def ov(model: Model, block: int, head: int, value: Array | None = None, to: Sequence[int] | None = None) -> Array:
    """value W_V W_O W_U: what attending to a row adds to the logits, all or those of `to`. By default rows are token embeddings."""
    if model.config.unembedding == "none":
        raise ValueError("the model has no unembedding: its OV circuit does not reach tokens")
    columns = np.transpose(model.weights.W_E) if model.weights.W_U is None else model.weights.W_U
    return _product(written(model, block, head, value), _loaded(columns if to is None else columns[:, list(to)]))


def written(model: Model, block: int, head: int, value: Array | None = None) -> Array:
    """value W_V W_O: what attending to a row writes into the stream."""
    weights = model.weights.blocks[block].attn
    rows = _loaded(model.weights.W_E) if value is None else value
    return matmul(matmul(rows, _loaded(weights.W_V[_key_head(model, head)])), _loaded(weights.W_O[head]))


class Extent(NamedTuple):
    """How many tables there are, and how many numbers in them."""

    tables: int
    entries: int


def extent(model: Model, block: int, tokens: int) -> Extent:
    """Of the circuits of one head, among so many tokens, at most: known before anything is computed.

    >>> from exactformer.worksheets import load
    >>> extent(load("stories").model, 4, 966)
    Extent(tables=291, entries=270677064)
    """
    config = model.config
    pairs = (1 + block * config.heads) ** 2  # tokens, and those that each head of an earlier block brought, with each other
    places = 0 if model.weights.W_pos is None else len(model.weights.W_pos)
    logits = config.unembedding != "none"
    return Extent(
        pairs + (places > 0) + logits + 1,
        pairs * tokens**2 + logits * tokens * (len(config.outputs) or tokens) + places**2 + tokens * config.dim,
    )


def circuits(
    model: Model,
    block: int,
    head: int,
    directions: tuple[str, ...] | None = None,
    distance: int = 0,
    chosen: Sequence[int] | None = None,
) -> Iterator[CircuitTable]:
    """The circuits of a head: tokens with tokens, positions with positions, and tokens that heads of earlier blocks brought.

    What is 0 everywhere is left out, but for tokens with tokens. `directions` names the dimensions of the stream.
    `chosen` are the ids of the tokens that are looked at: by default all. Where a model says other tokens than it reads, all of
    those that it says are.
    """
    ids = range(len(model.config.vocabulary)) if chosen is None else chosen
    tokens, name = tuple(model.config.vocabulary[i] for i in ids), f"block {block}, head {head}"
    embedded = _loaded(model.weights.W_E[list(ids)])
    direct = ("token", embedded)
    brought = [
        (f"token brought by block {n}, head {h}", written(model, n, h, embedded))
        for n in range(block)
        for h in range(model.config.heads)
    ]
    rotary = model.config.positions == "rotary"
    for (query, query_rows), (key, key_rows) in product([direct, *brought], repeat=2):
        scores = qk(model, block, head, query_rows, key_rows, distance)
        far = f", {distance} back" if rotary else ""
        table = CircuitTable(f"{name}: QK", f"what the query's {query} scores with the key's {key}{far}", tokens, tokens, scores)
        if not table.is_zero or query == key == "token":
            yield table
    if model.weights.W_pos is not None:
        rows = _loaded(model.weights.W_pos)
        places = tuple(map(str, range(len(rows))))
        scores = qk(model, block, head, rows, rows)
        table = CircuitTable(f"{name}: QK", "what the query's position scores with the key's position", places, places, scores)
        if not table.is_zero:
            yield table
    if model.config.unembedding != "none":
        spoken = model.config.spoken
        to = range(len(spoken)) if chosen is None or model.config.outputs else chosen
        added = ov(model, block, head, embedded, to)
        yield CircuitTable(
            f"{name}: OV", "what attending to a token adds to the logits", tokens, tuple(spoken[i] for i in to), added
        )
    yield _stream_table(name, written(model, block, head, embedded), tokens, directions)


def _stream_table(name: str, rows: Array, tokens: tuple[str, ...], directions: tuple[str, ...] | None) -> CircuitTable:
    """What a head writes into the stream: the dimensions that it does not touch are left out."""
    touched = [d for d in range(rows.shape[1]) if any(value != 0 for value in rows[:, d])]
    names = tuple(directions[d] if directions else str(d) for d in touched)
    return CircuitTable(f"{name}: OV", "what attending to a token writes into the stream", tokens, names, rows[:, touched])


def _key_head(model: Model, head: int) -> int:
    """The head of keys and values that a head of queries reads."""
    return head * model.config.key_heads // model.config.heads


def _product(rows: Array, columns: Array) -> Array:
    """The product that a table shows, unless nobody could look at it: with many tokens, circuits are of chosen rows."""
    height, width = rows.shape[0], columns.shape[1]
    if height * width > _MOST_ENTRIES:
        size = f"a circuit of {height:,} × {width:,} entries; at most {_MOST_ENTRIES:,} are computed"
        raise CircuitError(f"{size}: choose rows (in Python: exactformer.circuits.qk and ov take them)")
    return matmul(rows, columns)


def _loaded(weights: Any) -> Array:
    loaded: Array = arithmetic("exact").load(weights)
    return loaded


def _scaled(values: Array, factor: Any) -> Array:
    return values if factor == 1 else values * factor
