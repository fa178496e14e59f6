"""What the transformers library computes, step by step, all of it in float64.

The library takes norms, softmax and rotary tables in float32, whatever the type of the model. Here its own code runs with float64
in their place; the float32 inverse frequencies of rotary positions, which are made before, stay the numbers that they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

_BODIES = ("model", "gpt_neox", "transformer")


class _Wide:
    """The module torch, in which float32 is float64."""

    float32 = float = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def in_float64(model: Any) -> Iterator[None]:
    code = sys.modules[type(model).__module__]
    code.torch, torch.Tensor.float = _Wide(), torch.Tensor.double  # type: ignore[attr-defined,method-assign]
    try:
        yield
    finally:
        code.torch = torch  # type: ignore[attr-defined]
        del torch.Tensor.float


def body(model: Any) -> Any:
    return next((getattr(model, name) for name in _BODIES if hasattr(model, name)), model)


class _Watch:
    """Hooks that keep what modules compute, under our names of the steps."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.hooks: list[Any] = []

    def keep(self, name: str, module: Any, of_input: bool = False) -> None:
        def hook(module: Any, args: Any, kwargs: Any, output: Any) -> None:
            value = (
                (args[0] if args else kwargs["hidden_states"]) if of_input else output[0] if isinstance(output, tuple) else output
            )
            self.found[name] = value.detach()[0]

        self.hooks.append(module.register_forward_hook(hook, with_kwargs=True))

    def attention(self, module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **rest: Any) -> Any:
        name = f"blocks.{module.layer_idx}.attn"
        out, pattern = sys.modules[type(module).__module__].eager_attention_forward(  # type: ignore[attr-defined]
            module, query, key, value, mask, scaling=scaling, **rest
        )
        self.found |= {f"{name}.rot_q": query[0], f"{name}.rot_k": key[0], f"{name}.v": value[0], f"{name}.pattern": pattern[0]}
        self.found[f"{name}.z"] = out[0].transpose(0, 1)
        return out, pattern


def library_steps(model: Any, ids: list[int]) -> dict[str, Any]:
    """What the library computes at the points that our steps are named after."""
    watch, inner = _Watch(), body(model)
    kind = model.config.model_type
    ALL_ATTENTION_FUNCTIONS.register("watched", watch.attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register("watched", eager_mask)
    if kind != "gpt_neo":
        model.set_attn_implementation("watched")
    for n, block in enumerate(inner.h if kind == "gpt_neo" else inner.layers):
        _block(watch, kind, f"blocks.{n}", block)
    final = {"gpt_neo": "ln_f", "gpt_neox": "final_layer_norm", "phi": "final_layernorm"}.get(kind, "norm")
    watch.keep("ln_final.out", getattr(inner, final))
    with torch.no_grad(), in_float64(model):
        result = model(torch.tensor([ids]), use_cache=False)
    for hook in watch.hooks:
        hook.remove()
    found = watch.found
    if hasattr(result, "logits"):
        found["logits"] = result.logits[0]
    return {name: _heads(model.config, name, value).numpy() for name, value in found.items()}


def _block(watch: _Watch, kind: str, b: str, block: Any) -> None:
    watch.keep(f"{b}.resid_pre", block, of_input=True)
    watch.keep(f"{b}.resid_post", block)
    watch.keep(f"{b}.mlp.out", block.mlp)
    first = block.ln_1 if kind == "gpt_neo" else block.input_layernorm
    watch.keep(f"{b}.ln1.out", first)
    match kind:
        case "gpt_neo":
            attention, out = block.attn.attention, block.attn.attention.out_proj
            second, inside, post = block.ln_2, block.mlp.c_fc, block.mlp.act
        case "gpt_neox":
            attention, out = block.attention, block.attention.dense
            second, inside, post = block.post_attention_layernorm, block.mlp.dense_h_to_4h, block.mlp.act
        case "phi":
            attention, out, second = block.self_attn, block.self_attn.dense, None
            inside, post = block.mlp.fc1, block.mlp.activation_fn
        case _:
            attention, out, second = block.self_attn, block.self_attn.o_proj, block.post_attention_layernorm
            inside, post = block.mlp.gate_proj, None
            watch.keep(f"{b}.mlp.pre_linear", block.mlp.up_proj)
            watch.keep(f"{b}.mlp.post", block.mlp.down_proj, of_input=True)
    watch.keep(f"{b}.attn.out", out)
    watch.keep(f"{b}.mlp.pre", inside)
    if post is not None:
        watch.keep(f"{b}.mlp.post", post)
    if kind in ("gemma2", "gemma3_text"):
        watch.keep(f"{b}.ln1_post.out", second)
        watch.keep(f"{b}.ln2_post.out", block.post_feedforward_layernorm)
        second = block.pre_feedforward_layernorm
    if second is not None:
        watch.keep(f"{b}.ln2.out", second)
        watch.keep(f"{b}.second", second, of_input=True)
    if kind == "gpt_neox":
        watch.keep(f"{b}.attn.qkv", attention.query_key_value)
        return
    for letter in "qkv":
        watch.keep(f"{b}.attn.{letter}", getattr(attention, f"{letter}_proj"))
        if letter != "v" and hasattr(attention, f"{letter}_norm"):
            watch.keep(f"{b}.attn.{letter}_norm.out", getattr(attention, f"{letter}_norm"))


def _heads(config: Any, name: str, value: Any) -> Any:
    """Queries, keys and values as [heads, T, head_dim]."""
    last, heads = name.rpartition(".")[2], config.num_attention_heads
    if last == "qkv":
        return value.unflatten(-1, (heads, -1)).transpose(0, 1)
    if last in ("q", "k", "v") and value.ndim == 2:
        heads = heads if last == "q" else getattr(config, "num_key_value_heads", heads)
        return value.unflatten(-1, (heads, -1)).transpose(0, 1)
    if name.endswith(("q_norm.out", "k_norm.out")) and config.model_type == "qwen3":
        return value.transpose(0, 1)
    return value
