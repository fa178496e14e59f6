"""A network as a worksheet describes it, in PyTorch: weights by the names that worksheets have, and one function of them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from exactformer.model import Config
from exactformer.model.weights import declared

Weights = dict[str, Tensor]


def untrained(config: Config, spread: float = 1.0) -> Weights:
    """Matrices drawn so that a row keeps its size, biases 0, gains of norms 1."""

    def drawn(name: str, shape: tuple[int, ...]) -> Tensor:
        if len(shape) == 1 or ".b_" in name:
            return torch.ones(shape) if name.endswith(".w") else torch.zeros(shape)
        inputs = config.dim if name in ("W_E", "W_pos", "W_U") or not name.endswith("W_out") else config.mlp
        return torch.randn(shape) * spread / inputs**0.5

    return {name: drawn(name, weight.shape).requires_grad_() for name, weight in declared(config).items()}


def logits(weights: Weights, config: Config, ids: Tensor) -> Tensor:
    """[n, T] to [n, T, vocabulary]: a decoder with a causal mask and a table of positions, with norms before its parts or none."""

    def normed(x: Tensor, name: str) -> Tensor:
        if config.norm == "none":
            return x
        assert config.epsilon is not None
        return F.layer_norm(x, (config.dim,), weights[f"{name}.w"], weights[f"{name}.b"], float(config.epsilon.fraction))

    activation = F.gelu if config.activation == "gelu" else F.relu
    x = weights["W_E"][ids] + weights["W_pos"][: ids.shape[1]]  # [n, T, dim]
    for n in range(config.blocks):
        block = {name.removeprefix(f"blocks.{n}."): weight for name, weight in weights.items() if name.startswith(f"blocks.{n}.")}
        y = normed(x, f"blocks.{n}.ln1")
        q, k, v = (torch.einsum("ntd,hde->nhte", y, block[f"attn.W_{c}"]) + block[f"attn.b_{c}"][:, None] for c in "QKV")
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # [n, heads, T, width]
        x = x + torch.einsum("nhte,hed->ntd", z, block["attn.W_O"]) + block["attn.b_O"]
        if config.mlp:
            y = normed(x, f"blocks.{n}.ln2")
            x = x + activation(y @ block["mlp.W_in"] + block["mlp.b_in"]) @ block["mlp.W_out"] + block["mlp.b_out"]
    return normed(x, "ln_final") @ weights["W_U"] + weights["b_U"]
