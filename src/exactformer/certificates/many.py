"""Answers of a model to many sequences at once: logits, or the weights of a block, of certified passes over batches, by position.

Sequences that stand next to each other share the positions in which they begin alike: each is computed once. Where later positions
change earlier ones (no mask), all positions of all sequences are computed at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from exactformer.certificates.preparation import Prepared
from exactformer.certified.ball import Ball
from exactformer.certified.batch import BatchArithmetic, Kept, Looked, Looking, Prefixes
from exactformer.model import Config, forward

_BYTES = 1 << 25  # of the arrays of a batch that are largest
_MOST = 1 << 15  # sequences in a batch


def at_once(config: Config, length: int) -> int:
    """How many sequences of that length make a batch, whose memory is bounded whatever the model."""
    keys = 2 * config.blocks * length * config.key_heads * config.head_dim
    widest = max(len(config.spoken), 2 * config.mlp, 3 * config.heads * config.head_dim, config.heads * length)
    rows = 1 if config.keeps_past else length
    return max(1, min(_MOST, _BYTES // (8 * (keys + 4 * rows * widest))))


def logits_at(prepared: Prepared, ids: Any, asked: Collection[int]) -> Iterator[tuple[int, Ball, Any]]:
    """For every position that is asked for, in order: logits, and which row of them belongs to each of the sequences [n, T].

    >>> from exactformer.worksheets import load
    >>> prepared = Prepared(load("capstone").model)
    >>> ((position, logits, rows),) = logits_at(prepared, np.array([[0, 1], [0, 2], [1, 0]]), [1])
    >>> position, logits.shape, rows.tolist()
    (1, (3, 3), [0, 1, 2])
    """
    model, ids = prepared.model, prepared.model.checked_many(ids)
    if not model.config.keeps_past:
        whole = forward(model, ids, BatchArithmetic(prepared.store, len(ids)))
        for position in sorted(asked):
            yield position, whole, np.arange(len(ids)) * ids.shape[1] + position
        return
    for position, new, rows, prefixes in _one_by_one(ids, max(asked) + 1):
        try:
            logits = forward(model, new, BatchArithmetic(prepared.store, len(new), position in asked), cache=prefixes)
        except Kept as kept:
            prefixes.finish(kept.cache, new)
            continue
        if position in asked:
            yield position, logits, rows


def patterns_at(prepared: Prepared, ids: Any, block: int) -> Iterator[tuple[range, Ball, Any]]:
    """The weights of a block, [some, heads, T, S], for all positions, some after the other; and which are each sequence's.

    >>> from exactformer.worksheets import load
    >>> prepared = Prepared(load("induction").model)
    >>> [(at, weights.shape, rows.tolist()) for at, weights, rows in patterns_at(prepared, np.array([[0, 1], [0, 2]]), 0)]
    [(range(0, 1), (1, 1, 1, 1), [0, 0]), (range(1, 2), (2, 1, 1, 2), [0, 1])]
    """
    model, ids = prepared.model, prepared.model.checked_many(ids)
    if not model.config.keeps_past:
        yield range(ids.shape[1]), _looked(prepared, ids, block, None), np.arange(len(ids))
        return
    for position, new, rows, prefixes in _one_by_one(ids, ids.shape[1]):
        yield range(position, position + 1), _looked(prepared, new, block, prefixes), rows


def _looked(prepared: Prepared, new: Any, block: int, prefixes: Prefixes | None) -> Ball:
    try:
        forward(prepared.model, new, Looking(prepared.store, len(new), block), cache=prefixes)
    except Looked as looked:
        if prefixes is not None and looked.cache is not None:
            prefixes.finish(looked.cache, new)
        return looked.pattern
    raise AssertionError(f"a pass without the weights of block {block}")


def _one_by_one(ids: Any, positions: int) -> Iterator[tuple[int, Any, Any, Prefixes]]:
    """Each position: the new tokens of all beginnings, which beginning each sequence has, and what is kept of those before."""
    prefixes, rows = Prefixes(), np.zeros(len(ids), dtype=np.intp)
    fresh = np.arange(len(ids)) == 0  # does a sequence begin otherwise than the one before it?
    for position in range(positions):
        fresh[1:] |= ids[1:, position] != ids[:-1, position]
        first = np.flatnonzero(fresh)
        prefixes, rows = prefixes.branched(rows[first]), np.cumsum(fresh) - 1
        yield position, ids[first, position : position + 1], rows, prefixes
