"""minGPT and nanoGPT weights: the same names, matrices the other way round, biases or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpt2_files import small_config, small_tensors, write_folder

from exactformer.checkpoints import CheckpointError, open_checkpoint
from exactformer.trace import run

NANO = {"n_layer": 2, "n_head": 2, "n_embd": 4, "block_size": 5, "vocab_size": 3, "dropout": 0.0, "bias": True}
MINI = {"model_type": "gpt-nano", "n_layer": 2, "n_head": 2, "n_embd": 4, "block_size": 5, "vocab_size": 3, "embd_pdrop": 0.1}


def as_linear_layers(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: w.T if name.endswith(("attn.weight", "proj.weight", "fc.weight")) else w for name, w in tensors.items()}


def logits(folder: Path) -> Any:
    return run(open_checkpoint(folder).model, "0 2 1 1", "float64").logits


def test_both_layouts_are_the_same_model(tmp_path: Path) -> None:
    head = {"lm_head.weight": small_tensors()["wte.weight"][::-1]}
    library = write_folder(tmp_path / "library", small_config(tie_word_embeddings=False), small_tensors() | head)
    mini = write_folder(tmp_path / "mini", MINI, as_linear_layers(small_tensors("transformer.")) | head)
    np.testing.assert_allclose(logits(mini), logits(library), rtol=1e-13, atol=1e-13)
    assert open_checkpoint(mini).model.config.activation == "gelu_tanh"


def test_square_matrices_are_turned_as_the_joint_one_shows(tmp_path: Path) -> None:
    tensors = small_tensors(inner=4)  # every other matrix is square
    library = write_folder(tmp_path / "library", small_config(n_inner=4, activation_function="gelu"), tensors)
    nano = write_folder(tmp_path / "nano", NANO | {"n_inner": 4}, as_linear_layers(tensors))
    np.testing.assert_allclose(logits(nano), logits(library), rtol=1e-13, atol=1e-13)
    mixed = tensors | {"h.1.attn.c_attn.weight": tensors["h.1.attn.c_attn.weight"].T}
    with pytest.raises(CheckpointError, match=r"tensor 'h.1.attn.c_attn.weight': has the shape 12 × 4, where .* 4 × 12"):
        open_checkpoint(write_folder(tmp_path / "mixed", small_config(n_inner=4), mixed))


def test_nano_without_biases(tmp_path: Path) -> None:
    tensors = {name: w for name, w in small_tensors().items() if not name.endswith("bias")}
    folder = write_folder(tmp_path, NANO | {"bias": False}, as_linear_layers(tensors))
    model = open_checkpoint(folder).model
    assert (model.config.activation, model.config.unembedding) == ("gelu", "tied")
    assert model.weights.blocks[0].attn.b_Q is None
    assert not model.weights.ln_final.b.any()
    with pytest.raises(CheckpointError, match=r"tensor 'h.0.attn.c_attn.bias': is missing"):
        open_checkpoint(write_folder(tmp_path, NANO, as_linear_layers(tensors)))


def test_the_head_of_nano_is_as_found(tmp_path: Path) -> None:
    tensors = as_linear_layers(small_tensors())
    same = write_folder(tmp_path / "same", NANO, tensors | {"lm_head.weight": tensors["wte.weight"]})
    own = write_folder(tmp_path / "own", NANO, tensors | {"lm_head.weight": tensors["wte.weight"] + 1})
    assert open_checkpoint(same).model.config.unembedding == "tied"
    assert open_checkpoint(own).model.config.unembedding == "own"
    with pytest.raises(CheckpointError, match=r"tensor 'lm_head.weight': is missing"):
        open_checkpoint(write_folder(tmp_path / "mini", MINI, tensors))


def test_an_unknown_activation_is_not_guessed(tmp_path: Path) -> None:
    plain = {name: NANO[name] for name in ("n_layer", "n_head", "n_embd", "block_size", "vocab_size")}
    with pytest.raises(CheckpointError, match=r"activation_function: is missing"):
        open_checkpoint(write_folder(tmp_path, plain, as_linear_layers(small_tensors())))
    named = plain | {"activation_function": "relu", "tie_word_embeddings": True}
    assert open_checkpoint(write_folder(tmp_path, named, as_linear_layers(small_tensors()))).model.config.activation == "relu"
