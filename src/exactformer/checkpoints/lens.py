"""Models as TransformerLens saves them: separate heads, weights under the names that ours have, norms or none.

A folder has `model.safetensors` (the state of a HookedTransformer) and `config.json` (its configuration as a dictionary).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exactformer.checkpoints.buffers import hides
from exactformer.checkpoints.decoder import token_names
from exactformer.checkpoints.errors import CheckpointError
from exactformer.checkpoints.families import Family
from exactformer.checkpoints.fields import Fields
from exactformer.checkpoints.safetensors import Tensor
from exactformer.checkpoints.tree import Tree
from exactformer.messages import listed
from exactformer.model import Config, ConfigError, Model
from exactformer.model.arithmetics.roles import Activation
from exactformer.model.weights import assembled, declared
from exactformer.reading import described, json_value, read_regular

_ACTIVATIONS: Mapping[str, Activation] = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh",
    "silu": "silu",
}  # fmt: skip
LENS_NAMES = {"W_E": "embed.W_E", "W_pos": "pos_embed.W_pos", "W_U": "unembed.W_U", "b_U": "unembed.b_U"}
OUTPUTS = "outputs.json"  # beside config.json: what outputs are called that are not the vocabulary
_SAME = (None, 0, -1)  # of d_vocab_out: as d_vocab
_LARGEST = 1 << 26
_BUFFER = re.compile(r"blocks\.[0-9]+\.attn\.(mask|IGNORE)")
_READ = frozenset({
    "act_fn", "attention_dir", "attn_only", "attn_scale", "attn_scores_soft_cap", "d_head", "d_mlp", "d_model", "d_vocab",
    "d_vocab_out", "eps", "n_ctx", "n_heads", "n_layers", "normalization_type", "output_logits_soft_cap", "parallel_attn_mlp",
    "positional_embedding_type", "scale_attn_by_inverse_layer_idx", "use_attn_scale",
})  # fmt: skip
_HARMLESS = frozenset({
    "attn_types", "checkpoint_index", "checkpoint_label_type", "checkpoint_value", "decoder_start_token_id", "default_prepend_bos",
    "device", "dtype", "from_checkpoint", "init_mode", "init_weights", "initializer_range", "load_in_4bit", "model_name",
    "n_devices", "n_params", "original_architecture", "relative_attention_max_distance", "relative_attention_num_buckets",
    "rotary_adjacent_pairs", "rotary_base", "rotary_base_local", "rotary_dim", "seed", "tokenizer_name", "tokenizer_prepends_bos",
    "trust_remote_code", "ungroup_grouped_query_attention", "use_attn_in", "use_attn_result", "use_hook_mlp_in",
    "use_hook_tokens", "use_split_qkv_input", "window_size",
})  # fmt: skip
TRANSFORMER_LENS = Family(
    "TransformerLens",
    _READ,
    _HARMLESS,
    {
        "experts_per_token": (None,), "final_rms": (False,), "gated_mlp": (False,), "n_key_value_heads": (None,),
        "norm_topk_prob": (False,), "num_experts": (None,), "post_embedding_ln": (False,), "tie_word_embeddings": (False,),
        "use_NTK_by_parts_rope": (False,), "use_local_attn": (False,), "use_normalization_before_and_after": (False,),
        "use_qk_norm": (False,),
    },
)  # fmt: skip


def is_lens(fields: Fields) -> bool:
    return "d_model" in fields.raw and "n_ctx" in fields.raw and "model_type" not in fields.raw


def lens(fields: Fields, tensors: dict[str, Tensor] | None, vocabulary: Sequence[str] | None) -> Model:
    """The model; without tensors, its weights are shapes alone."""
    TRANSFORMER_LENS.check(fields.raw, fields.path)
    _check_needed(fields)
    tokens, tree = fields.count("d_vocab"), Tree(fields.path, tensors, "", "embed.W_E")
    said = tokens if fields.get("d_vocab_out") in _SAME else fields.count("d_vocab_out")
    if tensors is not None:  # before names are made for so many tokens
        tree.get("embed.W_E", tokens, fields.count("d_model"), fields="d_vocab × d_model")
        tree.get("unembed.W_U", fields.count("d_model"), said, fields="d_model × d_vocab_out")
    try:
        outputs = _outputs(fields, tokens, said, vocabulary)
        config = Config(vocabulary=token_names(fields.path, tokens, vocabulary), outputs=outputs, **_choices(fields))
        known = declared(config)
        values = {name: _value(tree, name, weight.shape) for name, weight in known.items() if not _folded(fields, name)}
        values |= {name: known[name].usual(config) for name in known if _folded(fields, name)}  # type: ignore[misc]
        _check_buffers(tree, config)
        tree.check_nothing_left()
        return Model(config, assembled(config, {name: value for name, value in values.items() if value is not None}))
    except ConfigError as error:
        raise CheckpointError(fields.path.parent, str(error)) from None


def _check_needed(fields: Fields) -> None:
    """All that is missing is named at once."""
    needed = ["n_layers", "d_model", "d_head", "d_vocab", "n_ctx", *["act_fn"] * (fields.get("attn_only") is not True)]
    if missing := [name for name in needed if fields.get(name) is None]:
        raise fields.error(listed(missing), "is missing" if len(missing) == 1 else "are missing")


def _outputs(fields: Fields, tokens: int, said: int, vocabulary: Sequence[str] | None) -> tuple[str, ...]:
    """Names for what is said: those of outputs.json; () where that is the vocabulary.

    Without names they are numbers: where the tokens are numbers too, output n is token n, as TransformerLens feeds outputs back.
    """
    path = fields.path.parent / OUTPUTS
    if path.exists():
        names = json_value(read_regular(path, _LARGEST, "a list of names", CheckpointError), CheckpointError, path)
        if not isinstance(names, list) or not all(type(name) is str for name in names):
            raise CheckpointError(path, "is not a list of texts")
        if len(names) != said:
            raise CheckpointError(path, f"has {len(names):,} names, and the model says {said:,} tokens (d_vocab_out)")
        return tuple(names)
    if said == tokens:
        return ()
    return token_names(fields.path, said, None if vocabulary is None else ())


def _choices(fields: Fields) -> dict[str, Any]:
    kind, positions = fields.get("normalization_type"), fields.get("positional_embedding_type")
    if kind not in (None, "LN", "LNPre"):
        raise fields.error("normalization_type", f"{described(kind)} is not supported; supported: null, LN, LNPre")
    if positions not in (None, "standard"):
        raise fields.error("positional_embedding_type", f"{described(positions)} is not supported; supported: standard")
    if fields.get("attention_dir") not in (None, "causal", "bidirectional"):
        raise fields.error("attention_dir", "is neither causal nor bidirectional")
    alone, scaled = fields.flag("attn_only", False), fields.flag("use_attn_scale", True)
    dim, width = fields.count("d_model"), fields.count("d_head")
    return {
        "dim": dim, "head_dim": width, "heads": fields.count("n_heads", dim // width), "blocks": fields.count("n_layers", least=0),
        "length": fields.count("n_ctx"), "positions": "table",
        "mask": "none" if fields.get("attention_dir") == "bidirectional" else "causal",
        "scale": _scale(fields, width) if scaled else "none",
        "scale_by_block": fields.flag("scale_attn_by_inverse_layer_idx", False),
        "norm": "none" if kind is None else "pre", "final_norm": kind is not None,
        "epsilon": None if kind is None else fields.epsilon("eps", "1e-5"),
        "mlp": 0 if alone else fields.count("d_mlp", 4 * dim),
        "activation": None if alone else fields.choice("act_fn", _ACTIVATIONS), "unembedding": "own",
        "parallel": fields.flag("parallel_attn_mlp", False),
        "score_cap": _cap(fields, "attn_scores_soft_cap"), "logit_cap": _cap(fields, "output_logits_soft_cap"),
    }  # fmt: skip


def _scale(fields: Fields, width: int) -> Any:
    """Scores are divided by `attn_scale`: a float near √d_head means that root, another number itself."""
    given = fields.get("attn_scale")
    if given is None or abs(float(fields.number("attn_scale").fraction) - width**0.5) < 1e-6 or fields.number("attn_scale") <= 0:
        return "sqrt"
    return 1 / fields.number("attn_scale")


def _cap(fields: Fields, name: str) -> Any:
    """−1 stands for none."""
    number = None if fields.get(name) is None else fields.number(name)
    return number if number is not None and number > 0 else None


def _folded(fields: Fields, name: str) -> bool:
    """With LNPre, gains and shifts of norms are in the matrices that follow."""
    part = name.split(".")[-2] if "." in name else ""
    return fields.get("normalization_type") == "LNPre" and part in ("ln1", "ln2", "ln_final")


def _value(tree: Tree, name: str, shape: tuple[int, ...]) -> Any:
    """Every bias has its tensor there, also where it is 0; where there is none, the model has none."""
    called = LENS_NAMES.get(name, name)
    missing = not tree.shapes_alone and called not in tree.tensors
    return None if missing and re.fullmatch(r"(.*\.)?b_[A-Zinout_]+", name) else tree.get(called, *shape)


def _check_buffers(tree: Tree, config: Config) -> None:
    """Masks and what hidden scores are set to, which are saved with the weights."""
    for name in sorted(tree.left):
        if (buffer := _BUFFER.fullmatch(name)) is not None:
            tensor = tree.tensors[name]
            if not (_is_mask(tensor, config) if buffer[1] == "mask" else hides(tensor)):
                raise tensor.error("is not the mask that config.json describes")
            tree.left.discard(name)


def _is_mask(tensor: Tensor, config: Config) -> bool:
    length = config.length or 0
    return tensor.shape == (length, length) and np.array_equal(
        tensor.array(mask=True) != 0, config.sight_at(0).seen(length, length)
    )
