"""Small GPT-2 folders, written without the library that is tested: by hand, or by the transformers library."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np

BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "BOOL": 1}
NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "?"}


def safetensors_bytes(tensors: dict[str, Any], dtype: str = "F32", **header: Any) -> bytes:
    """A file with these arrays. For BF16, they are the bits. `header` adds entries or replaces them."""
    entries: dict[str, Any] = {}
    data = b""
    for name, values in tensors.items():
        raw = np.ascontiguousarray(values, dtype=NUMPY[dtype]).tobytes()
        entries[name] = {"dtype": dtype, "shape": list(np.shape(values)), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(entries | header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def small_config(**changes: Any) -> dict[str, Any]:
    return {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2, "n_head": 2, "n_embd": 4, "n_inner": None,
        "n_positions": 5, "vocab_size": 3, "layer_norm_epsilon": 1e-05, "activation_function": "gelu_new",
    } | changes  # fmt: skip


def small_tensors(prefix: str = "", **sizes: int) -> dict[str, Any]:
    """Random weights of the small configuration, in the layout of the transformers library."""
    size = {"layers": 2, "dim": 4, "inner": 16, "positions": 5, "vocabulary": 3} | sizes
    dim, inner = size["dim"], size["inner"]
    rng = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (size["vocabulary"], dim), "wpe.weight": (size["positions"], dim)}
    for n in range(size["layers"]):
        for name, shape in {
            "attn.c_attn": (dim, 3 * dim),
            "attn.c_proj": (dim, dim),
            "mlp.c_fc": (dim, inner),
            "mlp.c_proj": (inner, dim),
        }.items():
            shapes |= {f"h.{n}.{name}.weight": shape, f"h.{n}.{name}.bias": shape[1:]}
        for name in ("ln_1", "ln_2"):
            shapes |= {f"h.{n}.{name}.weight": (dim,), f"h.{n}.{name}.bias": (dim,)}
    shapes |= {"ln_f.weight": (dim,), "ln_f.bias": (dim,)}
    return {prefix + name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def write_folder(
    folder: Path, config: dict[str, Any] | None = None, tensors: dict[str, Any] | None = None, dtype: str = "F32"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(small_config() if config is None else config))
    (folder / "model.safetensors").write_bytes(safetensors_bytes(small_tensors() if tensors is None else tensors, dtype))
    return folder


def random_library_config(rng: random.Random) -> Any:
    """A configuration of the transformers library: every option that is read comes up."""
    from transformers import GPT2Config

    heads = rng.choice((1, 2, 3))
    return GPT2Config(
        n_layer=rng.randint(1, 3), n_head=heads, n_embd=heads * rng.choice((2, 4, 5)), n_inner=rng.choice((None, 7, 12)),
        n_positions=rng.randint(4, 12), vocab_size=rng.randint(2, 40),
        activation_function=rng.choice(("gelu_new", "gelu", "relu", "gelu_pytorch_tanh")),
        layer_norm_epsilon=rng.choice((1e-5, 1e-6, 0.001, 1e-12)), tie_word_embeddings=rng.random() < 0.5,
        scale_attn_weights=rng.random() < 0.7, scale_attn_by_inverse_layer_idx=rng.random() < 0.5,
        reorder_and_upcast_attn=rng.random() < 0.2, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
