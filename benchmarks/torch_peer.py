"""GPT-2 in torch, as one writes it down: the peer in float32 and in float64."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F


def load(tensors: dict[str, Any], threads: int) -> dict[str, Any]:
    """Weights as the transformers library names them."""
    torch.set_num_threads(threads)
    return {name: torch.asarray(tensor, copy=True) for name, tensor in tensors.items()}


@torch.no_grad()
def forward(w: dict[str, Any], ids: list[int], heads: int) -> Any:
    """The logits of the last position [1, vocabulary]."""
    x = w["wte.weight"][ids] + w["wpe.weight"][: len(ids)]  # [T, dim]
    for n in range(sum(name.endswith("attn.c_attn.weight") for name in w)):
        h = f"h.{n}"
        q, k, v = (
            part.unflatten(-1, (heads, -1)).transpose(0, 1)  # [heads, T, head_dim]
            for part in _linear(_norm(x, w, f"{h}.ln_1"), w, f"{h}.attn.c_attn").chunk(3, dim=-1)
        )
        z = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
        x = x + _linear(z.transpose(0, 1).flatten(1), w, f"{h}.attn.c_proj")
        inner = F.gelu(_linear(_norm(x, w, f"{h}.ln_2"), w, f"{h}.mlp.c_fc"), approximate="tanh")
        x = x + _linear(inner, w, f"{h}.mlp.c_proj")
    return _norm(x[-1:], w, "ln_f") @ w["wte.weight"].T


def _linear(x: Any, w: dict[str, Any], name: str) -> Any:
    return torch.addmm(w[f"{name}.bias"], x, w[f"{name}.weight"])


def _norm(x: Any, w: dict[str, Any], name: str) -> Any:
    return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])
