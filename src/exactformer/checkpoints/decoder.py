"""A model of the transformers library from a plan: what its config.json says, and what its tensors are called.

Linear layers store their matrices as [out, in]. The weights of the model are views of them, cut into heads without copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from exactformer.checkpoints.buffers import are_frequencies, hides, is_mask
from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.fields import Fields
from exactformer.checkpoints.rope import Reading, Rope
from exactformer.checkpoints.safetensors import Tensor
from exactformer.checkpoints.tree import Tree
from exactformer.model import AttentionWeights, BlockWeights, Config, ConfigError, MlpWeights, Model, NormWeights, Weights
from exactformer.model.layers.norm import HeadNormWeights
from exactformer.numbers import Exact, exact, from_float
from exactformer.reading import described

Biased = Literal["qkv", "out", "mlp", "head"]


@dataclass(frozen=True, kw_only=True)
class Names:
    """What the tensors of a family are called. An empty name: there is no such tensor."""

    prefix: str = "model."
    embedding: str = "embed_tokens"
    positions: str = ""
    block: str = "layers.{}."
    ln1: str = "input_layernorm"
    ln1_post: str = ""
    ln2: str = "post_attention_layernorm"
    ln2_post: str = ""
    q: str = "self_attn.q_proj"
    k: str = "self_attn.k_proj"
    v: str = "self_attn.v_proj"
    qkv: str = ""  # head by head queries, keys and values, in one
    out: str = "self_attn.o_proj"
    q_norm: str = ""
    k_norm: str = ""
    gate: str = "mlp.gate_proj"
    mlp_in: str = "mlp.up_proj"
    mlp_out: str = "mlp.down_proj"
    activation: str = ""  # a module without tensors, where one has the output that our step has
    ln_final: str = "norm"
    head: str = "lm_head"
    masks: str = ""  # where older versions saved masks: `bias` and `masked_bias`
    frequencies: str = ""  # and frequencies


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a config.json says, in the words of `Config`. Sizes are asked of the tensors before anything is made that large."""

    path: Path
    names: Names
    vocabulary: int
    dim: int
    blocks: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp: int
    length: int
    head: Literal["tied", "own", "none"]
    fields: dict[str, Any]  # of `Config`, that follow from config.json alone
    biases: frozenset[Biased] = frozenset()
    rope: Rope | None = None
    window: int = 0
    window_rope: Rope | None = None  # where blocks with a window turn otherwise
    slides: Callable[[int], bool] = field(default=lambda block: True)  # which blocks have the window, where there is one
    root_scale: bool = False  # are embeddings multiplied by √dim?


def build(plan: Plan, tensors: dict[str, Tensor] | None, vocabulary: Sequence[str] | None, reading: Reading) -> Model:
    """The model. Without a vocabulary, tokens are called "0", "1", …; one that is too short is continued "[5]", "[6]", …

    Without tensors, its weights are shapes alone.
    """
    names = plan.names
    tree = Tree(plan.path, tensors, names.prefix, f"{names.embedding}.weight")
    embedding = tree.get(f"{names.embedding}.weight", plan.vocabulary, plan.dim, fields="vocab_size × hidden_size")
    positions = tree.get(f"{names.positions}.weight", plan.length, plan.dim) if names.positions else None
    blocks = tuple(_block(plan, tree, n) for n in range(plan.blocks))
    ln_final = _norm(plan, tree, names.ln_final)
    head = None
    if plan.head == "own":
        head = tree.get(f"{names.head}.weight", plan.vocabulary, plan.dim, fields="vocab_size × hidden_size").T
    elif plan.head == "tied":
        tree.check_tied(f"{names.head}.weight", f"{names.embedding}.weight", embedding)
    head_bias = tree.get(f"{names.head}.bias", plan.vocabulary) if "head" in plan.biases and plan.head != "none" else None
    try:
        config = Config(
            vocabulary=token_names(plan.path, plan.vocabulary, vocabulary), dim=plan.dim, blocks=plan.blocks, heads=plan.heads,
            kv_heads=plan.kv_heads, head_dim=plan.head_dim, mlp=plan.mlp, length=plan.length, norm="pre", final_norm=True,
            mask="causal", unembedding=plan.head, **_windows(plan, reading), **_rotary(plan, reading),
            embedding_scale=_embedding_scale(plan, tree, reading), **plan.fields,
        )  # fmt: skip
        _check_buffers(plan, config, tree)
        tree.check_nothing_left()
        return Model(config, Weights(W_E=embedding, W_pos=positions, blocks=blocks, ln_final=ln_final, W_U=head, b_U=head_bias))
    except ConfigError as error:
        raise CheckpointError(plan.path.parent, str(error)) from None


