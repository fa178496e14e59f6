"""JAX: Llama and GPT-2 written down in jax.numpy, compiled for the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.engine import Engine, Outputs, Unable, Weights, batches
from benchmarks.engines.folders import config_of, rope_base, weights_of

Config = dict[str, Any]


def run(folder: Path, ids: Any) -> Outputs:
    import jax

    jax.config.update("jax_platforms", "cpu")
    config, forwards = config_of(folder), {"llama": _llama, "gpt2": _gpt2}
    if config["model_type"] not in forwards:
        raise Unable(f"models of the kind {config['model_type']} are not written for it here")
    weights = jax.tree.map(jax.numpy.asarray, weights_of(folder))
    compiled = jax.jit(lambda weights, ids: forwards[config["model_type"]](config, weights, ids))
    return {"logits": np.concatenate([np.asarray(compiled(weights, some)) for some in batches(ids)])}


def _llama(config: Config, w: Weights, ids: Any) -> Any:
    import jax
    import jax.numpy as jnp

    width, length = config["head_dim"], ids.shape[1]
    frequencies = rope_base(config) ** (-jnp.arange(0, width, 2, dtype=jnp.float32) / width)
    angles = jnp.tile(jnp.arange(length, dtype=jnp.float32)[:, None] * frequencies, 2)  # [T, width]

    def turned(x: Any) -> Any:
        left, right = jnp.split(x, 2, axis=-1)
        return x * jnp.cos(angles) + jnp.concatenate([-right, left], axis=-1) * jnp.sin(angles)

    def norm(x: Any, gain: Any) -> Any:
        return gain * (x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + config["rms_norm_eps"]))

    x = w["model.embed_tokens.weight"][ids]  # [N, T, dim]
    for n in range(config["num_hidden_layers"]):
        own = {name.removeprefix(f"model.layers.{n}.").removesuffix(".weight"): values for name, values in w.items()}
        h = norm(x, own["input_layernorm"])
        q, k, v = (_heads(h @ own[f"self_attn.{name}_proj"].T, width) for name in "qkv")
        x = x + _attention(turned(q), turned(k), v) @ own["self_attn.o_proj"].T
        h = norm(x, own["post_attention_layernorm"])
        x = x + (jax.nn.silu(h @ own["mlp.gate_proj"].T) * (h @ own["mlp.up_proj"].T)) @ own["mlp.down_proj"].T
    return norm(x, w["model.norm.weight"]) @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


def _gpt2(config: Config, w: Weights, ids: Any) -> Any:
    import jax
    import jax.numpy as jnp

    width = config["n_embd"] // config["n_head"]

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred * jax.lax.rsqrt(jnp.mean(centred * centred, axis=-1, keepdims=True) + config["layer_norm_epsilon"])
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: ids.shape[1]]  # [N, T, dim]
    for n in range(config["n_layer"]):
        block = f"transformer.h.{n}."
        q, k, v = (_heads(part, width) for part in jnp.split(linear(norm(x, f"{block}ln_1"), f"{block}attn.c_attn"), 3, axis=-1))
        x = x + linear(_attention(q, k, v), f"{block}attn.c_proj")
        hidden = jax.nn.gelu(
            linear(norm(x, f"{block}ln_2"), f"{block}mlp.c_fc"), approximate=config["activation_function"] != "gelu"
        )
        x = x + linear(hidden, f"{block}mlp.c_proj")
    return norm(x, "transformer.ln_f") @ w.get("lm_head.weight", w["transformer.wte.weight"]).T


def _heads(x: Any, width: int) -> Any:
    return x.reshape(*x.shape[:2], -1, width).swapaxes(1, 2)  # [N, heads, T, width]


def _attention(q: Any, k: Any, v: Any) -> Any:
    """Causal; some heads of queries share one of keys and values."""
    import jax
    import jax.numpy as jnp

    shared = q.shape[1] // k.shape[1]
    k, v = jnp.repeat(k, shared, axis=1), jnp.repeat(v, shared, axis=1)
    scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(jnp.float32(q.shape[-1]))  # [N, heads, T, T]
    seen = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))
    z = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1) @ v
    return z.swapaxes(1, 2).reshape(z.shape[0], z.shape[2], -1)


ENGINES = (Engine("jax-float32", ("jax", "jaxlib"), "float32, jit, the pass written in jax.numpy", "float32", run),)
