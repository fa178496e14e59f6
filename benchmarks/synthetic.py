"""Folders of well-known shapes, with random weights in bfloat16 that look trained: `python -m benchmarks.synthetic NAME FOLDER`.

They are written tensor by tensor: no more than a layer, or the embedding of GPT-2, is ever in memory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import gpt2_random, llama_random
from benchmarks.llama_random import Pieces, bfloat16

Settings = dict[str, Any]
_HEADER = 1 << 18  # bytes that are left free for it: it is known when all tensors are written


def _shape(family: str, dim: int, layers: int, heads: int, kv_heads: int, mlp: int, vocabulary: int, **more: Any) -> Settings:
    return {
        "model_type": family, "hidden_size": dim, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "head_dim": 64, "intermediate_size": mlp, "vocab_size": vocabulary, "rms_norm_eps": 1e-06,
        "max_position_embeddings": 2048, "tie_word_embeddings": True, "torch_dtype": "bfloat16", **more,
    }  # fmt: skip


def _pythia(dim: int, heads: int) -> Settings:
    return {
        "model_type": "gpt_neox", "hidden_size": dim, "num_hidden_layers": 6, "num_attention_heads": heads, "vocab_size": 50304,
        "intermediate_size": 4 * dim, "max_position_embeddings": 2048, "rotary_emb_base": 10000, "rotary_pct": 0.25,
        "hidden_act": "gelu", "layer_norm_eps": 1e-05, "use_parallel_residual": True, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }  # fmt: skip


SHAPES: dict[str, Settings] = {
    "smollm2-135m": _shape("llama", 576, 30, 9, 3, 1536, 49152, rope_theta=100000, rms_norm_eps=1e-05),
    "qwen2.5-0.5b": _shape("qwen2", 896, 24, 14, 2, 4864, 151936, rope_theta=1000000) | {"head_dim": 64},
    "qwen3-0.6b": _shape("qwen3", 1024, 28, 16, 8, 3072, 151936, rope_theta=1000000) | {"head_dim": 128},
    "gemma-3-270m": _shape(
        "gemma3_text", 640, 18, 4, 1, 2048, 262144, rope_theta=1000000, rope_local_base_freq=10000, sliding_window=512,
        query_pre_attn_scalar=256, hidden_activation="gelu_pytorch_tanh",
    ) | {"head_dim": 256},
    "pythia-14m": _pythia(128, 4),
    "pythia-70m": _pythia(512, 8),
    "gpt2-xl": {
        "model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024, "vocab_size": 50257,
        "layer_norm_epsilon": 1e-05, "activation_function": "gelu_new", "torch_dtype": "bfloat16",
    },
}  # fmt: skip


def write_model(settings: Settings, folder: Path, seed: int = 0) -> Path:
    """The folder, with config.json and model.safetensors; the same for the same seed."""
    folder.mkdir(parents=True, exist_ok=True)
    family = settings["model_type"]
    given = (
        _gpt2(settings, seed)
        if family == "gpt2"
        else _neox(settings, seed)
        if family == "gpt_neox"
        else llama_random.pieces(settings, seed)
    )
    part = folder / "model.safetensors.part"
    _write(part, given)
    (folder / "config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return part.rename(folder / "model.safetensors").parent


def _write(path: Path, given: Pieces) -> None:
    header, reached = {}, 0
    with path.open("wb") as file:
        file.seek(8 + _HEADER)
        for name, shape, parts in given:
            start = reached
            for values in parts:
                reached += file.write((values.view("<u4") >> 16).astype("<u2").tobytes())
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [start, reached]}
        text = json.dumps(header).encode()
        if len(text) > _HEADER:
            raise ValueError(f"{path}: the header has {len(text):,} bytes, and {_HEADER:,} were left for it")
        file.seek(0)
        file.write(_HEADER.to_bytes(8, "little") + text.ljust(_HEADER))


def _gpt2(settings: Settings, seed: int) -> Pieces:
    shape = gpt2_random.Shape(*(settings[key] for key in ("n_layer", "n_embd", "n_head", "vocab_size", "n_positions")))
    for name, values in gpt2_random.stream("trained-like", shape, seed):
        yield name, values.shape, iter([bfloat16(values)])


def _neox(settings: Settings, seed: int) -> Pieces:
    """As GPT-2, under other names, without positions, with a head of its own; a linear layer has its matrix as [out, in]."""
    d, heads = settings["hidden_size"], settings["num_attention_heads"]
    shape = gpt2_random.Shape(settings["num_hidden_layers"], d, heads, settings["vocab_size"], 1)
    for name, values in _renamed(gpt2_random.stream("trained-like", shape, seed)):
        yield name, values.shape, iter([bfloat16(values)])
    embedding = next(gpt2_random.stream("trained-like", shape, seed + 1))[1]
    yield "embed_out.weight", embedding.shape, iter([bfloat16(embedding)])


_NEOX = {
    "ln_1": "input_layernorm", "ln_2": "post_attention_layernorm", "attn.c_attn": "attention.query_key_value",
    "attn.c_proj": "attention.dense", "mlp.c_fc": "mlp.dense_h_to_4h", "mlp.c_proj": "mlp.dense_4h_to_h",
}  # fmt: skip
_NEOX_OUTSIDE = {"wte": "embed_in", "ln_f": "final_layer_norm"}


def _renamed(given: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, values in given:
        layer, _, kind = name.rpartition(".")
        if layer == "wpe":
            continue
        if layer in _NEOX_OUTSIDE:
            yield f"gpt_neox.{_NEOX_OUTSIDE[layer]}.{kind}", values
            continue
        _, n, inner = layer.split(".", 2)
        yield f"gpt_neox.layers.{n}.{_NEOX[inner]}.{kind}", values.T


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in SHAPES:
        sys.exit(f"python -m benchmarks.synthetic NAME FOLDER, with the name of a shape: {', '.join(SHAPES)}")
    print(write_model(SHAPES[sys.argv[1]], Path(sys.argv[2])))
