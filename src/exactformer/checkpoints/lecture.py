"""GPTs as lectures write them: each head a module of its own (`blocks.0.sa.heads.1.key`), ReLU, biases but for queries, keys and
values.

Nothing in the weights shows what scores are multiplied by: head_size**-0.5, or n_embd**-0.5 as in some versions of the code. So
config.json has to say it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from exactformer.checkpoints.buffers import is_mask
from exactformer.checkpoints.decoder import token_names
from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.families import LECTURE
from exactformer.checkpoints.fields import GPT2_ACTIVATIONS, Fields
from exactformer.checkpoints.safetensors import Tensor
from exactformer.checkpoints.tree import Tree
from exactformer.model import AttentionWeights, BlockWeights, Config, ConfigError, MlpWeights, Model, NormWeights, Weights
from exactformer.numbers import Number, sqrt

_FIRST = "token_embedding_table.weight"
_WIDTHS = ("head_size", "n_embd")


def is_lecture(tensors: Mapping[str, Tensor]) -> bool:
    return _FIRST in tensors


def lecture(fields: Fields, tensors: dict[str, Tensor], vocabulary: Sequence[str] | None) -> Model:
    """The model; its heads are put side by side."""
    LECTURE.check(fields.raw, fields.path)
    tree, tokens, length = Tree(fields.path, tensors, "", _FIRST), fields.count("vocab_size"), fields.count("block_size")
    dim, heads = fields.count("n_embd"), fields.count("n_head")
    width, inner = fields.count("head_size", dim // heads or 1), fields.count("n_inner", 4 * dim)
    embedding = tree.get(_FIRST, tokens, dim, fields="vocab_size × n_embd")
    positions = tree.get("position_embedding_table.weight", length, dim, fields="block_size × n_embd")
    norm = partial(_norm, tree, dim)
    blocks = tuple(
        BlockWeights(
            ln1=norm(f"blocks.{n}.ln1"),
            attn=_attention(tree, f"blocks.{n}.sa", heads, width, dim, length),
            ln2=norm(f"blocks.{n}.ln2"),
            mlp=MlpWeights(
                W_in=tree.get(f"blocks.{n}.ffwd.net.0.weight", inner, dim).T,
                b_in=tree.get(f"blocks.{n}.ffwd.net.0.bias", inner),
                W_out=tree.get(f"blocks.{n}.ffwd.net.2.weight", dim, inner).T,
                b_out=tree.get(f"blocks.{n}.ffwd.net.2.bias", dim),
            ),
        )
        for n in range(fields.count("n_layer", least=0))
    )
    ln_final, W_U = norm("ln_f"), tree.get("lm_head.weight", tokens, dim).T
    b_U = tree.get("lm_head.bias", tokens) if "lm_head.bias" in tree.tensors else None
    tree.check_nothing_left()
    try:
        config = Config(
            vocabulary=token_names(fields.path, tokens, vocabulary), dim=dim, heads=heads, head_dim=width, blocks=len(blocks),
            norm="pre", final_norm=True, epsilon=fields.epsilon("layer_norm_epsilon", "1e-5"), mask="causal",
            scale=_scale(fields, width, dim), positions="table", length=length, mlp=inner,
            activation=fields.choice("activation_function", GPT2_ACTIVATIONS, "relu"), unembedding="own",
        )  # fmt: skip
        return Model(config, Weights(W_E=embedding, W_pos=positions, blocks=blocks, ln_final=ln_final, W_U=W_U, b_U=b_U))
    except ConfigError as error:
        raise CheckpointError(fields.path.parent, str(error)) from None


def _scale(fields: Fields, width: int, dim: int) -> Number | Literal["sqrt"]:
    """1/√head_size or 1/√n_embd; where both are the same number, nobody has to say which."""
    if width == dim and fields.get("scale") is None:
        return "sqrt"
    if fields.get("scale") is None:
        problem = 'is missing, and the weights do not show it: "head_size" if the code has head_size**-0.5 or k.shape[-1]**-0.5'
        raise fields.error("scale", f'{problem}, "n_embd" if it has C**-0.5 or n_embd**-0.5')
    return "sqrt" if fields.one_of("scale", _WIDTHS) == "head_size" or width == dim else 1 / sqrt(dim)


def _norm(tree: Tree, dim: int, name: str) -> NormWeights:
    return NormWeights(w=tree.get(f"{name}.weight", dim), b=tree.get(f"{name}.bias", dim))


def _attention(tree: Tree, at: str, heads: int, width: int, dim: int, length: int) -> AttentionWeights:
    def stacked(name: str) -> Any:
        return np.stack([tree.get(f"{at}.heads.{h}.{name}.weight", width, dim).T for h in range(heads)])  # [heads, dim, width]

    for h in range(heads):
        if (mask := f"{at}.heads.{h}.tril") in tree.left:
            if not is_mask(tree.tensors[mask], length):
                raise tree.error(mask, "is not the causal mask")
            tree.left.discard(mask)
    return AttentionWeights(
        W_Q=stacked("query"), W_K=stacked("key"), W_V=stacked("value"),
        W_O=tree.get(f"{at}.proj.weight", dim, heads * width).T.reshape(heads, width, dim), b_O=tree.get(f"{at}.proj.bias", dim),
    )  # fmt: skip
