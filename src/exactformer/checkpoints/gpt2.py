"""A GPT-2-shaped model from its settings and its tensors. Its weights are views of the tensors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from exactformer.checkpoints.buffers import hides, is_mask
from exactformer.checkpoints.decoder import token_names
from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.safetensors import Tensor
from exactformer.checkpoints.settings import Settings
from exactformer.checkpoints.tree import Tree
from exactformer.model import AttentionWeights, BlockWeights, Config, ConfigError, MlpWeights, Model, NormWeights, Weights

_BUFFER = re.compile(r"h\.[0-9]+\.attn\.(bias|masked_bias)")  # the causal mask, which older versions saved with the weights


def gpt2(given: Settings, tensors: dict[str, Tensor] | None, vocabulary: Sequence[str] | None = None) -> Model:
    """The model. Without a vocabulary, tokens are called "0", "1", …; one that is too short is continued "[5]", "[6]", …

    Without tensors, its weights are shapes alone.
    """
    tree = _Tree(given, tensors)
    width, heads = given.n_embd, given.n_head
    embedding = tree.get("wte.weight", given.vocab_size, width, fields="vocab_size × n_embd")
    positions = tree.get("wpe.weight", given.n_positions, width, fields="n_positions × n_embd")
    head = _head(tree, embedding)
    blocks = tuple(_block(tree, f"h.{n}") for n in range(given.n_layer))
    ln_final = tree.norm("ln_f")
    tree.check_masks()
    tree.check_nothing_left()
    try:
        config = Config(
            vocabulary=token_names(given.path, given.vocab_size, vocabulary), dim=width, heads=heads, blocks=given.n_layer,
            norm="pre", final_norm=True, epsilon=given.epsilon, mask="causal", scale="sqrt" if given.scale_attn_weights else "none",
            scale_by_block=given.scale_attn_by_inverse_layer_idx, positions="table", length=given.n_positions, mlp=given.n_inner,
            activation=given.activation, unembedding="none" if given.head == "none" else "tied" if head is None else "own",
        )  # fmt: skip
        return Model(config, Weights(W_E=embedding, W_pos=positions, blocks=blocks, ln_final=ln_final, W_U=head))
    except ConfigError as error:
        raise CheckpointError(given.path.parent, str(error)) from None


class _Tree(Tree):
    def __init__(self, given: Settings, tensors: dict[str, Tensor] | None) -> None:
        super().__init__(given.path, tensors, "transformer.", "wte.weight")
        self.given = given
        self.transposed = self._transposed()

    def matrix(self, name: str, rows: int, columns: int) -> Any:
        """[rows, columns], whichever way it is stored: x W of the transformers library, or x Wᵀ of a linear layer."""
        return self.get(name, columns, rows).T if self.transposed else self.get(name, rows, columns)

    def bias(self, name: str, size: int) -> Any | None:
        return self.get(name, size) if self.given.biases else None

    def norm(self, name: str) -> NormWeights:
        size = self.given.n_embd
        w, b = self.get(f"{name}.weight", size), self.bias(f"{name}.bias", size)
        return NormWeights(w=w, b=np.zeros(size, dtype=w.dtype) if b is None else b)

    def _transposed(self) -> bool:
        """The matrix for queries, keys and values is never square, so it shows which way all matrices are stored."""
        width, name = self.given.n_embd, "h.0.attn.c_attn.weight"
        return name in self.tensors and self.tensors[name].shape == (3 * width, width)

    def check_masks(self) -> None:
        for name in sorted(self.left):
            if (buffer := _BUFFER.fullmatch(name)) is not None:
                tensor = self.tensors[name]
                if not (is_mask(tensor, self.given.n_positions) if buffer[1] == "bias" else hides(tensor)):
                    raise tensor.error("is not the causal mask, which older versions saved under this name")
                self.left.discard(name)


def _block(tree: _Tree, name: str) -> BlockWeights:
    width, heads, inner = tree.given.n_embd, tree.given.n_head, tree.given.n_inner
    joint = tree.matrix(f"{name}.attn.c_attn.weight", width, 3 * width)  # queries, keys and values side by side
    biases = tree.bias(f"{name}.attn.c_attn.bias", 3 * width)
    thirds = {letter: slice(n * width, (n + 1) * width) for n, letter in enumerate("QKV")}
    attention = {f"W_{letter}": joint[:, part].reshape(width, heads, -1).transpose(1, 0, 2) for letter, part in thirds.items()}
    if biases is not None:
        attention |= {f"b_{letter}": biases[part].reshape(heads, -1) for letter, part in thirds.items()}
    return BlockWeights(
        ln1=tree.norm(f"{name}.ln_1"),
        attn=AttentionWeights(
            **attention,
            W_O=tree.matrix(f"{name}.attn.c_proj.weight", width, width).reshape(heads, -1, width),
            b_O=tree.bias(f"{name}.attn.c_proj.bias", width),
        ),
        ln2=tree.norm(f"{name}.ln_2"),
        mlp=MlpWeights(
            W_in=tree.matrix(f"{name}.mlp.c_fc.weight", width, inner),
            W_out=tree.matrix(f"{name}.mlp.c_proj.weight", inner, width),
            b_in=tree.bias(f"{name}.mlp.c_fc.bias", inner),
            b_out=tree.bias(f"{name}.mlp.c_proj.bias", width),
        ),
    )


def _head(tree: _Tree, embedding: Any) -> Any | None:
    """The unembedding [dim, vocabulary] where the model has one of its own."""
    given, name = tree.given, "lm_head.weight"
    if given.head == "tied":
        tree.check_tied(name, "wte.weight", embedding)
    if given.head in ("tied", "none") or (given.head == "as found" and name not in tree.tensors):
        return None
    head = tree.get(name, given.vocab_size, given.n_embd)
    return head.T if given.head == "own" or not np.array_equal(head, embedding, equal_nan=True) else None
