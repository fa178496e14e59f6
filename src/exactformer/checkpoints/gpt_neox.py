"""GPT-NeoX and Pythia: two norms that may read the same stream, heads turned in part, one matrix for queries, keys and values."""

from __future__ import annotations

from exactformer.checkpoints.decoder import Biased, Names, Plan, read_head
from exactformer.checkpoints.families import FIXED, HARMLESS, Family
from exactformer.checkpoints.fields import ACTIVATIONS, Fields
from exactformer.checkpoints.llama import SIZES, read_sizes
from exactformer.checkpoints.rope import read_rope

GPT_NEOX = Family(
    "gpt_neox",
    read=(SIZES - {"head_dim", "num_key_value_heads"}) | {
        "architectures", "attention_bias", "hidden_act", "layer_norm_eps", "model_type", "rope_parameters", "rope_scaling",
        "rotary_emb_base", "rotary_pct", "tie_word_embeddings", "use_parallel_residual",
    },
    harmless=HARMLESS | {"attention_dropout"},
    fixed=FIXED,
)  # fmt: skip
_NAMES = Names(
    prefix="gpt_neox.", embedding="embed_in", q="", k="", v="", qkv="attention.query_key_value", out="attention.dense", gate="",
    mlp_in="mlp.dense_h_to_4h", mlp_out="mlp.dense_4h_to_h", ln_final="final_layer_norm", head="embed_out", masks="attention",
    frequencies="attention.rotary_emb.inv_freq",
)  # fmt: skip


def gpt_neox(fields: Fields) -> Plan:
    GPT_NEOX.check(fields.raw, fields.path)
    sizes = read_sizes(fields, usual_kv_heads=fields.count("num_attention_heads"))
    biases: set[Biased] = {"qkv", "out", "mlp"} if fields.flag("attention_bias", True) else {"mlp"}
    return Plan(
        **sizes,
        names=_NAMES,
        head=read_head(fields, "GPTNeoXForCausalLM", "GPTNeoXModel", tied=False),
        biases=frozenset(biases),
        rope=read_rope(fields, sizes["head_dim"], fraction="0.25", names=("rotary_emb_base", "rotary_pct")),
        fields={
            "norm_kind": "layer", "epsilon": fields.epsilon("layer_norm_eps", "1e-5"), "scale": "sqrt",
            "parallel": fields.flag("use_parallel_residual", True), "activation": fields.choice("hidden_act", ACTIVATIONS, "gelu"),
        },
    )  # fmt: skip
