"""Models of GPT-2's kind with random float32 weights: as before training, or made to look trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights
from exactformer.numbers import exact

KINDS = ("initialised", "trained-like")


@dataclass(frozen=True)
class Shape:
    """As GPT-2 small."""

    blocks: int = 12
    dim: int = 768
    heads: int = 12
    vocabulary: int = 50257
    positions: int = 1024


def random_tensors(kind: str, shape: Shape, seed: int = 0) -> dict[str, Any]:
    """Weights as the transformers library names them: as before training, or with large gains, outliers and sharp logits."""
    return dict(stream(kind, shape, seed))


def stream(kind: str, shape: Shape, seed: int = 0) -> Iterator[tuple[str, Any]]:
    """The same, one after the other."""
    random, trained, d = np.random.default_rng(seed), kind == "trained-like", shape.dim
    wide = (768 / d) ** 0.5
    outliers = random.choice(d, 4, replace=False)

    def some(*size: int, before: float, after: float, outlier: float = 1) -> Any:
        values = random.standard_normal(size, dtype=np.float32) * np.float32(after if trained else before)
        if trained and outlier != 1:
            values[..., outliers] *= np.float32(outlier)
        return values

    def gain(level: float, spread: float, outlier: float) -> Any:
        values = np.exp(random.standard_normal(d) * spread + level) if trained else np.ones(d)
        values[outliers] *= outlier if trained else 1
        return values.astype(np.float32)

    yield "wte.weight", some(shape.vocabulary, d, before=0.02 * wide, after=0.14, outlier=3)
    yield "wpe.weight", some(shape.positions, d, before=0.01 * wide, after=0.05, outlier=40)
    small = 0.02 * wide / (2 * shape.blocks) ** 0.5
    for n in range(shape.blocks):
        h = f"h.{n}"
        for ln in ("ln_1", "ln_2"):
            yield f"{h}.{ln}.weight", gain(-1.2, 0.4, 0.2)
            yield f"{h}.{ln}.bias", some(d, before=0, after=0.05)
        yield f"{h}.attn.c_attn.weight", some(d, 3 * d, before=0.02 * wide, after=0.14 * wide)
        yield f"{h}.attn.c_attn.bias", some(3 * d, before=0, after=0.2)
        yield f"{h}.attn.c_proj.weight", some(d, d, before=small, after=0.1 * wide, outlier=4)
        yield f"{h}.attn.c_proj.bias", some(d, before=0, after=0.1)
        yield f"{h}.mlp.c_fc.weight", some(d, 4 * d, before=0.02 * wide, after=0.13 * wide)
        yield f"{h}.mlp.c_fc.bias", some(4 * d, before=0, after=0.1) - np.float32(0.15 * trained)
        yield f"{h}.mlp.c_proj.weight", some(4 * d, d, before=small, after=0.085 * wide, outlier=10)
        yield f"{h}.mlp.c_proj.bias", some(d, before=0, after=0.1)
    yield "ln_f.weight", gain(1.0, 0.3, 0.1)
    yield "ln_f.bias", some(d, before=0, after=0.1)


def gpt2_model(tensors: dict[str, Any], shape: Shape) -> Model:
    """The same weights as a model: views of them."""
    d, heads = shape.dim, shape.heads

    def block(h: str) -> BlockWeights:
        joint, biases = tensors[f"{h}.attn.c_attn.weight"], tensors[f"{h}.attn.c_attn.bias"]
        parts = {c: slice(i * d, (i + 1) * d) for i, c in enumerate("QKV")}
        attention = {f"W_{c}": joint[:, part].reshape(d, heads, -1).transpose(1, 0, 2) for c, part in parts.items()}
        attention |= {f"b_{c}": biases[part].reshape(heads, -1) for c, part in parts.items()}
        attention |= {"W_O": tensors[f"{h}.attn.c_proj.weight"].reshape(heads, -1, d), "b_O": tensors[f"{h}.attn.c_proj.bias"]}
        mlp = MlpWeights(
            W_in=tensors[f"{h}.mlp.c_fc.weight"], b_in=tensors[f"{h}.mlp.c_fc.bias"],
            W_out=tensors[f"{h}.mlp.c_proj.weight"], b_out=tensors[f"{h}.mlp.c_proj.bias"],
        )  # fmt: skip
        return BlockWeights(attn=AttentionWeights(**attention), mlp=mlp, ln1=norm(f"{h}.ln_1"), ln2=norm(f"{h}.ln_2"))

    def norm(name: str) -> NormWeights:
        return NormWeights(w=tensors[f"{name}.weight"], b=tensors[f"{name}.bias"])

    for tensor in tensors.values():
        tensor.flags.writeable = False
    config = Config(
        vocabulary=tuple(map(str, range(shape.vocabulary))), dim=d, blocks=shape.blocks, norm="pre", mask="causal", scale="sqrt",
        heads=heads, epsilon=exact("1e-5"), final_norm=True, positions="table", length=shape.positions, mlp=4 * d,
        activation="gelu_tanh",
    )  # fmt: skip
    blocks = tuple(block(f"h.{n}") for n in range(shape.blocks))
    return Model(config, Weights(W_E=tensors["wte.weight"], W_pos=tensors["wpe.weight"], blocks=blocks, ln_final=norm("ln_f")))
