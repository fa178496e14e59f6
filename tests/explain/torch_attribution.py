"""Direct attribution in PyTorch, float64, by autograd: what is added to the stream is a leaf, what sub-layers read is detached."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from exactformer.model import Model
from torch_peer import _tensor

ACTIVATIONS = {
    "relu": F.relu,
    "identity": torch.clone,
    "gelu": F.gelu,
    "gelu_tanh": lambda y: F.gelu(y, approximate="tanh"),
    "silu": F.silu,
}


def attribution(model: Model, ids: list[int], token: int, over: int | None, position: int) -> tuple[float, dict[str, Any]]:
    """The logit or lead, and what each part adds to it: floats by name; of heads and MLPs, rows of sources and units."""
    c, w = model.config, {name: _tensor(values) for name, values in model.weights.named()}
    leaves: dict[str, Tensor] = {}

    def leaf(name: str, x: Tensor) -> Tensor:
        leaves[name] = x.detach().clone().requires_grad_()
        return leaves[name]

    def norm(x: Tensor, name: str) -> Tensor:
        gain = w[f"{name}.w"] + (1 if c.norm_unit else 0)
        if c.norm_kind == "rms":
            return x / (x.detach().square().mean(-1, keepdim=True) + c.epsilon.to_float()).sqrt() * gain
        centred = x - x.mean(-1, keepdim=True)
        scale = (centred.detach().square().mean(-1, keepdim=True) + c.epsilon.to_float()).sqrt()
        out = centred / scale * gain
        return out + spread(f"{name}.b", x) if f"{name}.b" in w else out

    def spread(name: str, x: Tensor) -> Tensor:
        return leaf(name, w[name].expand(len(x), -1))

    def attention(x: Tensor, name: str) -> Tensor:
        q, k, v = (
            torch.einsum("td,hde->hte", x, w[f"{name}.W_{letter}"])
            + (w[f"{name}.b_{letter}"][:, None] if f"{name}.b_{letter}" in w else 0)
            for letter in "QKV"
        )
        factor = c.scale_factor.to_float()
        everything = torch.ones(len(x), len(x), dtype=torch.bool)
        hidden = {"none": ~everything, "causal": everything.triu(1), "strict": everything.triu(0)}[c.mask]
        blind = hidden.all(-1, keepdim=True)
        scores = (q @ k.mT * factor).masked_fill(hidden & ~blind, -math.inf)
        pattern = scores.softmax(-1).masked_fill(hidden, 0.0)
        sources = leaf(f"{name}.head", torch.einsum("hij,hje->hije", pattern, v))  # what is taken from each position
        out = torch.einsum("hije,hed->id", sources, w[f"{name}.W_O"])
        return out + spread(f"{name}.b_O", out) if f"{name}.b_O" in w else out

    def mlp(x: Tensor, name: str) -> Tensor:
        pre = x @ w[f"{name}.W_in"] + w.get(f"{name}.b_in", torch.zeros(()))
        post = ACTIVATIONS[c.activation](pre)
        if c.mlp_kind == "gated":
            post = ACTIVATIONS[c.activation](x @ w[f"{name}.W_gate"] + w.get(f"{name}.b_gate", torch.zeros(()))) * pre
        out = leaf(name, post) @ w[f"{name}.W_out"]
        return out + spread(f"{name}.b_out", out) if f"{name}.b_out" in w else out

    x = leaf("embed", F.embedding(torch.tensor(ids), w["W_E"]))
    if c.positions == "table":
        x = x + leaf("pos_embed", w["W_pos"][: len(ids)])
    for n in range(c.blocks):
        b, start = f"blocks.{n}", x
        y = attention((norm(x, f"{b}.ln1") if c.norm == "pre" else x).detach(), f"{b}.attn")
        y = norm(y, f"{b}.ln1_post") if c.post_norms else y
        x = x + y if c.residual else y
        x = norm(x, f"{b}.ln1") if c.norm == "post" else x
        if c.mlp:
            read = start if c.parallel else x
            y = mlp((norm(read, f"{b}.ln2") if c.norm == "pre" else read).detach(), f"{b}.mlp")
            y = norm(y, f"{b}.ln2_post") if c.post_norms else y
            x = x + y if c.residual else y
            x = norm(x, f"{b}.ln2") if c.norm == "post" else x
    x = norm(x, "ln_final") if c.final_norm else x
    logits = x @ (w["W_E"].T if c.unembedding == "tied" else w["W_U"])
    logits = logits + spread("b_U", logits) if "b_U" in w else logits
    value = logits[position, token] - (0 if over is None else logits[position, over])
    value.backward()
    given = {name: x.detach() * x.grad for name, x in leaves.items() if x.grad is not None}  # the others are inside sub-layers
    found: dict[str, Any] = {}
    for name, each in given.items():
        if name.endswith(".head"):  # [heads, T, T, head_dim]
            found |= {f"{name}.{h}": row.sum(-1).tolist() for h, row in enumerate(each[:, position])}
        elif name.endswith(".mlp"):
            found[name] = each[position].tolist()
        else:
            found[name] = each[position].sum().item()
    return value.item(), found
