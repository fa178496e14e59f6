"""Phi: attention and MLP read the same norm, heads are turned in part, everything has a bias."""

from __future__ import annotations

from exactformer.checkpoints.decoder import Names, Plan, read_head
from exactformer.checkpoints.families import FIXED, HARMLESS, Family
from exactformer.checkpoints.fields import ACTIVATIONS, Fields
from exactformer.checkpoints.llama import ROPE, SIZES, read_sizes
from exactformer.checkpoints.rope import read_rope

PHI = Family(
    "phi",
    read=(SIZES - {"head_dim"}) | ROPE | {"architectures", "hidden_act", "layer_norm_eps", "model_type", "tie_word_embeddings"},
    harmless=HARMLESS | {"attention_dropout", "embd_pdrop", "resid_pdrop"},
    fixed={**FIXED, "qk_layernorm": (False,)},
)
_NAMES = Names(
    ln2="", out="self_attn.dense", gate="", mlp_in="mlp.fc1", mlp_out="mlp.fc2", ln_final="final_layernorm",
    frequencies="self_attn.rotary_emb.inv_freq",
)  # fmt: skip


def phi(fields: Fields) -> Plan:
    PHI.check(fields.raw, fields.path)
    sizes = read_sizes(fields, usual_kv_heads=fields.count("num_attention_heads"))
    return Plan(
        **sizes,
        names=_NAMES,
        head=read_head(fields, "PhiForCausalLM", "PhiModel", tied=False),
        biases=frozenset({"qkv", "out", "mlp", "head"}),
        rope=read_rope(fields, sizes["head_dim"], fraction="0.5"),
        fields={
            "norm_kind": "layer", "epsilon": fields.epsilon("layer_norm_eps", "1e-5"), "scale": "sqrt", "parallel": True,
            "shared_norm": True, "activation": fields.choice("hidden_act", ACTIVATIONS, "gelu_new"),
        },
    )  # fmt: skip
