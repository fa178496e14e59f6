"""A network that sorts, with weights set by hand: what tests prove of a trained one, where that is not here.

It has one block and one head, and sorts `LENGTH` letters out of 0, 1, 2: each output is the next letter in order.

Embeddings are one-hot, of the token and of the position, so that the first LayerNorm is one factor s for all. The query is the
same everywhere and looks at the first `LENGTH` positions alone, equally, so that the head finds s·c/LENGTH, where c counts the
letters. The last LayerNorm is a factor f too, so that the order of the logits is that of numbers linear in c. At output i these are

    c₀ − i − 1/2,    0,    −(c₀ + c₁ − i − 1/2)

times f·s/LENGTH: the first is the largest where i < c₀, the last where i ≥ c₀ + c₁, and else the one between; it leads by at least
f·s/(2·LENGTH). Every coordinate stands there with its negative, so that all means are 0.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from checkpoints.gpt2_files import small_config, write_folder

LENGTH, LETTERS, STRENGTH, EPSILON = 3, 3, 40.0, 1e-5
POSITIONS = 2 * LENGTH - 1
INPUTS = list(product(range(LETTERS), repeat=LENGTH))
_HALF = LETTERS + LETTERS + POSITIONS  # coordinates: the token, the counts, the position
_DIM = 2 * _HALF
_TOKEN, _COUNT, _PLACE = slice(0, LETTERS), slice(LETTERS, 2 * LETTERS), slice(2 * LETTERS, _HALF)


def sorter(folder: Path) -> Path:
    """The network as a GPT-2 folder."""
    factor = 1 / np.sqrt(4 / _DIM + EPSILON)  # s: of the coordinates of an embedding, 4 are 1 or -1
    places = np.zeros(_HALF)
    places[_PLACE][:LENGTH] = STRENGTH * np.sqrt(_DIM) / factor  # the score is divided by the root of the width
    joint = np.zeros((_DIM, 3 * _DIM))
    joint[:_HALF, _DIM] = places
    joint[_TOKEN, 2 * _DIM :][:, _COUNT] = np.eye(LETTERS)
    joint[_TOKEN, 2 * _DIM + _HALF :][:, _COUNT] = -np.eye(LETTERS)
    query = np.zeros(3 * _DIM)
    query[0] = 1
    index = np.arange(POSITIONS) - (LENGTH - 1) + 0.5  # i + 1/2
    head = np.zeros((LETTERS, _DIM))
    head[:, _COUNT] = [[1, 0, 0], [0, 0, 0], [-1, -1, 0]]
    head[0, _PLACE], head[2, _PLACE] = -index * factor / LENGTH, index * factor / LENGTH
    norms = {f"{name}.weight": np.ones(_DIM) for name in ("h.0.ln_1", "h.0.ln_2", "ln_f")}
    tensors = {
        "wte.weight": _paired(LETTERS, _TOKEN), "wpe.weight": _paired(POSITIONS, _PLACE),
        "h.0.attn.c_attn.weight": joint, "h.0.attn.c_attn.bias": query,
        "h.0.attn.c_proj.weight": np.eye(_DIM), "h.0.attn.c_proj.bias": np.zeros(_DIM),
        "h.0.mlp.c_fc.weight": np.zeros((_DIM, 1)), "h.0.mlp.c_fc.bias": np.zeros(1),
        "h.0.mlp.c_proj.weight": np.zeros((1, _DIM)), "h.0.mlp.c_proj.bias": np.zeros(_DIM),
        **norms, **{name.replace("weight", "bias"): np.zeros(_DIM) for name in norms},
    }  # fmt: skip
    tensors = {f"transformer.{name}": values for name, values in tensors.items()} | {"lm_head.weight": head}
    sizes = {"n_layer": 1, "n_head": 1, "n_embd": _DIM, "n_inner": 1, "n_positions": POSITIONS, "vocab_size": LETTERS}
    return write_folder(folder, small_config(**sizes, tie_word_embeddings=False), tensors)


def least_lead() -> float:
    """By the formula: where all letters are the same, and so f is least."""
    first = 1 / (4 / _DIM + EPSILON)  # s²
    return float(np.sqrt(first / (2 * (2 + first) / _DIM + EPSILON)) / (2 * LENGTH))


def _paired(count: int, where: slice) -> np.ndarray:
    """Rows that have a 1, each at its own place, and a -1 half the width on."""
    rows = np.zeros((count, _DIM))
    rows[:, :_HALF][:, where] = np.eye(count)
    rows[:, _HALF:][:, where] = -np.eye(count)
    return rows
