"""Llama, Qwen 2 and 3 and Gemma 3 in plain NumPy float64, as one writes them down: the peer for passes at their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

Settings = dict[str, Any]  # what config.json says


def forward(c: Settings, w: dict[str, Any], ids: list[int]) -> Any:
    """The logits of the last position [1, vocabulary]. Weights as the transformers library names them, in float64."""
    x = embedded(c, w["model.embed_tokens.weight"][ids])  # [T, dim]
    for n in range(c["num_hidden_layers"]):
        layer = f"model.layers.{n}."
        x = x + attention(c, w, layer, x)
        x = x + mlp(c, w, layer, x)
    return norm(c, x[-1:], w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T


def is_gemma(c: Settings) -> bool:
    """Gains are 1 + w, embeddings times √dim, two more norms a layer."""
    return bool(c["model_type"] == "gemma3_text")


def embedded(c: Settings, rows: Any) -> Any:
    return rows * np.sqrt(c["hidden_size"]) if is_gemma(c) else rows


def norm(c: Settings, x: Any, w: Any) -> Any:
    return x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + c["rms_norm_eps"]) * (w + is_gemma(c))


def scores(c: Settings, w: dict[str, Any], layer: str, x: Any) -> Any:
    """Before the mask: [kv heads, group, T, T]. `x` is after the norm."""
    q, k = (_heads(c, w, f"{layer}self_attn.{name}", x) for name in ("q", "k"))
    angles = np.arange(len(x))[:, None] * _base(c, layer) ** -(np.arange(0, c["head_dim"], 2) / c["head_dim"])
    q, k = _turned(q, angles), _turned(k, angles)
    return q.reshape(len(k), -1, *q.shape[1:]) @ k[:, None].swapaxes(-1, -2) / np.sqrt(c["head_dim"])


def attention(c: Settings, w: dict[str, Any], layer: str, x: Any) -> Any:
    h, places = norm(c, x, w[f"{layer}input_layernorm.weight"]), np.arange(len(x))
    apart = places[:, None] - places
    seen = (apart >= 0) & (apart < c["sliding_window"]) if _slides(c, layer) else apart >= 0  # [T, T]
    masked = np.where(seen, scores(c, w, layer, h), -np.inf)
    powers = np.exp(masked - masked.max(axis=-1, keepdims=True))
    z = (
        powers / powers.sum(axis=-1, keepdims=True) @ _heads(c, w, f"{layer}self_attn.v", h)[:, None]
    )  # [kv heads, group, T, head_dim]
    out = z.reshape(-1, *z.shape[2:]).swapaxes(0, 1).reshape(len(x), -1) @ w[f"{layer}self_attn.o_proj.weight"].T
    return norm(c, out, w[f"{layer}post_attention_layernorm.weight"]) if is_gemma(c) else out


def before_mlp(c: Settings, w: dict[str, Any], layer: str, x: Any) -> Any:
    return norm(c, x, w[f"{layer}{'pre_feedforward' if is_gemma(c) else 'post_attention'}_layernorm.weight"])


def mlp(c: Settings, w: dict[str, Any], layer: str, x: Any) -> Any:
    h = before_mlp(c, w, layer, x)
    gate, up = (h @ w[f"{layer}mlp.{name}_proj.weight"].T for name in ("gate", "up"))
    out = (_gelu(gate) if is_gemma(c) else gate / (1 + np.exp(-gate))) * up @ w[f"{layer}mlp.down_proj.weight"].T
    return norm(c, out, w[f"{layer}post_feedforward_layernorm.weight"]) if is_gemma(c) else out


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x)))


def _heads(c: Settings, w: dict[str, Any], name: str, x: Any) -> Any:
    """[heads, T, head_dim]"""
    values = x @ w[f"{name}_proj.weight"].T + w.get(f"{name}_proj.bias", 0.0)
    values = values.reshape(len(x), -1, c["head_dim"]).swapaxes(0, 1)
    return norm(c, values, w[f"{name}_norm.weight"]) if f"{name}_norm.weight" in w else values


def _turned(x: Any, angles: Any) -> Any:
    """Each dimension of the first half with its partner in the second."""
    left, right = np.split(x, 2, axis=-1)
    return np.concatenate((left * np.cos(angles) - right * np.sin(angles), right * np.cos(angles) + left * np.sin(angles)), axis=-1)


def _slides(c: Settings, layer: str) -> bool:
    return is_gemma(c) and (int(layer.split(".")[2]) + 1) % 6 != 0


def _base(c: Settings, layer: str) -> float:
    return float(c["rope_local_base_freq"] if _slides(c, layer) else c["rope_theta"])
