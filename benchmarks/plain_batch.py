"""A pass over a batch of sequences in plain NumPy float64: what a batch costs that proves nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.model import Model


class PlainBatch:
    """Decoders with a causal mask, a table of positions, LayerNorm before each part or none, and ReLU or the tanh form of GELU."""

    def __init__(self, model: Model) -> None:
        self.config, weights = model.config, model.weights
        self.embedding, self.positions = (_floats(a) for a in (weights.W_E, weights.W_pos))
        self.unembedding = self.embedding.T if weights.W_U is None else _floats(weights.W_U)
        self.bias = 0.0 if weights.b_U is None else _floats(weights.b_U)
        self.final = _norm(weights.ln_final)
        self.blocks = [self._block(block) for block in weights.blocks]
        self.scale = float(self.config.scale_factor.to_float())
        self.epsilon = 0.0 if self.config.epsilon is None else float(self.config.epsilon.fraction)

    def _block(self, block: Any) -> dict[str, Any]:
        attn, heads, dim = block.attn, self.config.heads, self.config.dim
        beside = [_floats(getattr(attn, f"W_{c}")).transpose(1, 0, 2).reshape(dim, -1) for c in "QKV"]
        biases = [0.0 if (b := getattr(attn, f"b_{c}")) is None else _floats(b).reshape(-1) for c in "QKV"]
        mlp = block.mlp
        return {
            "qkv": list(zip(beside, biases, strict=True)), "out": _floats(attn.W_O).reshape(heads * self.config.head_dim, dim),
            "b_out": 0.0 if attn.b_O is None else _floats(attn.b_O), "ln1": _norm(block.ln1), "ln2": _norm(block.ln2),
            "mlp": None if mlp is None else [0.0 if a is None else _floats(a) for a in (mlp.W_in, mlp.b_in, mlp.W_out, mlp.b_out)],
        }  # fmt: skip

    def __call__(self, ids: Any) -> Any:
        """Logits [n, T, vocabulary] of ids [n, T]."""
        (n, length), heads, width = ids.shape, self.config.heads, self.config.head_dim
        x = self.embedding[ids] + self.positions[:length]
        hidden = ~np.tril(np.ones((length, length), dtype=bool))
        for block in self.blocks:
            y = self._normed(x, block["ln1"])
            q, k, v = ((y @ w + b).reshape(n, length, heads, width).transpose(0, 2, 1, 3) for w, b in block["qkv"])
            scores = np.matmul(q, k.transpose(0, 1, 3, 2)) * self.scale
            scores[..., hidden] = -np.inf
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            scores /= scores.sum(axis=-1, keepdims=True)
            z = np.matmul(scores, v).transpose(0, 2, 1, 3).reshape(n, length, heads * width)
            x = x + (z @ block["out"] + block["b_out"])
            if block["mlp"] is not None:
                w_in, b_in, w_out, b_out = block["mlp"]
                x = x + (self._activated(self._normed(x, block["ln2"]) @ w_in + b_in) @ w_out + b_out)
        return self._normed(x, self.final) @ self.unembedding + self.bias

    def _normed(self, x: Any, norm: tuple[Any, Any] | None) -> Any:
        if norm is None:
            return x
        centred = x - x.mean(axis=-1, keepdims=True)
        return norm[0] * (centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + self.epsilon)) + norm[1]

    def _activated(self, x: Any) -> Any:
        if self.config.activation == "relu":
            return np.maximum(x, 0.0)
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x)))


def _norm(norm: Any) -> tuple[Any, Any] | None:
    return None if norm is None else (_floats(norm.w), _floats(norm.b))


def _floats(array: Any) -> Any:
    return np.asarray(array, dtype=np.float64)
