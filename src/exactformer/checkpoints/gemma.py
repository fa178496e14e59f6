"""Gemma, Gemma 2 and the text model of Gemma 3: gains 1 + w, embeddings times √dim; then soft caps, windows, four norms a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exactformer.checkpoints.decoder import Biased, Names, Plan, read_head
from exactformer.checkpoints.families import FIXED, HARMLESS, Family
from exactformer.checkpoints.fields import ACTIVATIONS, Fields
from exactformer.checkpoints.llama import ROPE, SIZES, layer_types, read_sizes, window
from exactformer.checkpoints.rope import Rope, read_rope
from exactformer.model.arithmetics.roles import Activation
from exactformer.numbers import Exact, Number, sqrt
from exactformer.reading import described

_READ = SIZES | ROPE | {
    "architectures", "attention_bias", "hidden_act", "hidden_activation", "model_type", "rms_norm_eps", "tie_word_embeddings",
}  # fmt: skip
_HARMLESS = HARMLESS | {"attention_dropout", "cache_implementation"}
_FIXED: dict[str, tuple[object, ...]] = {**FIXED, "use_bidirectional_attention": (False, None), "mlp_bias": (False,)}
_LATER = frozenset({"final_logit_softcapping", "layer_types", "query_pre_attn_scalar", "sliding_window"})

GEMMA = Family("gemma", read=_READ, harmless=_HARMLESS, fixed=_FIXED)
GEMMA2 = Family("gemma2", read=_READ | _LATER | {"attn_logit_softcapping"}, harmless=_HARMLESS, fixed=_FIXED)
GEMMA3 = Family(
    "gemma3_text",
    read=(_READ - {"partial_rotary_factor"})
    | _LATER
    | {"_sliding_window_pattern", "rope_local_base_freq", "sliding_window_pattern"},
    harmless=_HARMLESS,
    fixed={**_FIXED, "attn_logit_softcapping": (None,)},  # the library does not apply it
)

_FOUR_NORMS = {
    "ln1_post": "post_attention_layernorm", "ln2": "pre_feedforward_layernorm", "ln2_post": "post_feedforward_layernorm",
}  # fmt: skip
_GEMMA2_NAMES = Names(**_FOUR_NORMS)
_GEMMA3_NAMES = Names(**_FOUR_NORMS, q_norm="self_attn.q_norm", k_norm="self_attn.k_norm")
_MEANT: Mapping[str, Activation] = {**ACTIVATIONS, "gelu": "gelu_tanh"}  # of Gemma, whose first files say gelu


def gemma(fields: Fields) -> Plan:
    GEMMA.check(fields.raw, fields.path)
    activation = fields.choice("hidden_act", _MEANT, "gelu_pytorch_tanh")
    common = _common(fields, "Gemma", activation, ("hidden_activation", _MEANT))
    return Plan(**common, rope=read_rope(fields, common["head_dim"]), names=Names(frequencies="self_attn.rotary_emb.inv_freq"))


def gemma2(fields: Fields) -> Plan:
    """Every other block has a window, from the first on."""
    GEMMA2.check(fields.raw, fields.path)
    common = _common(
        fields, "Gemma2", fields.choice("hidden_activation", ACTIVATIONS, "gelu_pytorch_tanh"), ("hidden_act", ACTIVATIONS)
    )
    common["fields"] |= {
        "post_norms": True, "scale": _scale(fields, common["head_dim"]), "score_cap": _cap(fields, "attn_logit_softcapping", "50"),
        "logit_cap": _logit_cap(fields, common["head"], "30"),
    }  # fmt: skip
    sliding = _windows(fields, common["blocks"], lambda block: block % 2 == 0)
    return Plan(**common, **sliding, rope=read_rope(fields, common["head_dim"]), names=_GEMMA2_NAMES)


def gemma3(fields: Fields) -> Plan:
    """Every block but each sixth has a window, and turns by angles of its own."""
    GEMMA3.check(fields.raw, fields.path)
    activation = fields.choice("hidden_activation", ACTIVATIONS, "gelu_pytorch_tanh")
    common = _common(fields, "Gemma3", activation, ("hidden_act", ACTIVATIONS), body="Gemma3TextModel")
    common["fields"] |= {
        "post_norms": True, "qk_norm": True, "scale": _scale(fields, common["head_dim"]),
        "logit_cap": _logit_cap(fields, common["head"], None),
    }  # fmt: skip
    pattern = fields.count("sliding_window_pattern", 6)
    if fields.get("layer_types") is None and fields.count("_sliding_window_pattern", pattern) != pattern:
        raise fields.error("_sliding_window_pattern", f"contradicts sliding_window_pattern, which is {pattern}")
    sliding = _windows(fields, common["blocks"], lambda block: (block + 1) % pattern != 0)
    full, local = _two_ropes(fields, common["head_dim"])
    return Plan(**common, **sliding, rope=full, window_rope=local, names=_GEMMA3_NAMES)


def _common(
    fields: Fields, name: str, activation: Activation, other: tuple[str, Mapping[str, Activation]], body: str = ""
) -> dict[str, Any]:
    """`other` is another name of the activation, which must agree where it is given."""
    field, table = other
    if fields.get(field) is not None and fields.choice(field, table) != activation:
        raise fields.error(field, f"{described(fields.get(field))} contradicts the activation that is given under another name")
    biases: frozenset[Biased] = frozenset({"qkv", "out"} if fields.flag("attention_bias", False) else ())
    return read_sizes(fields, usual_head_dim=256) | {
        "head": read_head(fields, f"{name}ForCausalLM", body or f"{name}Model", tied=True),
        "biases": biases,
        "root_scale": True,
        "fields": {
            "norm_kind": "rms", "norm_unit": True, "epsilon": fields.epsilon("rms_norm_eps", "1e-6"), "scale": "sqrt",
            "mlp_kind": "gated", "activation": activation,
        },
    }  # fmt: skip


def _scale(fields: Fields, head_dim: int) -> Number | str:
    """1/√query_pre_attn_scalar"""
    scalar = fields.positive("query_pre_attn_scalar", "256")
    return "sqrt" if scalar == head_dim else 1 / sqrt(scalar)


def _cap(fields: Fields, field: str, usual: str | None) -> Exact | None:
    if fields.raw.get(field, usual) is None:
        return None
    return fields.positive(field, usual)


def _logit_cap(fields: Fields, head: str, usual: str | None) -> Exact | None:
    cap = _cap(fields, "final_logit_softcapping", usual)
    return None if head == "none" else cap  # without a head there are no logits


def _windows(fields: Fields, blocks: int, usual: Callable[[int], bool]) -> dict[str, Any]:
    if "sliding_window" not in fields.raw:
        raise fields.error("sliding_window", "is missing")
    size, slides = window(fields), layer_types(fields, usual)
    listed = fields.get("layer_types")
    if not size and (blocks if listed is None else "sliding_attention" in listed):
        raise fields.error("sliding_window", "is null, though some layers have sliding attention")
    return {"window": size, "slides": slides}


def _two_ropes(fields: Fields, head_dim: int) -> tuple[Rope, Rope]:
    """Of blocks without and with a window: two tables in `rope_parameters`, or as older versions wrote them."""
    given = fields.optional("rope_parameters") or Fields({}, fields.path)
    for key in given.raw:
        if key not in ("full_attention", "sliding_attention"):
            raise given.error(key, "is not known: supported are full_attention and sliding_attention")

    def rope(kind: str, base: str, usual: int, scaling: Any) -> Rope:
        tables = [table for table in (given.get(kind), scaling) if isinstance(table, dict)]
        own = fields.get(base) if fields.get(base) is not None or any("rope_theta" in table for table in tables) else usual
        document = {"rope_parameters": given.get(kind), "rope_scaling": scaling, base: own}
        document["max_position_embeddings"] = fields.get("max_position_embeddings")
        return read_rope(Fields(document, fields.path), head_dim, names=(base, ""))

    scaling = fields.optional("rope_scaling")
    if scaling is not None and "rope_type" not in scaling.raw:
        raise fields.error(
            "rope_scaling", "has no rope_type: some versions of the transformers library read it, and others pass over it"
        )
    full = rope("full_attention", "rope_theta", 1_000_000, fields.get("rope_scaling"))
    return full, rope("sliding_attention", "rope_local_base_freq", 10_000, None)