def reading_in_words(plan: Plan, reading: Reading) -> str:
    """How constants are read that are real numbers, in one text for descriptions and certificates."""
    if plan.rope is None:
        return ""
    kinds = {rope.kind for rope in (plan.rope, plan.window_rope) if rope is not None} - {"default"}
    power = f"base^(−2i/d){''.join(f', scaled ({kind})' for kind in sorted(kinds))}"
    angles = (
        f"position · {power}, real numbers" if reading == "ideal" else f"position times the float32 number computed for {power}"
    )
    said = f"{reading}: rotary angles are {angles}"
    if not plan.root_scale:
        return said
    scale = "√dim" if reading == "ideal" else "√dim rounded to float32 and then to the type of the embedding"
    return f"{said}; embeddings are multiplied by {scale}"


def _block(plan: Plan, tree: Tree, n: int) -> BlockWeights:
    names, at = plan.names, plan.names.block.format(n)
    return BlockWeights(
        ln1=_norm(plan, tree, at + names.ln1),
        ln1_post=_norm(plan, tree, at + names.ln1_post) if names.ln1_post else None,
        ln2=_norm(plan, tree, at + names.ln2) if names.ln2 else None,
        ln2_post=_norm(plan, tree, at + names.ln2_post) if names.ln2_post else None,
        attn=_attention(plan, tree, at),
        mlp=MlpWeights(
            W_in=tree.get(f"{at}{names.mlp_in}.weight", plan.mlp, plan.dim).T,
            W_out=tree.get(f"{at}{names.mlp_out}.weight", plan.dim, plan.mlp).T,
            W_gate=tree.get(f"{at}{names.gate}.weight", plan.mlp, plan.dim).T if names.gate else None,
            b_in=_bias(plan, tree, f"{at}{names.mlp_in}", plan.mlp, "mlp"),
            b_out=_bias(plan, tree, f"{at}{names.mlp_out}", plan.dim, "mlp"),
            b_gate=_bias(plan, tree, f"{at}{names.gate}", plan.mlp, "mlp") if names.gate else None,
        ),
    )


def _attention(plan: Plan, tree: Tree, at: str) -> AttentionWeights:
    names, dim, width = plan.names, plan.dim, plan.head_dim
    given: dict[str, Any] = {}
    if names.qkv:
        joint = tree.get(f"{at}{names.qkv}.weight", plan.heads * 3 * width, dim).reshape(plan.heads, 3, width, dim)
        biases = _bias(plan, tree, f"{at}{names.qkv}", plan.heads * 3 * width, "qkv")
        for n, letter in enumerate("QKV"):
            given[f"W_{letter}"] = joint[:, n].transpose(0, 2, 1)  # [heads, dim, head_dim]
            given[f"b_{letter}"] = None if biases is None else biases.reshape(plan.heads, 3, width)[:, n]
    else:
        for letter, name, heads in (("Q", names.q, plan.heads), ("K", names.k, plan.kv_heads), ("V", names.v, plan.kv_heads)):
            matrix = tree.get(f"{at}{name}.weight", heads * width, dim)
            bias = _bias(plan, tree, f"{at}{name}", heads * width, "qkv")
            given[f"W_{letter}"] = matrix.reshape(heads, width, dim).transpose(0, 2, 1)
            given[f"b_{letter}"] = None if bias is None else bias.reshape(heads, width)
    for part, name in (("q_norm", names.q_norm), ("k_norm", names.k_norm)):
        if name:
            given[part] = HeadNormWeights(w=tree.get(f"{at}{name}.weight", width))
    out = tree.get(f"{at}{names.out}.weight", dim, plan.heads * width)
    return AttentionWeights(
        **given,
        W_O=out.reshape(dim, plan.heads, width).transpose(1, 2, 0),  # [heads, head_dim, dim]
        b_O=_bias(plan, tree, f"{at}{names.out}", dim, "out"),
    )


