"""Models of the shapes of SmolLM2-135M and Qwen2.5-0.5B: their next tokens, proved. Run by `make test-large`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import llama_peer
from benchmarks.synthetic import SHAPES, write_model

from exactformer.certificates import Prepared, prove_token
from exactformer.certificates.memory import available, needed
from exactformer.certified.limbs import MOST
from exactformer.checkpoints import open_checkpoint
from exactformer.checkpoints.safetensors import read_tensors

pytestmark = pytest.mark.large
LENGTH = 8


@pytest.mark.parametrize("name", ["smollm2-135m", "qwen2.5-0.5b"])
def test_the_next_token_is_proved(name: str, tmp_path: Path) -> None:
    folder = write_model(SHAPES[name], tmp_path)
    ids = np.random.default_rng(LENGTH).integers(0, SHAPES[name]["vocab_size"], LENGTH).tolist()
    model, left = open_checkpoint(folder).model, available()
    floats = 8 * sum(weights.size for _, weights in model.weights.named())
    wanted = needed(model, LENGTH, MOST, kept=False) + floats
    if left is not None and left < wanted:
        pytest.skip(f"{name}: {wanted / 1e9:.1f} GB of memory are needed, and {left / 1e9:.1f} GB are free")
    floats = _floats(folder, ids)
    found = prove_token(model, ids, prepared=Prepared(model, keep=False))
    assert found.token == int(np.argmax(floats)), found.why
    assert found.margin is not None
    assert found.margin[0] > 0
    for entry in found.top:
        assert entry.low - 1e-6 <= float(floats[entry.token]) <= entry.high + 1e-6


def _floats(folder: Path, ids: list[int]) -> np.ndarray:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tensors = {name: tensor.array().astype(np.float64) for name, tensor in read_tensors(folder / "model.safetensors").items()}
    return np.asarray(llama_peer.forward(settings, tensors, ids)[-1])
