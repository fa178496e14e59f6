"""A Llama folder as llama.cpp reads it: one GGUF file, with matrices in float32, float16 or blocks of eight bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.engine import Weights
from benchmarks.engines.folders import llama_config, rope_base, weights_of

BLOCK = 32  # entries of a row that share a scale in q8_0
_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip


def write_gguf(folder: Path, path: Path, kind: str) -> None:
    """`kind` is F32, F16 or Q8_0. Gains stay in float32, as llama.cpp wants them."""
    import gguf

    config = llama_config(folder)
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(rope_base(config))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    _add_tokens(writer, config["vocab_size"], gguf.TokenType)
    for name, values in weights_of(folder).items():
        if ".q_proj." in name or ".k_proj." in name:
            values = _pairs_adjacent(values, heads if ".q_proj." in name else kv_heads)
        type = getattr(gguf.GGMLQuantizationType, kind if _in_blocks(values, kind) else "F32")
        writer.add_tensor(_name(name), gguf.quants.quantize(values, type), raw_dtype=type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def dequantised(folder: Path) -> Weights:
    """The float32s that q8_0 stands for: whole numbers times a scale for every block. The order of rows does not matter to it."""
    import gguf

    kind, quants = gguf.GGMLQuantizationType.Q8_0, gguf.quants
    return {
        name: quants.dequantize(quants.quantize(values, kind), kind) if _in_blocks(values, "Q8_0") else values
        for name, values in weights_of(folder).items()
    }


def _in_blocks(values: Any, kind: str) -> bool:
    """Is this tensor in the kind asked for? Gains are not, nor are rows that blocks do not fill."""
    return values.ndim == 2 and (kind != "Q8_0" or values.shape[1] % BLOCK == 0)


def _name(name: str) -> str:
    stem = name.removesuffix(".weight")
    if stem.startswith("model.layers."):
        _, _, number, inner = stem.split(".", 3)
        return f"blk.{number}.{_NAMES[inner]}.weight"
    return f"{_NAMES[stem]}.weight"


def _pairs_adjacent(rows: Any, heads: int) -> Any:
    """llama.cpp turns dimensions 2i and 2i + 1 of a head together, the folder's library i and i + half."""
    width = len(rows) // heads
    return np.ascontiguousarray(rows.reshape(heads, 2, width // 2, -1).swapaxes(1, 2)).reshape(rows.shape)


def _add_tokens(writer: Any, size: int, types: Any) -> None:
    """Names for tokens, since the file must have some: they are asked for by their ids alone."""
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"t{n}" for n in range(size)])
    writer.add_token_scores([0.0] * size)
    writer.add_token_types([types.NORMAL] * size)
    writer.add_add_bos_token(False)