def _bias(plan: Plan, tree: Tree, name: str, size: int, kind: Biased) -> Any | None:
    return tree.get(f"{name}.bias", size) if kind in plan.biases else None


def _norm(plan: Plan, tree: Tree, name: str) -> NormWeights:
    rms = plan.fields["norm_kind"] == "rms"
    return NormWeights(w=tree.get(f"{name}.weight", plan.dim), b=None if rms else tree.get(f"{name}.bias", plan.dim))


def _check_buffers(plan: Plan, config: Config, tree: Tree) -> None:
    """Tables of older versions are what they should be."""
    for n in range(plan.blocks):
        at, rotary = plan.names.block.format(n), config.rotary_at(n)
        checks: dict[str, Callable[[Tensor], bool]] = {}
        if plan.names.masks:
            window = config.sight_at(n).window
            checks[f"{at}{plan.names.masks}.bias"] = partial(is_mask, length=plan.length, window=window)
            checks[f"{at}{plan.names.masks}.masked_bias"] = hides
        if plan.names.frequencies and rotary is not None:
            checks[f"{at}{plan.names.frequencies}"] = partial(are_frequencies, frequencies=rotary.frequencies)
        for name, fits in checks.items():
            if name in tree.left and not fits(tree.tensors[name]):
                raise tree.error(name, f"is not what older versions saved under this name for this {plan.path.name}")
            tree.left.discard(name)


def _windows(plan: Plan, reading: Reading) -> dict[str, Any]:
    full = tuple(n for n in range(plan.blocks) if not plan.slides(n))
    if not plan.window or len(full) == plan.blocks:
        return {}
    turned = {} if plan.window_rope is None else _angles("window_", plan.window_rope, reading)
    return {"window": plan.window, "full_blocks": full} | turned


def _rotary(plan: Plan, reading: Reading) -> dict[str, Any]:
    if plan.rope is None:
        return {"positions": "table" if plan.names.positions else "none"}
    given = {"positions": "rotary", "rotary_pairs": "halves", "rotary_fraction": exact(plan.rope.width) / plan.head_dim}
    return given | _angles("", plan.rope, reading)


def _angles(prefix: str, rope: Rope, reading: Reading) -> dict[str, Any]:
    given: dict[str, Any] = {f"{prefix}rotary_base": rope.base}
    if reading == "stored" or rope.kind != "default":
        given[f"{prefix}rotary_frequencies"] = rope.frequencies(reading)
    return given


def _embedding_scale(plan: Plan, tree: Tree, reading: Reading) -> Exact | Literal["none", "sqrt"]:
    """√dim, or the float that the library multiplies by: √dim as a float32, and then in the type of the embedding."""
    if not plan.root_scale:
        return "none"
    if reading == "ideal":
        return "sqrt"
    kind = tree.tensors[f"{plan.names.embedding}.weight"].dtype
    return from_float(_rounded(float(np.float32(plan.dim**0.5)), kind))


def _rounded(value: float, kind: str) -> float:
    """A float32 in the type of a tensor, to the nearest, of two the even one."""
    if kind != "BF16":
        return float(np.array(value, dtype={"F16": "f2", "F32": "f4", "F64": "f8"}[kind]))
    bits = int(np.float32(value).view(np.uint32))
    bits += 0x7FFF + (bits >> 16 & 1)
    return float(np.uint32(bits & 0xFFFF0000).view(np.float32))


def token_names(path: Path, size: int, vocabulary: Sequence[str] | None) -> tuple[str, ...]:
    """A name for each of so many tokens."""
    if vocabulary is None:
        return tuple(map(str, range(size)))
    if len(vocabulary) > size:
        raise CheckpointError(path, "vocab_size", f"is {size:,}, but the tokenizer has {len(vocabulary):,} tokens")
    return (*vocabulary, *(f"[{n}]" for n in range(len(vocabulary), size)))


def read_head(fields: Fields, model: str, body: str, tied: bool) -> Literal["tied", "own", "none"]:
    """`architectures` names the model with its head, or the body alone; without it, there is a head."""
    named = fields.get("architectures")
    name = named[0] if isinstance(named, list) and len(named) == 1 else None
    if named is not None and name not in (model, body):
        raise fields.error("architectures", f"{described(name or named)} is not supported; supported: {model}, {body}")
    if name == body:
        return "none"
    return "tied" if fields.flag("tie_word_embeddings", tied) else "own"
