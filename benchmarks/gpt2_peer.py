"""GPT-2 in plain NumPy float64, as one writes it down: the peer for passes at full size."""

from __future__ import annotations

from typing import Any

import numpy as np


def load(tensors: dict[str, Any]) -> dict[str, Any]:
    """Weights as the transformers library names them, in float64."""
    return {name: tensor.astype(np.float64) for name, tensor in tensors.items()}


def forward(w: dict[str, Any], ids: list[int], heads: int, last_only: bool = False) -> Any:
    """The logits [T, vocabulary], or those of the last position [1, vocabulary]."""
    x = w["wte.weight"][ids] + w["wpe.weight"][: len(ids)]  # [T, dim]
    hidden = np.triu(np.full((len(ids), len(ids)), -np.inf), 1)  # [T, T]
    for n in range(sum(name.endswith("attn.c_attn.weight") for name in w)):
        h = f"h.{n}"
        x = x + _attention(_norm(x, w, f"{h}.ln_1"), w, f"{h}.attn", heads, hidden)
        x = x + _linear(_gelu(_linear(_norm(x, w, f"{h}.ln_2"), w, f"{h}.mlp.c_fc")), w, f"{h}.mlp.c_proj")
    return _norm(x[-1:] if last_only else x, w, "ln_f") @ w["wte.weight"].T


def _linear(x: Any, w: dict[str, Any], name: str) -> Any:
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def _norm(x: Any, w: dict[str, Any], name: str) -> Any:
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x)))


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _attention(x: Any, w: dict[str, Any], name: str, heads: int, hidden: Any) -> Any:
    q, k, v = (np.split(part, heads, axis=-1) for part in np.split(_linear(x, w, f"{name}.c_attn"), 3, axis=-1))
    z = [_softmax(q[h] @ k[h].T / np.sqrt(q[h].shape[-1]) + hidden) @ v[h] for h in range(heads)]  # each [T, head_dim]
    return _linear(np.hstack(z), w, f"{name}.c_proj")
