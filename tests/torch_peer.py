"""The same transformer in PyTorch, float64: written from the configuration alone, for its loss and its gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from exactformer.model import Model


@dataclass(frozen=True)
class Peer:
    loss: float  # of Σ upstream · output where the upstream gradient was given
    weights: dict[str, np.ndarray]  # gradients, by the name of the weight
    steps: dict[str, np.ndarray]  # gradients, by the name of the step


def peer(model: Model, tokens: tuple[str, ...], targets: tuple[str, ...] = (), upstream: Any = None) -> Peer:
    """Autograd's answer to `gradient(run(model, tokens), targets)`."""
    weights = {name: _tensor(values).requires_grad_() for name, values in model.weights.named()}
    index = model.config.vocabulary.index
    steps: dict[str, Tensor] = {}
    out = _forward(model, weights, [index(token) for token in tokens], steps)
    if upstream is None:
        loss = F.cross_entropy(out, torch.tensor([index(token) for token in targets]))
    else:
        loss = (out * torch.as_tensor(upstream)).sum()
    loss.backward()
    return Peer(loss.item(), {name: _gradient(w) for name, w in weights.items()}, {name: _gradient(x) for name, x in steps.items()})


def said(model: Model, tokens: tuple[str, ...]) -> list[str]:
    """The largest logit at every position."""
    weights = {name: _tensor(values).requires_grad_() for name, values in model.weights.named()}
    logits = _forward(model, weights, [model.config.vocabulary.index(token) for token in tokens], {})
    return [model.config.vocabulary[i] for i in logits.argmax(dim=1).tolist()]


def _tensor(values: Any) -> Tensor:
    return torch.tensor([float(v.to_float() if hasattr(v, "to_float") else v) for v in values.flat], dtype=torch.float64).reshape(
        values.shape
    )


def _gradient(x: Tensor) -> np.ndarray:
    return (torch.zeros_like(x) if x.grad is None else x.grad).numpy()


def _forward(model: Model, w: dict[str, Tensor], ids: list[int], steps: dict[str, Tensor]) -> Tensor:
    c = model.config

    def kept(name: str, x: Tensor) -> Tensor:
        x.retain_grad()
        steps[name] = x
        return x

    def norm(x: Tensor, name: str) -> Tensor:
        return kept(f"{name}.out", F.layer_norm(x, (c.dim,), w[f"{name}.w"], w[f"{name}.b"], c.epsilon.to_float()))

    def joined(x: Tensor, y: Tensor) -> Tensor:
        return x + y if c.residual else y

    x = kept("embed", F.embedding(torch.tensor(ids), w["W_E"]))  # [T, dim]
    if c.positions == "table":
        x = x + w["W_pos"][: len(ids)]
    elif c.positions == "sinusoidal":
        x = x + _sinusoidal(len(ids), c.dim)
    for n in range(c.blocks):
        b = f"blocks.{n}"
        y = norm(x, f"{b}.ln1") if c.norm == "pre" else x
        x = kept(f"{b}.resid_mid", joined(x, kept(f"{b}.attn.out", _attention(model, w, f"{b}.attn", y, kept))))
        if c.norm == "post":
            x = norm(x, f"{b}.ln1")
        if c.mlp:
            y = norm(x, f"{b}.ln2") if c.norm == "pre" else x
            x = kept(f"{b}.resid_post", joined(x, kept(f"{b}.mlp.out", _mlp(c.activation, w, f"{b}.mlp", y, kept))))
            if c.norm == "post":
                x = norm(x, f"{b}.ln2")
    if c.final_norm:
        x = norm(x, "ln_final")
    if c.unembedding == "none":
        return x
    logits = x @ (w["W_E"].T if c.unembedding == "tied" else w["W_U"])
    return kept("logits", logits + w["b_U"] if "b_U" in w else logits)  # [T, vocabulary]


def _attention(model: Model, w: dict[str, Tensor], name: str, x: Tensor, kept: Any) -> Tensor:
    c = model.config
    q, k, v = (
        kept(f"{name}.{letter.lower()}", torch.einsum("td,hde->hte", x, w[f"{name}.W_{letter}"]) + _bias(w, f"{name}.b_{letter}"))
        for letter in "QKV"
    )  # [heads, T, head_dim]
    factor = {"none": 1.0, "sqrt": 1 / math.sqrt(c.head_dim)}[c.scale] if isinstance(c.scale, str) else c.scale.to_float()
    scores = kept(f"{name}.scores", torch.einsum("hie,hje->hij", q, k) * factor)  # [heads, T, T]
    everything = torch.ones(len(x), len(x), dtype=torch.bool)
    hidden = {"none": ~everything, "causal": everything.triu(1), "strict": everything.triu(0)}[c.mask]
    blind = hidden.all(-1, keepdim=True)  # rows that see nothing have weights 0, where a softmax of −∞ would be NaN
    seen = scores if c.late_mask else scores.masked_fill(hidden & ~blind, -math.inf)
    pattern = seen.softmax(-1).masked_fill(hidden, 0.0)
    z = kept(f"{name}.z", kept(f"{name}.pattern", pattern) @ v)
    out = torch.einsum("hte,hed->td", z, w[f"{name}.W_O"])
    return out + w[f"{name}.b_O"] if f"{name}.b_O" in w else out


def _bias(w: dict[str, Tensor], name: str) -> Tensor | float:
    return w[name][:, None, :] if name in w else 0.0


def _mlp(activation: str, w: dict[str, Tensor], name: str, x: Tensor, kept: Any) -> Tensor:
    pre = kept(f"{name}.pre", x @ w[f"{name}.W_in"] + w.get(f"{name}.b_in", 0.0))  # [T, mlp]
    post = {
        "relu": F.relu,
        "identity": torch.clone,
        "gelu": F.gelu,
        "gelu_tanh": lambda y: F.gelu(y, approximate="tanh"),
    }[activation](pre)
    return kept(f"{name}.post", post) @ w[f"{name}.W_out"] + w.get(f"{name}.b_out", 0.0)


def _sinusoidal(length: int, dim: int) -> Tensor:
    angle = torch.arange(length, dtype=torch.float64)[:, None] / 10000.0 ** (
        (torch.arange(dim, dtype=torch.float64) // 2) * 2 / dim
    )
    return torch.where(torch.arange(dim) % 2 == 0, angle.sin(), angle.cos())
