"""Tokens that a model treats alike: exchanging two of them in the input exchanges them in the output, and nothing else.

Lemma. Let π exchange two tokens, and S exchange dimensions of the stream, with
    W_E[π(t)] = W_E[t] S,   W_pos S = W_pos,   S W_Q W_Kᵀ Sᵀ = W_Q W_Kᵀ,   S W_V W_O = W_V W_O S,   S W_U = W_U P
for every head, P being the matrix of π. Then, block by block, the stream of π(x) is that of x times S: scores and so patterns are
the same, and what heads add is exchanged alike. So logits(π(x)) = logits(x) P, whatever the length of x. The equations are
between rationals and are checked as such.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from flint import fmpq_mat

from exactformer.arithmetics import arithmetic
from exactformer.circuits.circuit import Circuit, CircuitError
from exactformer.model import Model
from exactformer.numbers import Exact

# what a model may have besides: none of it tells one dimension of the stream from another
_SPOKEN_OF = {
    "heads",
    "head_dim",
    "positions",
    "length",
    "unembedding",
    "residual",
    "scale_by_block",
    "hard",
    "stable",
    "late_mask",
}
Classes = tuple[tuple[str, ...], ...]


def interchangeable(model: Model, circuit: Circuit | None) -> Classes:
    """Classes of tokens (all that are read or said), any renaming within which is proved to rename the output alike.

    The circuit says which dimensions belong to which token; without it, and for models with more than heads, every token is a class
    of its own. It is a hint and is not believed: that S is the right matrix is what the equations say, of the model's own weights.
    Where a model says other tokens than it reads, a renaming would be of two vocabularies: there every token is alone, too.
    Where a can be exchanged with b, and b with c, so can all three be renamed: exchanges generate the permutations.
    """
    vocabulary = model.config.vocabulary
    if circuit is not None and (circuit.vocabulary, circuit.dim) != (vocabulary, model.config.dim):
        raise CircuitError("the circuit is of another model: its vocabulary or its dimensions are not those of the model")
    every = tuple(dict.fromkeys((*vocabulary, *model.config.spoken)))
    leader = {token: token for token in every}
    if circuit is not None and _plain(model):
        exact_weights = {name: _matrix(weights) for name, weights in model.weights.named()}
        for one, other in combinations(vocabulary, 2):
            if leader[one] != leader[other] and _exchangeable(model, circuit, exact_weights, one, other):
                joined = leader[other]
                leader = {token: leader[one] if lead == joined else lead for token, lead in leader.items()}
    classes: dict[str, list[str]] = {}
    for token in every:
        classes.setdefault(leader[token], []).append(token)
    return tuple(map(tuple, classes.values()))


def _plain(model: Model) -> bool:
    """Heads and embeddings of rationals alone: no norms, no MLPs, no biases, none of which the lemma speaks of."""
    config = model.config
    allowed = {"W_E", "W_pos", "W_U", *(f"blocks.{n}.attn.W_{letter}" for n in range(config.blocks) for letter in "QKVO")}
    table = config.positions == "table" and config.unembedding == "own" and set(config.changed()) <= _SPOKEN_OF
    return table and all(name in allowed and _rational(weights) for name, weights in model.weights.named())


def _rational(weights: Any) -> bool:
    return bool(np.isfinite(weights).all() if weights.dtype != object else all(isinstance(entry, Exact) for entry in weights.flat))


def _exchangeable(model: Model, circuit: Circuit, weights: dict[str, list[fmpq_mat]], one: str, other: str) -> bool:
    vocabulary = model.config.vocabulary
    pi = _exchange(len(vocabulary), [(vocabulary.index(one), vocabulary.index(other))])
    pairs = []
    for name, held in circuit.stream.items():
        if held == "tokens":
            start = circuit.span(name).start
            pairs.append((start + vocabulary.index(one), start + vocabulary.index(other)))
    S = _exchange(model.config.dim, pairs)
    (W_E,), (W_pos,), (W_U,) = weights["W_E"], weights["W_pos"], weights["W_U"]
    if pi * W_E != W_E * S or W_pos * S != W_pos or W_U * pi != S * W_U:
        return False
    for n in range(model.config.blocks):
        W_Q, W_K, W_V, W_O = (weights[f"blocks.{n}.attn.W_{letter}"] for letter in "QKVO")
        for h in range(model.config.heads):
            scores, moved = W_Q[h] * W_K[h].transpose(), W_V[h] * W_O[h]
            if S * scores * S.transpose() != scores or S * moved != moved * S:
                return False
    return True


def _exchange(size: int, pairs: list[tuple[int, int]]) -> fmpq_mat:
    matrix = fmpq_mat(size, size)
    places = list(range(size))
    for i, j in pairs:
        places[i], places[j] = j, i
    for i, j in enumerate(places):
        matrix[i, j] = 1
    return matrix


def _matrix(weights: Any) -> list[fmpq_mat]:
    """A weight as a list of rational matrices: one for each head, or one."""
    values = arithmetic("exact").load(weights)
    stacked = values if values.ndim == 3 else values[None]
    return [fmpq_mat(*matrix.shape, [entry.value for entry in matrix.flat]) for matrix in stacked]
