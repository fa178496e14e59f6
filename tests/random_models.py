"""Random tiny models with small rational weights: every option of the configuration comes up."""

from __future__ import annotations

import random

import numpy as np

from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights
from exactformer.numbers import array, exact
from exactformer.numbers.arrays import Array

ENTRIES = ("-1", "-1/2", "0", "0", "1/2", "1")


def random_array(rng: random.Random, *shape: int, entries: tuple[str, ...] = ENTRIES) -> Array:
    flat = array([rng.choice(entries) for _ in range(int(np.prod(shape)))])
    return flat.reshape(shape)


def random_config(
    rng: random.Random, dims: tuple[int, ...] = (2, 3, 4, 6, 8), length: int = 4, blocks: int = 3, **fixed: object
) -> Config:
    dim = rng.choice(dims)
    choices: dict[str, object] = {
        "vocabulary": tuple("abcd"[: rng.randint(2, 4)]),
        "dim": dim,
        "heads": rng.choice([h for h in (1, 2) if dim % h == 0]),
        "blocks": rng.randint(1, blocks),
        "norm": rng.choice(("none", "pre", "post")),
        "mask": rng.choice(("causal", "causal", "strict", "none")),
        "scale": rng.choice(("none", "sqrt", exact("1/3"))),
        "final_norm": rng.random() < 0.3,
        "positions": rng.choice(("table", "table", "sinusoidal", "none")),
        "length": length,
        "mlp": rng.choice((0, dim, dim + 1)),
        "activation": rng.choice(("relu", "relu", "identity", "gelu", "gelu_tanh")),
        "unembedding": rng.choice(("tied", "own")),
        "residual": rng.random() < 0.9,
    } | fixed
    if not choices["mlp"]:
        choices["activation"] = None
    normed = choices["norm"] != "none" or choices["final_norm"]
    choices["epsilon"] = fixed.get("epsilon", exact(rng.choice(("0", "1e-5")))) if normed else None
    return Config(**choices)  # type: ignore[arg-type]


def random_model(rng: random.Random, config: Config | None = None, **fixed: object) -> Model:
    c = config or random_config(rng, **fixed)  # type: ignore[arg-type]

    def some(*shape: int) -> Array:
        return random_array(rng, *shape)

    def maybe(*shape: int) -> Array | None:
        return some(*shape) if rng.random() < 0.4 else None

    def norm() -> NormWeights:
        return NormWeights(w=random_array(rng, c.dim, entries=("1/2", "1", "2")), b=random_array(rng, c.dim, entries=("0", "1/2")))

    def block() -> BlockWeights:
        attn = AttentionWeights(
            W_Q=some(c.heads, c.dim, c.head_dim), W_K=some(c.heads, c.dim, c.head_dim), W_V=some(c.heads, c.dim, c.head_dim),
            W_O=some(c.heads, c.head_dim, c.dim), b_Q=maybe(c.heads, c.head_dim), b_K=maybe(c.heads, c.head_dim),
            b_V=maybe(c.heads, c.head_dim), b_O=maybe(c.dim),
        )  # fmt: skip
        mlp = (
            MlpWeights(W_in=some(c.dim, c.mlp), W_out=some(c.mlp, c.dim), b_in=maybe(c.mlp), b_out=maybe(c.dim)) if c.mlp else None
        )
        normed = c.norm != "none"
        return BlockWeights(attn=attn, mlp=mlp, ln1=norm() if normed else None, ln2=norm() if normed and c.mlp else None)

    vocabulary = len(c.vocabulary)
    weights = Weights(
        W_E=some(vocabulary, c.dim),
        W_pos=some(c.length or 4, c.dim) if c.positions == "table" else None,
        blocks=tuple(block() for _ in range(c.blocks)),
        ln_final=norm() if c.final_norm else None,
        W_U=some(c.dim, vocabulary) if c.unembedding == "own" else None,
        b_U=maybe(vocabulary),
    )
    return Model(c, weights)


def random_tokens(rng: random.Random, model: Model, length: int | None = None) -> tuple[str, ...]:
    n = length or rng.randint(1, model.config.length or 4)
    return tuple(rng.choice(model.config.vocabulary) for _ in range(n))
