"""The command that a pickle is refused with converts what scripts save: weights and settings, at the top or inside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpt2_files import small_tensors
from test_small_gpts import MINI, NANO, as_linear_layers

import exactformer as xf
from children import PATIENCE
from exactformer.checkpoints import CheckpointError, open_checkpoint
from exactformer.checkpoints.foreign import conversion

TRAINING = {"learning_rate": 6e-4, "batch_size": 12, "out_dir": "out", "compile": True, "device": "cuda", "max_iters": 100}


def saved_variants(tensors: dict[str, Any]) -> dict[str, Any]:
    compiled = {f"_orig_mod.{name}": tensor for name, tensor in tensors.items()}
    parallel = {f"module.{name}": tensor for name, tensor in tensors.items()}
    return {
        "nano": {
            "model": compiled,
            "optimizer": {"state": {0: {"step": 1}}},
            "model_args": NANO,
            "config": TRAINING | {"n_embd": 9},
        },
        "flat": {"model_state": tensors, "config": NANO | TRAINING},
        "nested": {"iter": 3, "hparams": {"model": NANO, "train": TRAINING}, "model_state_dict": parallel},
        "state": {"state_dict": tensors, "cfg": NANO},
        "mini": tensors,
    }


def test_what_scripts_save(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    plain = as_linear_layers(small_tensors())
    plain |= {"lm_head.weight": plain["wte.weight"]}
    paths = []
    for name, saved in saved_variants({key: torch.tensor(np.ascontiguousarray(value)) for key, value in plain.items()}).items():
        (tmp_path / name).mkdir()
        paths.append(tmp_path / name / "ckpt.pt")
        torch.save(saved, paths[-1])
        with pytest.raises(CheckpointError, match=r"is a pickle.*; convert it with: python -c "):
            open_checkpoint(tmp_path / name)
    (tmp_path / "mini" / "config.json").write_text(json.dumps({"system": {"seed": 3}, "model": MINI, "trainer": {}}))
    program = "; ".join(map(conversion, paths))
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)
    for path in paths:
        model = open_checkpoint(path.parent).model
        assert model.config.dim == 4
        assert np.array_equal(model.weights.W_E, plain["wte.weight"])


def test_a_table_beside_the_model_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model": {"n_embd": 4, "block_size": 3}, "adapter": {"rank": 2}}')
    (tmp_path / "model.safetensors").write_bytes((8).to_bytes(8, "little") + b"{}      ")
    with pytest.raises(CheckpointError, match=r"'adapter' beside model: may change the network"):
        open_checkpoint(tmp_path)


def test_heads_that_differ_by_layer_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(NANO | {"n_head": [2, 4]}))
    (tmp_path / "model.safetensors").write_bytes((8).to_bytes(8, "little") + b"{}      ")
    with pytest.raises(CheckpointError, match=r"n_head: .*not a whole number"):
        open_checkpoint(tmp_path)


def test_a_scale_may_be_a_formula() -> None:
    sheet = """
    [model]
    vocabulary = ["a", "b"]
    dim = 2
    heads = 2
    blocks = 1
    norm = "none"
    mask = "causal"
    scale = "2^(-1/2)"
    positions = "none"
    unembedding = "tied"
    [weights]
    W_E = "identity"
    [[weights.blocks]]
    attn = { W_Q = [[[1], [2]], [[0], [1]]], W_K = [[[1], [0]], [[1], [1]]], W_V = [[[1], [0]], [[0], [1]]] }
    [input]
    tokens = "a b"
    """
    lecture = xf.loads(sheet)
    assert lecture.model.config.scale_factor == 1 / xf.sqrt(2)  # of n_embd, where the width of a head is 1
    assert lecture.trace()["scores"][0, 1, 0] == xf.sqrt(2)
    for wrong, said in (("root", "not one of none, sqrt, or a number"), ("1/0", "scale"), ("log(-1)", "scale"), ("2^", "scale")):
        with pytest.raises(xf.WorksheetError, match=said):
            xf.loads(sheet.replace("2^(-1/2)", wrong))
