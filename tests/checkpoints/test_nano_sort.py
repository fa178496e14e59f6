"""A trained network: the tensors that were published of gpt-nano-sort, under our step names."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactformer.checkpoints import open_checkpoint
from exactformer.trace import run

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "gpt-nano-sort"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="skipped: ../shared/data/gpt-nano-sort is not there")

STEPS = {
    "tok_emb": "embed", "pos_emb": "pos_embed", "x": "blocks.0.resid_pre", "ln1": "blocks.0.ln1.out", "q": "blocks.0.attn.q",
    "k": "blocks.0.attn.k", "v": "blocks.0.attn.v", "att": "blocks.0.attn.masked", "attSm": "blocks.0.attn.pattern",
    "y": "blocks.0.attn.z", "yProj": "blocks.0.attn.out", "attnResid": "blocks.0.resid_mid", "ln2": "blocks.0.ln2.out",
    "fc": "blocks.0.mlp.pre", "gelu": "blocks.0.mlp.post", "mlp": "blocks.0.mlp.out", "mlpResid": "blocks.0.resid_post",
    "block0": "blocks.0.resid_post", "block1": "blocks.1.resid_post", "block2": "blocks.2.resid_post", "ln_f": "ln_final.out",
    "lm_head": "logits", "probs": "probs",
}  # fmt: skip


def published() -> dict[str, Any]:
    document = json.loads((DATA / "partials.json").read_text())
    tensors = {name: entry for name, entry in document.items() if name != "config"}
    return {name: np.frombuffer(base64.b64decode(t["data"]), "<f4").reshape(t["shape"]) for name, t in tensors.items()}


def side_by_side(heads: Any) -> Any:
    """[heads, T, head_dim] → [T, heads · head_dim]"""
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)


@pytest.mark.parametrize("example", range(3))
def test_published_tensors(example: int) -> None:
    tensors = published()
    ids = tensors.pop("idx")[example].astype(int)
    trace = run(open_checkpoint(DATA / "hf").model, [str(i) for i in ids], "float64")
    values = {name: trace[step].values for name, step in STEPS.items()}
    values["y"] = side_by_side(values["y"])
    values["qkv"] = np.hstack([side_by_side(trace[f"blocks.0.attn.{letter}"].values) for letter in "qkv"])
    assert set(values) == set(tensors)
    for name, expected in tensors.items():
        row = expected[example] if len(expected) > 1 else expected[0]
        np.testing.assert_allclose(values[name], row, rtol=2e-6, atol=5e-6, err_msg=name)


def test_it_sorts() -> None:
    model = open_checkpoint(DATA / "hf", ("A", "B", "C")).model
    tokens = list("CBABBC")
    for _ in range(6):
        next_token = run(model, tokens, "float64").token(len(tokens) - 1)
        assert next_token is not None
        tokens.append(next_token)
    assert tokens[6:] == list("ABBBCC")
