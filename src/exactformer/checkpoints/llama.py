"""Llama and the families that differ from it in a few fields: Mistral, Qwen2, Qwen3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactformer.checkpoints.decoder import Biased, Names, Plan, read_head
from exactformer.checkpoints.families import FIXED, HARMLESS, Family
from exactformer.checkpoints.fields import ACTIVATIONS, Fields
from exactformer.checkpoints.rope import read_rope
from exactformer.reading import described

SIZES = frozenset({
    "head_dim", "hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
    "num_key_value_heads", "vocab_size",
})  # fmt: skip
ROPE = frozenset({"partial_rotary_factor", "rope_parameters", "rope_scaling", "rope_theta"})
_READ = SIZES | ROPE | {"architectures", "hidden_act", "model_type", "rms_norm_eps", "tie_word_embeddings"}
_HARMLESS = HARMLESS | {"attention_dropout", "pretraining_tp"}  # the latter splits a matrix product, and adds the parts up again
_WINDOWS = frozenset({"layer_types", "max_window_layers", "sliding_window", "use_sliding_window"})
_UNBIASED: dict[str, tuple[object, ...]] = {"attention_bias": (False,), "mlp_bias": (False,)}

LLAMA = Family("llama", read=_READ | {"attention_bias", "mlp_bias"}, harmless=_HARMLESS, fixed=FIXED)
MISTRAL = Family("mistral", read=_READ | {"sliding_window"}, harmless=_HARMLESS, fixed={**FIXED, **_UNBIASED})
QWEN2 = Family("qwen2", read=_READ | _WINDOWS, harmless=_HARMLESS, fixed={**FIXED, "mlp_bias": (False,)})
QWEN3 = Family("qwen3", read=_READ | _WINDOWS | {"attention_bias"}, harmless=_HARMLESS, fixed={**FIXED, "mlp_bias": (False,)})

_NAMES = Names(frequencies="self_attn.rotary_emb.inv_freq")
_QWEN3_NAMES = Names(q_norm="self_attn.q_norm", k_norm="self_attn.k_norm")


def llama(fields: Fields) -> Plan:
    LLAMA.check(fields.raw, fields.path)
    heads = fields.count("num_attention_heads")
    biases: set[Biased] = {"qkv", "out"} if fields.flag("attention_bias", False) else set()
    biases |= {"mlp"} if fields.flag("mlp_bias", False) else set()
    if biases and fields.get("pretraining_tp") not in (None, 1):
        raise fields.error("pretraining_tp", "is not 1, and there are biases, which some versions of the library left out")
    return Plan(**_common(fields, "Llama", heads), names=_NAMES, biases=frozenset(biases))


def mistral(fields: Fields) -> Plan:
    """Every block has the window, where there is one."""
    MISTRAL.check(fields.raw, fields.path)
    if "sliding_window" not in fields.raw:
        raise fields.error("sliding_window", "is missing: null says that there is none")
    return Plan(**_common(fields, "Mistral"), names=_NAMES, window=window(fields))


def qwen2(fields: Fields) -> Plan:
    QWEN2.check(fields.raw, fields.path)
    return Plan(**_common(fields, "Qwen2"), **_qwen_windows(fields), names=Names(), biases=frozenset({"qkv"}))


def qwen3(fields: Fields) -> Plan:
    QWEN3.check(fields.raw, fields.path)
    biases: frozenset[Biased] = frozenset({"qkv", "out"} if fields.flag("attention_bias", False) else ())
    common = _common(fields, "Qwen3", usual_head_dim=128, qk_norm=True)
    return Plan(**common, **_qwen_windows(fields), names=_QWEN3_NAMES, biases=biases)


def _common(
    fields: Fields, name: str, usual_kv_heads: int | None = None, usual_head_dim: int | None = None, **more: Any
) -> dict[str, Any]:
    """What these families have in common, as parts of a plan."""
    sizes = read_sizes(fields, usual_kv_heads, usual_head_dim)
    return sizes | {
        "head": read_head(fields, f"{name}ForCausalLM", f"{name}Model", tied=False),
        "rope": read_rope(fields, sizes["head_dim"]),
        "fields": {
            "norm_kind": "rms", "epsilon": fields.epsilon("rms_norm_eps", "1e-6"), "scale": "sqrt", "mlp_kind": "gated",
            "activation": fields.choice("hidden_act", ACTIVATIONS, "silu"), **more,
        },
    }  # fmt: skip


def read_sizes(fields: Fields, usual_kv_heads: int | None = None, usual_head_dim: int | None = None) -> dict[str, Any]:
    """The sizes of a plan. Those of keys and of heads may have a usual value, where a file leaves them out."""
    dim, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    if "num_key_value_heads" in fields.raw and fields.get("num_key_value_heads") is None:
        usual_kv_heads = heads
    kv_heads = fields.count("num_key_value_heads", usual_kv_heads)
    if heads % kv_heads:
        raise fields.error("num_key_value_heads", f"{kv_heads} heads of keys do not divide the {heads} heads of queries")
    if fields.get("head_dim") is None and usual_head_dim is None and dim % heads:
        raise fields.error("num_attention_heads", f"{heads} heads do not divide hidden_size, which is {dim}")
    head_dim = fields.count("head_dim", usual_head_dim or dim // heads)
    if head_dim % 2:
        raise fields.error("head_dim", f"{head_dim} is odd: its dimensions cannot be turned in pairs")
    return {
        "path": fields.path, "dim": dim, "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim,
        "vocabulary": fields.count("vocab_size"), "blocks": fields.count("num_hidden_layers", least=0),
        "mlp": fields.count("intermediate_size"), "length": fields.count("max_position_embeddings"),
    }  # fmt: skip


def window(fields: Fields) -> int:
    """How many positions a block with a window sees; null: all, which is 0 here."""
    return 0 if fields.get("sliding_window") is None else fields.count("sliding_window")


def layer_types(fields: Fields, usual: Callable[[int], bool]) -> Callable[[int], bool]:
    """Which blocks have the window: as `layer_types` says, or as usual."""
    listed, blocks = fields.get("layer_types"), fields.count("num_hidden_layers", least=0)
    if listed is None:
        return usual
    if not isinstance(listed, list) or len(listed) != blocks:
        raise fields.error("layer_types", f"is not a list of {blocks} kinds of attention, one for each layer")
    for kind in listed:
        if kind not in ("full_attention", "sliding_attention"):
            raise fields.error("layer_types", f"{described(kind)} is not supported; supported: full_attention, sliding_attention")
    slides = tuple(kind == "sliding_attention" for kind in listed)
    return lambda block: slides[block]


def _qwen_windows(fields: Fields) -> dict[str, Any]:
    """A window from block `max_window_layers` on, unless `layer_types` says which blocks have one."""
    first = fields.count("max_window_layers", 28, least=0)
    if not fields.flag("use_sliding_window", False):
        listed = fields.get("layer_types")
        if isinstance(listed, list) and "sliding_attention" in listed:
            raise fields.error("layer_types", "has sliding_attention, though use_sliding_window is not true")
        layer_types(fields, lambda block: False)
        return {}
    if "sliding_window" not in fields.raw:
        raise fields.error("sliding_window", "is missing, though use_sliding_window is true")
    size = window(fields)
    slides = layer_types(fields, lambda block: block >= first)
    listed = fields.get("layer_types")
    if not size and listed is not None and "sliding_attention" in listed:
        raise fields.error("layer_types", "has sliding_attention, though sliding_window is null")
    return {"window": size, "slides": slides}
