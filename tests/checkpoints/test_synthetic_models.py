"""Folders of well-known shapes with random weights: here as small ones of the same families."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import llama_peer
from benchmarks.llama_random import bfloat16
from benchmarks.synthetic import SHAPES, write_model

from exactformer.arithmetics import arithmetic
from exactformer.certificates import prove_token
from exactformer.checkpoints import open_checkpoint
from exactformer.checkpoints.safetensors import read_tensors
from exactformer.model import forward

SMALL = {
    "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 48, "vocab_size": 97,
    "max_position_embeddings": 64,
}  # fmt: skip
LLAMA = {"num_key_value_heads": 2, "head_dim": 8}
GEMMA = {"num_hidden_layers": 7, "sliding_window": 3, "query_pre_attn_scalar": 8}  # the sixth has no window
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 97}
IDS = [3, 14, 15, 92, 65, 35]
LLAMAS = ("smollm2-135m", "qwen2.5-0.5b", "qwen3-0.6b", "gemma-3-270m")


def small(name: str) -> dict[str, Any]:
    changes = {"gpt2": GPT2, "gpt_neox": SMALL | {"intermediate_size": 128}, "gemma3_text": SMALL | LLAMA | GEMMA}
    return SHAPES[name] | changes.get(SHAPES[name]["model_type"], SMALL | LLAMA)


@pytest.mark.parametrize("name", SHAPES)
def test_folders_are_opened_and_their_next_token_is_proved(name: str, tmp_path: Path) -> None:
    model = open_checkpoint(write_model(small(name), tmp_path)).model
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    assert prove_token(model, IDS).proved
    for _, values in model.weights.named():
        assert np.array_equal(bfloat16(values), values)


@pytest.mark.parametrize("name", LLAMAS)
def test_the_plain_pass_is_that_of_the_model(name: str, tmp_path: Path) -> None:
    folder = write_model(small(name), tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    tensors = {each: tensor.array().astype(np.float64) for each, tensor in read_tensors(folder / "model.safetensors").items()}
    found = llama_peer.forward(settings, tensors, IDS)
    expected = forward(open_checkpoint(folder).model, IDS, arithmetic("float64"), lambda step: step.values)[-1:]
    assert found.shape == expected.shape == (1, 97)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["smollm2-135m", "pythia-14m", "gpt2-xl"])
def test_a_seed_says_every_byte(name: str, tmp_path: Path) -> None:
    files = [write_model(small(name), tmp_path / str(n), seed) / "model.safetensors" for n, seed in enumerate((1, 1, 2))]
    first, again, other = (file.read_bytes() for file in files)
    assert first == again
    assert first != other


def test_the_weights_look_trained(tmp_path: Path) -> None:
    """Scores of the spread that is meant, logits that are sharp, and a few coordinates that layers write more to."""
    settings = small("smollm2-135m") | {"hidden_size": 128, "vocab_size": 500}
    tensors = {name: t.array() for name, t in read_tensors(write_model(settings, tmp_path) / "model.safetensors").items()}
    x = tensors["model.embed_tokens.weight"][:32].astype(np.float64)
    h = llama_peer.norm(settings, x, tensors["model.layers.0.input_layernorm.weight"])
    spread = llama_peer.scores(settings, tensors, "model.layers.0.", h).std(axis=-1).mean(axis=-1)
    assert 0.4 < spread.min() < spread.max() < 4
    written = np.linalg.norm(tensors["model.layers.1.mlp.down_proj.weight"], axis=1)
    assert sorted(written)[-4] > 2 * sorted(written)[-5]
    assert llama_peer.forward(settings, tensors, list(range(32))).std() > 1


@pytest.mark.parametrize("bits", ["3f808000", "3f818000", "3f807fff", "bf808001"])
def test_bfloat16_is_rounded_to_nearest_ties_to_even(bits: str) -> None:
    import torch

    value = np.array([int(bits, 16)], dtype=np.uint32).view(np.float32)
    assert bfloat16(value)[0] == float(torch.tensor(float(value[0]), dtype=torch.float32).to(torch.bfloat16))
