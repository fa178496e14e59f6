"""Models that say other tokens than they read, with weights set by hand or drawn: what tests prove of trained ones.

`sums` reads 0..4, + and =, and says 0..4: the sum of two digits modulo 5. The embedding of a digit is its value v. From = on, one
head looks at all four tokens alike, so that it finds v/4 summed, times 4: s = a + b, a whole number from 0 to 8. Of neighbours,
relu(s − m + 1) − 2 relu(s − m) + relu(s − m − 1) is 1 where s = m and 0 at every other whole number; the logit of k is the sum of
those of m = k and m = k + 5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactformer.model import Config, Model
from exactformer.model.weights import assembled, declared, rebuilt_weights

MODULUS = 5
_VALUE, _SUM, _SAID, _DIM = 0, 1, slice(2, 2 + MODULUS), 2 + MODULUS
_UNITS = range(-1, 2 * MODULUS)  # relu(s - n)


def _matrix(rows: int, columns: int, entries: dict[tuple[int, int], int]) -> str:
    return str([[entries.get((i, j), 0) for j in range(columns)] for i in range(rows)])


def sums(rule: str = "(a + c) mod 5", outputs: str = 'outputs = ["0", "1", "2", "3", "4"]') -> str:
    """The worksheet, with a rule and with a line that says what is said."""
    bumps = {
        (m + around - _UNITS[0], 2 + m % MODULUS): 1 - 3 * (around == 0) for m in range(2 * MODULUS - 1) for around in (-1, 0, 1)
    }
    return f"""
title = "Sums modulo 5"
[model]
vocabulary = ["0", "1", "2", "3", "4", "+", "="]
{outputs}
dim = {_DIM}
blocks = 1
norm = "none"
mask = "causal"
scale = "none"
positions = "none"
mlp = {len(_UNITS)}
activation = "relu"
unembedding = "own"

[weights]
W_E = {_matrix(MODULUS + 2, _DIM, {(v, _VALUE): v for v in range(MODULUS)})}
W_U = {_matrix(_DIM, MODULUS, {(2 + k, k): 1 for k in range(MODULUS)})}

[[weights.blocks]]
attn.W_Q = {_matrix(_DIM, _DIM, {})}
attn.W_K = {_matrix(_DIM, _DIM, {})}
attn.W_V = {_matrix(_DIM, _DIM, {(_VALUE, _SUM): 4})}
attn.W_O = "identity"
mlp.W_in = {_matrix(_DIM, len(_UNITS), {(_SUM, u): 1 for u in range(len(_UNITS))})}
mlp.b_in = {[-n for n in _UNITS]}
mlp.W_out = {_matrix(len(_UNITS), _DIM, bumps)}

[input]
tokens = "3 + 4 ="

[theorem]
rule = "{rule}"
domain = "0..4 + 0..4 ="
"""


def renamed(model: Model, order: list[int]) -> Model:
    """The same model with its outputs in another order: it says the same tokens, by other ids."""
    W_U = np.ascontiguousarray(model.weights.W_U[:, order])  # type: ignore[index]
    b_U = None if model.weights.b_U is None else np.ascontiguousarray(model.weights.b_U[order])
    values = dict(model.weights.named()) | {"W_U": W_U} | ({} if b_U is None else {"b_U": b_U})
    outputs = tuple(model.config.vocabulary[i] for i in order)
    return Model(replace(model.config, outputs=outputs), rebuilt_weights(model.weights, values))


def small(outputs: tuple[str, ...] = (), seed: int = 1, **settings: object) -> Model:
    """A model of one block that reads a, b, c and =, with weights drawn as quarters."""
    rng = np.random.default_rng(seed)
    given = {"dim": 4, "blocks": 1, "norm": "none", "mask": "causal", "scale": "none", "unembedding": "own"} | settings
    config = Config(vocabulary=("a", "b", "c", "="), outputs=outputs, **given)  # type: ignore[arg-type]
    known = declared(config)
    return Model(config, assembled(config, {name: rng.integers(-8, 9, weight.shape) / 4 for name, weight in known.items()}))
