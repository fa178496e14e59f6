"""Folders of TransformerLens: separate heads, no norm or one whose gains are folded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from exactformer.checkpoints import open_checkpoint, outline_checkpoint
from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.safetensors import tensors_as_bytes
from exactformer.model import forward
from exactformer.model.arithmetics.floats import FloatArithmetic

RANDOM = np.random.default_rng(2)
CONFIG = {
    "n_layers": 1, "d_model": 4, "n_ctx": 3, "d_head": 2, "n_heads": 2, "d_mlp": 5, "d_vocab": 6, "d_vocab_out": 6,
    "act_fn": "relu", "normalization_type": None, "attention_dir": "causal", "attn_only": False, "use_attn_scale": True,
    "attn_scale": 1.4142135623730951, "positional_embedding_type": "standard", "seed": 1, "device": "cpu", "gated_mlp": False,
    "attn_scores_soft_cap": -1.0, "output_logits_soft_cap": -1.0, "eps": 1e-5,
}  # fmt: skip


def tensors() -> dict[str, Any]:
    shapes = {
        "embed.W_E": (6, 4), "pos_embed.W_pos": (3, 4), "unembed.W_U": (4, 6), "unembed.b_U": (6,),
        **{f"blocks.0.attn.W_{c}": (2, 4, 2) for c in "QKV"}, **{f"blocks.0.attn.b_{c}": (2, 2) for c in "QKV"},
        "blocks.0.attn.W_O": (2, 2, 4), "blocks.0.attn.b_O": (4,), "blocks.0.mlp.W_in": (4, 5), "blocks.0.mlp.b_in": (5,),
        "blocks.0.mlp.W_out": (5, 4), "blocks.0.mlp.b_out": (4,),
    }  # fmt: skip
    return {name: RANDOM.standard_normal(shape) for name, shape in shapes.items()}


def folder(path: Path, given: dict[str, Any], **config: Any) -> Path:
    (path / "config.json").write_text(json.dumps(CONFIG | config))
    (path / "model.safetensors").write_bytes(tensors_as_bytes(given, {}))
    return path


def plain(w: dict[str, Any], ids: list[int], normed: bool = False) -> Any:
    """The pass as TransformerLens writes it down."""

    def norm(x: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) if normed else x

    same = norm if normed else lambda x: x
    x = w["embed.W_E"][ids] + w["pos_embed.W_pos"][: len(ids)]
    y = same(x)
    q, k, v = (np.einsum("td,hdw->htw", y, w[f"blocks.0.attn.W_{c}"]) + w[f"blocks.0.attn.b_{c}"][:, None] for c in "QKV")
    scores = np.where(np.tril(np.ones((len(ids), len(ids)))) > 0, np.einsum("htw,hsw->hts", q, k) / np.sqrt(2), -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    x = x + np.einsum("hts,hsw,hwd->td", p, v, w["blocks.0.attn.W_O"]) + w["blocks.0.attn.b_O"]
    inner = np.maximum(same(x) @ w["blocks.0.mlp.W_in"] + w["blocks.0.mlp.b_in"], 0)
    x = x + inner @ w["blocks.0.mlp.W_out"] + w["blocks.0.mlp.b_out"]
    return same(x) @ w["unembed.W_U"] + w["unembed.b_U"]


@pytest.mark.parametrize("kind", [None, "LNPre"])
def test_the_logits_are_those_of_the_library(tmp_path: Path, kind: str | None) -> None:
    w = tensors()
    model = xf.load(folder(tmp_path, w, normalization_type=kind)).model
    found = forward(model, [1, 5, 2], FloatArithmetic("float64"))
    assert np.allclose(found, plain(w, [1, 5, 2], kind is not None), atol=1e-12)


def said(count: int) -> dict[str, Any]:
    w = tensors()
    return w | {"unembed.W_U": w["unembed.W_U"][:, :count].copy(), "unembed.b_U": w["unembed.b_U"][:count].copy()}


def test_as_many_outputs_as_the_folder_says(tmp_path: Path) -> None:
    w = said(2)
    model = xf.load(folder(tmp_path, w, d_vocab_out=2)).model
    assert (model.config.vocabulary, model.config.spoken) == (tuple("012345"), ("0", "1"))
    found = forward(model, [1, 5, 2], FloatArithmetic("float64"))
    assert np.allclose(found, plain(w, [1, 5, 2]), atol=1e-12)
    assert model.fed_back(1) == 1
    assert outline_checkpoint(tmp_path).model.config.spoken == ("0", "1")


@pytest.mark.parametrize("none", [{"d_vocab_out": 0}, {"d_vocab_out": -1}, {"d_vocab_out": None}])
def test_as_many_outputs_as_inputs_where_nothing_is_said(tmp_path: Path, none: dict[str, Any]) -> None:
    config = open_checkpoint(folder(tmp_path, tensors(), **none)).model.config
    assert config.outputs == ()
    assert len(config.spoken) == 6


def test_outputs_have_the_names_of_the_list_beside(tmp_path: Path) -> None:
    at = folder(tmp_path, said(2), d_vocab_out=2)
    (at / "words.json").write_text('["(", ")", "[", "]", "0", "1"]')
    unnamed = xf.load(at).model  # where tokens have names, numbers are none of them
    assert unnamed.config.spoken == ("[0]", "[1]")
    assert unnamed.config.heard == (None, None)
    (at / "outputs.json").write_text('["no", "yes"]')
    assert xf.load(at).model.config.spoken == ("no", "yes")
    full = folder(tmp_path, tensors())
    (full / "outputs.json").write_text('["u", "v", "w", "x", "y", "z"]')
    assert xf.load(full).model.config.spoken == tuple("uvwxyz")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('["no"]', "outputs.json: has 1 names, and the model says 2 tokens (d_vocab_out)"),
        ('{"0": "no"}', "outputs.json: is not a list of texts"),
        ("[0, 1]", "outputs.json: is not a list of texts"),
        ('["no", "no"]', "outputs: has the token 'no' twice"),
        ('["no", ""]', "outputs: '' is not a token"),
        ('["no", ', "outputs.json: "),
    ],
)
def test_a_list_of_names_that_does_not_fit(tmp_path: Path, text: str, problem: str) -> None:
    at = folder(tmp_path, said(2), d_vocab_out=2)
    (at / "outputs.json").write_text(text)
    with pytest.raises(CheckpointError) as refused:
        open_checkpoint(at)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_masks_that_are_saved_are_checked(tmp_path: Path) -> None:
    mask = {"blocks.0.attn.mask": np.tril(np.ones((3, 3))), "blocks.0.attn.IGNORE": np.array(-np.inf)}
    assert open_checkpoint(folder(tmp_path, tensors() | mask)).model.config.mask == "causal"
    with pytest.raises(CheckpointError, match="is not the mask"):
        open_checkpoint(folder(tmp_path, tensors() | {"blocks.0.attn.mask": np.ones((3, 3))}))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"d_vocab_out": 5}, "'unembed.W_U': has the shape 4 × 6, where config.json asks for 4 × 5 (d_model × d_vocab_out)"),
        ({"d_vocab_out": -2}, "d_vocab_out"),
        ({"d_vocab_out": "6"}, "d_vocab_out"),
        ({"normalization_type": "RMS"}, "normalization_type: 'RMS' is not supported"),
        ({"positional_embedding_type": "rotary"}, "positional_embedding_type: 'rotary' is not supported"),
        ({"gated_mlp": True}, "gated_mlp: true is not supported"),
        ({"new_setting": 1}, "'new_setting' is not a known key of TransformerLens"),
        ({"act_fn": "solu_ln"}, "act_fn"),
        ({"n_heads": 3}, "has the shape 2 × 4 × 2, where config.json asks for 3 × 4 × 2"),
        ({"attention_dir": "sideways"}, "attention_dir"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(CheckpointError) as refused:
        open_checkpoint(folder(tmp_path, tensors(), **changes))
    assert problem in str(refused.value)


def test_all_missing_fields_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="n_layers, d_head and act_fn: are missing"):
        open_checkpoint(folder(tmp_path, tensors(), n_layers=None, d_head=None, act_fn=None))
    with pytest.raises(CheckpointError, match="d_vocab: is missing"):
        open_checkpoint(folder(tmp_path, tensors(), d_vocab=None))


def test_the_folder_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "checkpoints.md").read_text(encoding="utf-8")
    code = page.split("In NumPy, such a folder is written so:", 1)[1].split("```python\n", 1)[1].split("```", 1)[0]
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert open_checkpoint(tmp_path).model.config.blocks == 1


def test_missing_and_strange_tensors(tmp_path: Path) -> None:
    w = tensors()
    for name in ("blocks.0.attn.W_Q", "embed.W_E"):
        with pytest.raises(CheckpointError, match="is missing"):
            open_checkpoint(folder(tmp_path, {n: t for n, t in w.items() if n != name}))
    without = open_checkpoint(folder(tmp_path, {n: t for n, t in w.items() if n != "unembed.b_U"}))
    assert without.model.weights.b_U is None
    with pytest.raises(CheckpointError, match="has no place"):
        open_checkpoint(folder(tmp_path, w | {"blocks.1.attn.W_Q": w["blocks.0.attn.W_Q"]}))


def test_a_plan_needs_no_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert outline_checkpoint(tmp_path / "config.json").model.config.mlp == 5
