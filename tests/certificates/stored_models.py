"""The models of the certificates in stored/. Their weights follow from formulas, so they are the same wherever this runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gpt2_files import small_config, small_tensors, write_folder

from exactformer.checkpoints import open_checkpoint
from exactformer.model import Model
from exactformer.numbers import array, exact, exp, sqrt
from exactformer.worksheets import loads

STORED = Path(__file__).parent / "stored"
SHEET = """
[model]
vocabulary = ["a", "b", "c"]
dim = 2
blocks = 1
norm = "pre"
epsilon = "1e-5"
final_norm = true
mask = "causal"
scale = "sqrt"
positions = "none"
mlp = 2
activation = "gelu"
unembedding = "tied"

[weights]
W_E = [["1.5", "1/3"], ["-0.5", "1.25"], ["2", "-1"]]

[[weights.blocks]]
attn = { W_Q = "1/2 identity", W_K = "identity", W_V = [["1/7", "3/2"], ["0", "1"]] }
mlp = { W_in = [["1", "2"], ["-1/3", "0.25"]], W_out = [["1", "0"], ["3/8", "-1"]] }

[input]
tokens = "a b c"
"""


def sheet() -> Model:
    """Rational weights."""
    return loads(SHEET, "stored").model


def forms() -> Model:
    """The same with closed forms in the embedding."""
    model, root, power = sheet(), sqrt(2), exp(exact("1/3"))
    embedding = array([[root, exact("1/3")], [exact("-1/2"), power], [root * power - 1, root + power]])
    return Model(model.config, replace(model.weights, W_E=embedding))


def folder(path: Path) -> Model:
    """A GPT-2 folder in float32: small multiples of 1/32."""

    def values(n: int, tensor: Any) -> Any:
        return (((np.arange(tensor.size) * (n + 3) % 23) - 11) / 32).astype(np.float32).reshape(tensor.shape)

    tensors = {name: values(n, tensor) for n, (name, tensor) in enumerate(small_tensors().items())}
    return open_checkpoint(write_folder(path, small_config(), tensors)).model
