"""Small GPT-2-shaped models with random weights, like those before training and after it; and passes compared step by step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights
from exactformer.model.weights import assembled, declared
from exactformer.numbers import exact


def gpt2_shaped(
    kind: str, seed: int = 0, *, blocks: int = 2, dim: int = 16, heads: int = 4, mlp: int = 64, vocabulary: int = 97,
    dtype: Any = np.float32, **config: Any,
) -> Model:  # fmt: skip
    """`kind` is "initial", or "trained": with large gains, outlier dimensions and sharp logits."""
    random, trained = np.random.default_rng(seed), kind == "trained"
    wide, outliers = math.sqrt(768 / dim), random.choice(dim, max(1, min(4, dim // 8)), replace=False)

    def some(shape: tuple[int, ...], after: float, before: float, outlier: float = 1) -> Any:
        values = random.standard_normal(shape) * (after if trained else before)
        if trained:
            values[..., outliers] *= outlier
        return values.astype(dtype)

    def norm(level: float) -> NormWeights:
        w = np.exp(random.standard_normal(dim) * 0.4 + level) if trained else np.ones(dim)
        w[outliers] *= 0.2 if trained else 1
        return NormWeights(w=w.astype(dtype), b=some((dim,), 0.05, 0))

    def block() -> BlockWeights:
        small = 0.02 * wide / math.sqrt(2 * blocks)
        by_head = {f"W_{c}": some((dim, dim), 0.14 * wide, 0.02 * wide).reshape(dim, heads, -1).transpose(1, 0, 2) for c in "QKV"}
        biases = {f"b_{c}": some((dim,), 0.2, 0).reshape(heads, -1) for c in "QKV"}
        merge = some((dim, dim), 0.1 * wide, small, 4).reshape(heads, -1, dim)
        return BlockWeights(
            ln1=norm(-1.2), ln2=norm(-1.2), attn=AttentionWeights(**by_head, **biases, W_O=merge, b_O=some((dim,), 0.1, 0)),
            mlp=MlpWeights(
                W_in=some((mlp, dim), 0.13 * wide, 0.02 * wide).T, b_in=some((mlp, dim), 0.1, 0)[:, 0],
                W_out=some((mlp, dim), 0.085 * wide, small, 10), b_out=some((dim,), 0.1, 0),
            ),
        )  # fmt: skip

    settings: dict[str, Any] = {
        "vocabulary": tuple(map(str, range(vocabulary))), "dim": dim, "blocks": blocks, "norm": "pre", "mask": "causal",
        "scale": "sqrt", "heads": heads, "epsilon": exact("1e-5"), "final_norm": True, "positions": "table", "length": 64,
        "mlp": mlp, "activation": "gelu_tanh",
    } | config  # fmt: skip
    return Model(
        Config(**settings),
        Weights(
            W_E=some((vocabulary, dim), 0.14, 0.02 * wide, 3), W_pos=some((64, dim), 0.05, 0.01 * wide, 40),
            blocks=tuple(block() for _ in range(blocks)), ln_final=norm(1.0),
        ),
    )  # fmt: skip


def moved_model(model: Model, seed: int, size: float, length: int) -> Model:
    """Another embedding of positions: every one moved by `size`, in L2."""
    step = np.random.default_rng(seed).standard_normal((length, model.config.dim))
    step *= size * (1 - 1e-5) / np.sqrt((step**2).sum(axis=1, keepdims=True))
    table = model.weights.W_pos.astype(np.float64)
    table[:length] += step
    return replace(model, weights=replace(model.weights, W_pos=table))


LLAMA: dict[str, Any] = {
    "norm_kind": "rms", "positions": "rotary", "heads": 4, "kv_heads": 2, "head_dim": 4, "mlp_kind": "gated", "activation": "silu",
    "epsilon": exact("1e-6"), "length": 64,
}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "one key head, own unembedding, biases": {"kv_heads": 1, "unembedding": "own", "biased": True},
    "norms of heads": {"qk_norm": True, "head_dim": 6},
    "gemma": {
        "norm_unit": True, "embedding_scale": "sqrt", "post_norms": True, "activation": "gelu_tanh", "window": 2,
        "full_blocks": (1,), "score_cap": exact("5"), "logit_cap": exact("3"), "qk_norm": True, "window_rotary_base": exact("100"),
    },
    "neox": {
        "norm_kind": "layer", "parallel": True, "rotary_fraction": exact("1/2"), "kv_heads": 4, "mlp_kind": "plain",
        "activation": "gelu", "biased": True,
    },
    "phi": {
        "norm_kind": "layer", "parallel": True, "shared_norm": True, "rotary_pairs": "neighbours", "kv_heads": 4,
        "mlp_kind": "plain", "activation": "silu", "biased": True,
    },
}  # fmt: skip


def family(name: str, seed: int = 0, *, blocks: int = 2, dim: int = 8, mlp: int = 12, vocabulary: int = 23) -> Model:
    """A small model of each kind that real ones are of, with random weights in float32 and one outlier dimension."""
    settings = LLAMA | FAMILIES[name]
    biased, random = settings.pop("biased", False), np.random.default_rng(seed)
    settings["full_blocks"] = tuple(block for block in settings.get("full_blocks", ()) if block < blocks)
    config = Config(
        vocabulary=tuple(map(str, range(vocabulary))), dim=dim, blocks=blocks, norm="pre", mask="causal", scale="sqrt",
        final_norm=True, mlp=mlp, **settings,
    )  # fmt: skip
    values = {}
    for weight, declared_as in declared(config).items():
        if declared_as.optional and not biased:
            continue
        values[weight] = random.standard_normal(declared_as.shape)
        if weight.endswith(("ln1.w", "ln2.w", "_post.w", "final.w", "norm.w")):
            values[weight] = np.exp(0.4 * values[weight]) - config.norm_unit
        elif weight.endswith((".b", "b_Q", "b_K", "b_V", "b_O", "b_in", "b_out", "b_gate", "b_U")):
            values[weight] *= 0.3
        elif weight != "W_E":
            values[weight] /= math.sqrt(declared_as.shape[-2])
    values["W_E"][:, 0] *= 8
    return Model(config, assembled(config, {name: value.astype(np.float32) for name, value in values.items()}))


def moved_embedding(model: Model, seed: int, size: float) -> Model:
    """Every embedding moved by `size`, in L2; logits by the matrix that they had."""
    step = np.random.default_rng(seed).standard_normal(model.weights.W_E.shape)
    step *= size * (1 - 1e-5) / np.sqrt((step**2).sum(axis=1, keepdims=True))
    weights = model.weights
    own = weights.W_E.T if weights.W_U is None else weights.W_U
    moved = replace(weights, W_E=weights.W_E.astype(np.float64) + step, W_U=own)
    return Model(replace(model.config, unembedding="own"), moved)
