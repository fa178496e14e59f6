"""Small Llama folders, written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gpt2_files import write_folder


def llama_config(**changes: Any) -> dict[str, Any]:
    """Four heads of four dimensions, two heads of keys; a change to ... takes a key away."""
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8, "intermediate_size": 6,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "vocab_size": 5,
        "max_position_embeddings": 16, "rms_norm_eps": 1e-05, "hidden_act": "silu", "tie_word_embeddings": False,
        "attention_bias": False, "mlp_bias": False, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    } | changes  # fmt: skip
    return {key: value for key, value in config.items() if value is not ...}


def llama_tensors() -> dict[str, Any]:
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (5, 8), "model.norm.weight": (8,), "lm_head.weight": (5, 8)}
    for n in range(2):
        at = f"model.layers.{n}."
        shapes |= {f"{at}input_layernorm.weight": (8,), f"{at}post_attention_layernorm.weight": (8,)}
        shapes |= {
            f"{at}self_attn.{name}_proj.weight": shape
            for name, shape in zip("qkvo", ((16, 8), (8, 8), (8, 8), (8, 16)), strict=True)
        }
        shapes |= {f"{at}mlp.gate_proj.weight": (6, 8), f"{at}mlp.up_proj.weight": (6, 8), f"{at}mlp.down_proj.weight": (8, 6)}
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def write_llama(folder: Path, dtype: str = "F32", tensors: dict[str, Any] | None = None, **changes: Any) -> Path:
    return write_folder(folder, llama_config(**changes), llama_tensors() if tensors is None else tensors, dtype)
