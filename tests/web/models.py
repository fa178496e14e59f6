"""Models for tests of what the page proves: GPT-2 folders, and a worksheet whose tokens are markup."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from gpt2_files import small_config, small_tensors, write_folder

ATTACK = "<img/src=x/onerror=window.hit=1>"


def gpt2_folder(folder: Path, layers: int = 2, dim: int = 8, vocabulary: int = 40, positions: int = 16) -> Path:
    """A random model, whose tokens have names where there are as many of them as GPT-2 has."""
    sizes = {"layers": layers, "dim": dim, "inner": 4 * dim, "positions": positions, "vocabulary": vocabulary}
    tensors = {name: values * np.float32(0.2) for name, values in small_tensors(**sizes).items()}
    config = small_config(n_layer=layers, n_embd=dim, n_positions=positions, vocab_size=vocabulary)
    return write_folder(folder, config, tensors)


def broken_folder(folder: Path) -> Path:
    """A model that opens, and has a weight that is not a number."""
    tensors = small_tensors()
    tensors["h.1.mlp.c_fc.bias"][3] = np.nan
    return write_folder(folder, small_config(), tensors)


def one_head_worksheet(rows: list[list[str]], unembedding: str) -> str:
    """One head that looks at all positions before it, over as many tokens as there are rows of embeddings."""
    words = [f"t{n}" for n in range(len(rows))]
    return f"""title = "One head"
[model]
vocabulary = {json.dumps(words)}
dim = {len(rows[0])}
blocks = 1
norm = "none"
mask = "causal"
scale = "sqrt"
positions = "none"
unembedding = "{unembedding}"
[weights]
W_E = {json.dumps(rows)}
[[weights.blocks]]
attn = {{ W_Q = "identity", W_K = "identity", W_V = "identity" }}
[input]
tokens = {json.dumps(words)}
"""


def hostile_worksheet(file: Path) -> Path:
    from exactformer.worksheets import example_text

    text = example_text("capstone").replace("The whole transformer, by hand", f"{ATTACK} of a title")
    text = text.replace('["a", "b", "c"]', f'["{ATTACK}", "</script><script>window.hit=1</script>", "&lt;b&gt;"]')
    file.write_text(text.replace('tokens = "a b"', f'tokens = ["{ATTACK}"]'), encoding="utf-8")
    return file
