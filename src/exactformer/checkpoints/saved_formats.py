"""How a model is written for other programs: the configuration and the tensors of GPT-2, nanoGPT, Llama and its relatives,
Gemma, Phi, GPT-NeoX, and TransformerLens. `writing.py` looks whether all of a model is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.checkpoints.decoder import Plan
from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.fields import ACTIVATIONS, Fields
from exactformer.checkpoints.lens import LENS_NAMES
from exactformer.checkpoints.opening import CONFIG, PLANS
from exactformer.model import BlockWeights, Config, Model
from exactformer.numbers import Exact, Number, exact, recover
from exactformer.reading import json_table

Arrays = Iterator[tuple[str, Any]]
_ACTIVATIONS: dict[str, str] = {ours: theirs for theirs, ours in reversed(list(ACTIVATIONS.items()))}  # of two names the first
_BIASES = ("attn.b_Q", "attn.b_K", "attn.b_V", "attn.b_O", "mlp.b_in", "mlp.b_out")


@dataclass(frozen=True)
class Format:
    """A way to write a model: its configuration as a document, and its weights as tensors, with the names that they have there."""

    name: str
    document: Callable[[Model], dict[str, Any]]
    tensors: Callable[[Model, dict[str, Any]], Arrays]


def format_of(model: Model) -> Format:
    config = model.config
    if config.positions == "rotary":
        return _PLANNED[_kind(model)]
    if config.outputs:
        return _LENS
    biases = _biases(model)
    if biases == {True} and (config.norm != "none" or config.unembedding != "own"):
        return _GPT2
    if biases == {False} and config.norm != "none" and config.unembedding != "none":
        return _NANO
    return _LENS


def _biases(model: Model) -> set[bool]:
    """Are there biases: everywhere, nowhere, or both?"""
    there = {name for name, _ in model.weights.named()}
    wanted = [bias for bias in _BIASES if model.config.mlp or bias.startswith("attn")]
    return {f"blocks.{n}.{bias}" in there for n in range(model.config.blocks) for bias in wanted} or {True}


# -- GPT-2 and nanoGPT
def _number(value: Any) -> float | None:
    """A decimal, if it is one: what JSON has no number for is read as another, and refused then."""
    return None if value is None else float(value.fraction)


def _gpt2_document(model: Model) -> dict[str, Any]:
    c = model.config
    return {
        "architectures": ["GPT2Model" if c.unembedding == "none" else "GPT2LMHeadModel"], "model_type": "gpt2",
        **_gpt_sizes(c), "n_positions": c.length, "tie_word_embeddings": c.unembedding != "own",
        "scale_attn_weights": c.scale != "none", "scale_attn_by_inverse_layer_idx": c.scale_by_block,
    }  # fmt: skip


def _nano_document(model: Model) -> dict[str, Any]:
    return {
        **_gpt_sizes(model.config), "block_size": model.config.length, "bias": False, "dropout": 0.0,
        "tie_word_embeddings": model.config.unembedding != "own",
    }  # fmt: skip


def _gpt_sizes(c: Config) -> dict[str, Any]:
    return {
        "n_layer": c.blocks, "n_head": c.heads, "n_embd": c.dim, "n_inner": c.mlp, "vocab_size": len(c.vocabulary),
        "layer_norm_epsilon": _number(c.epsilon), "activation_function": _ACTIVATIONS.get(c.activation or ""),
    }  # fmt: skip


def _gpt2_tensors(model: Model, document: dict[str, Any]) -> Arrays:
    """With the matrices of linear layers, [out, in], for nanoGPT, and the other way round for the transformers library."""
    weights, turned = model.weights, "block_size" in document
    yield "transformer.wte.weight", weights.W_E
    yield "transformer.wpe.weight", weights.W_pos
    for n, block in enumerate(weights.blocks):
        for name, values in _gpt2_block(block):
            matrix = values.ndim == 2 and turned
            yield f"transformer.h.{n}.{name}", values.T if matrix else values
    if weights.ln_final is not None:
        yield "transformer.ln_f.weight", weights.ln_final.w
        if not turned:
            yield "transformer.ln_f.bias", weights.ln_final.b
    if weights.W_U is not None:
        yield "lm_head.weight", weights.W_U.T


def _gpt2_block(block: BlockWeights) -> Arrays:
    attn = block.attn
    joint = [np.concatenate(list(each), axis=1) for each in (attn.W_Q, attn.W_K, attn.W_V)]  # heads side by side: [dim, dim]
    yield "attn.c_attn.weight", np.concatenate(joint, axis=1)
    yield "attn.c_proj.weight", attn.W_O.reshape(-1, attn.W_O.shape[-1])
    if biases := [bias.reshape(-1) for bias in (attn.b_Q, attn.b_K, attn.b_V) if bias is not None]:
        yield "attn.c_attn.bias", np.concatenate(biases)
        yield "attn.c_proj.bias", attn.b_O
    for name, norm in (("ln_1", block.ln1), ("ln_2", block.ln2)):
        if norm is not None:
            yield f"{name}.weight", norm.w
            if biases:
                yield f"{name}.bias", norm.b
    if block.mlp is not None:
        yield "mlp.c_fc.weight", block.mlp.W_in
        yield "mlp.c_proj.weight", block.mlp.W_out
        if biases:
            yield "mlp.c_fc.bias", block.mlp.b_in
            yield "mlp.c_proj.bias", block.mlp.b_out


_GPT2 = Format("GPT-2", _gpt2_document, _gpt2_tensors)
_NANO = Format("nanoGPT", _nano_document, _gpt2_tensors)


# -- Llama and the families that `decoder.build` reads with it
def _kind(model: Model) -> str:
    """The family that has what the model has."""
    config, attn = model.config, model.weights.blocks[0].attn if model.weights.blocks else None
    if config.norm_kind == "layer":
        return "phi" if config.shared_norm else "gpt_neox"
    if config.norm_unit:
        return "gemma" if not config.post_norms else "gemma3_text" if config.qk_norm else "gemma2"
    if config.qk_norm:
        return "qwen3"
    if config.window:
        return "mistral"
    return "qwen2" if attn is not None and attn.b_Q is not None and attn.b_O is None else "llama"


def _document(kind: str, name: str, body: str) -> Callable[[Model], dict[str, Any]]:
    def document(model: Model) -> dict[str, Any]:
        c, first = model.config, model.weights.blocks[0] if model.weights.blocks else None
        biased = first is not None and first.attn.b_Q is not None
        said: dict[str, Any] = {
            "architectures": [body if c.unembedding == "none" else f"{name}ForCausalLM"], "model_type": kind,
            "vocab_size": len(c.vocabulary), "hidden_size": c.dim, "num_hidden_layers": c.blocks, "num_attention_heads": c.heads,
            "intermediate_size": c.mlp, "max_position_embeddings": c.length, "hidden_act": _ACTIVATIONS.get(c.activation or ""),
            "tie_word_embeddings": c.unembedding != "own",
        }  # fmt: skip
        if c.norm_kind == "layer":
            return said | {"layer_norm_eps": _number(c.epsilon)} | (_phi(c) if kind == "phi" else _neox(c, biased))
        said |= {
            "num_key_value_heads": c.key_heads, "head_dim": c.head_dim, "rms_norm_eps": _number(c.epsilon),
            "rope_theta": _number(c.rotary_base),
        }  # fmt: skip
        if kind == "mistral":
            said["sliding_window"] = c.window
        if kind in ("llama", "qwen3", "gemma", "gemma2", "gemma3_text"):
            said["attention_bias"] = biased
        if kind == "llama":
            said["mlp_bias"] = first is not None and first.mlp is not None and first.mlp.b_in is not None
        return said | (_later_gemma(c, kind) if c.post_norms else {})

    return document


def _phi(c: Config) -> dict[str, Any]:
    return {
        "num_key_value_heads": c.key_heads, "rope_theta": _number(c.rotary_base),
        "partial_rotary_factor": _number(c.rotary_fraction),
    }  # fmt: skip


def _neox(c: Config, biased: bool) -> dict[str, Any]:
    return {
        "rotary_emb_base": _number(c.rotary_base), "rotary_pct": _number(c.rotary_fraction), "attention_bias": biased,
        "use_parallel_residual": c.parallel,
    }  # fmt: skip


def _later_gemma(c: Config, kind: str) -> dict[str, Any]:
    """Of Gemma 2 and 3: which blocks have a window, caps, and what scores are divided by the root of."""
    factor = recover(1 / (c.scale * c.scale)) if isinstance(c.scale, Number) else exact(c.head_dim or 0)
    slides = [bool(c.window) and n not in c.full_blocks for n in range(c.blocks)]
    own: dict[str, Any] = {"attn_logit_softcapping": _number(c.score_cap)}
    if kind == "gemma3_text":
        own = {"rope_local_base_freq": _number(c.window_rotary_base) if c.window else 10000.0}
    return own | {
        "sliding_window": c.window or None, "layer_types": [f"{'sliding' if each else 'full'}_attention" for each in slides],
        "query_pre_attn_scalar": _number(factor) if isinstance(factor, Exact) else None,
        "final_logit_softcapping": _number(c.logit_cap), "hidden_activation": _ACTIVATIONS.get(c.activation or ""),
    }  # fmt: skip


def _plan_tensors(model: Model, document: dict[str, Any]) -> Arrays:
    """What `decoder.build` reads, under the names of the same plan."""
    parsed = json_table(json.dumps(document).encode(), CheckpointError, CONFIG)
    plan = PLANS[document["model_type"]](Fields(parsed, Path(CONFIG)))
    weights, names = model.weights, plan.names
    yield f"{names.prefix}{names.embedding}.weight", weights.W_E
    for n, block in enumerate(weights.blocks):
        for name, values in _plan_block(plan, block):
            yield f"{names.prefix}{names.block.format(n)}{name}", values
    for name, values in _norm(names.ln_final, weights.ln_final):
        yield f"{names.prefix}{name}", values
    if weights.W_U is not None:
        yield f"{names.head}.weight", weights.W_U.T
    yield from _bias(names.head, weights.b_U)


def _plan_block(plan: Plan, block: BlockWeights) -> Arrays:
    names, attn, mlp = plan.names, block.attn, block.mlp
    dim = attn.W_Q.shape[1]
    for name, norm in (
        (names.ln1, block.ln1), (names.ln1_post, block.ln1_post), (names.ln2, block.ln2), (names.ln2_post, block.ln2_post),
        (names.q_norm, attn.q_norm), (names.k_norm, attn.k_norm),
    ):  # fmt: skip
        yield from _norm(name, norm)
    threes = ((attn.W_Q, attn.b_Q), (attn.W_K, attn.b_K), (attn.W_V, attn.b_V))
    if names.qkv:  # head by head queries, keys and values
        yield f"{names.qkv}.weight", np.stack([w.transpose(0, 2, 1) for w, _ in threes], axis=1).reshape(-1, dim)
        if attn.b_Q is not None:
            yield f"{names.qkv}.bias", np.stack([bias for _, bias in threes if bias is not None], axis=1).reshape(-1)
    else:
        for name, (matrix, bias) in zip((names.q, names.k, names.v), threes, strict=True):
            yield f"{name}.weight", matrix.transpose(0, 2, 1).reshape(-1, dim)
            yield from _bias(name, bias)
    yield f"{names.out}.weight", attn.W_O.transpose(2, 0, 1).reshape(dim, -1)
    yield from _bias(names.out, attn.b_O)
    if mlp is not None:
        for name, matrix, bias in (
            (names.gate, mlp.W_gate, mlp.b_gate), (names.mlp_in, mlp.W_in, mlp.b_in), (names.mlp_out, mlp.W_out, mlp.b_out),
        ):  # fmt: skip
            if name and matrix is not None:
                yield f"{name}.weight", matrix.T
                yield from _bias(name, bias)


def _norm(name: str, norm: Any | None) -> Arrays:
    if name and norm is not None:
        yield f"{name}.weight", norm.w
        yield from _bias(name, getattr(norm, "b", None))


def _bias(name: str, bias: Any | None) -> Arrays:
    if bias is not None:
        yield f"{name}.bias", bias.reshape(-1)


_PLANNED = {
    kind: Format(name, _document(kind, name, body or f"{name}Model"), _plan_tensors)
    for kind, name, body in (
        ("llama", "Llama", ""), ("mistral", "Mistral", ""), ("qwen2", "Qwen2", ""), ("qwen3", "Qwen3", ""), ("gemma", "Gemma", ""),
        ("gemma2", "Gemma2", ""), ("gemma3_text", "Gemma3", "Gemma3TextModel"), ("phi", "Phi", ""), ("gpt_neox", "GPTNeoX", ""),
    )
}  # fmt: skip


# -- TransformerLens
def _lens_document(model: Model) -> dict[str, Any]:
    c = model.config
    given = c.scale if isinstance(c.scale, Exact) else None
    return {
        "n_layers": c.blocks, "d_model": c.dim, "n_ctx": c.length, "d_head": c.head_dim, "n_heads": c.heads, "d_mlp": c.mlp or None,
        "d_vocab": len(c.vocabulary), "d_vocab_out": len(c.spoken), "act_fn": _ACTIVATIONS.get(c.activation or ""),
        "attn_only": not c.mlp, "normalization_type": None if c.norm == "none" else "LN", "eps": _number(c.epsilon),
        "attention_dir": "bidirectional" if c.mask == "none" else "causal", "use_attn_scale": c.scale != "none",
        "attn_scale": None if given is None or given <= 0 else _number(1 / given), "positional_embedding_type": "standard",
        "scale_attn_by_inverse_layer_idx": c.scale_by_block, "parallel_attn_mlp": c.parallel,
        "attn_scores_soft_cap": _number(c.score_cap), "output_logits_soft_cap": _number(c.logit_cap),
    }  # fmt: skip


def _lens_tensors(model: Model, document: dict[str, Any]) -> Arrays:
    return ((LENS_NAMES.get(name, name), values) for name, values in model.weights.named())


_LENS = Format("TransformerLens", _lens_document, _lens_tensors)
