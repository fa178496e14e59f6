"""GPT-Neo: GPT-2 without a scale of the scores, with a window in some blocks."""

from __future__ import annotations

from exactformer.checkpoints.decoder import Names, Plan, read_head
from exactformer.checkpoints.families import FIXED, HARMLESS, Family
from exactformer.checkpoints.fields import ACTIVATIONS, LARGEST_COUNT, Fields
from exactformer.reading import described

GPT_NEO = Family(
    "gpt_neo",
    read=frozenset({
        "activation_function", "architectures", "attention_layers", "attention_types", "hidden_size", "intermediate_size",
        "layer_norm_epsilon", "max_position_embeddings", "model_type", "num_heads", "num_layers", "tie_word_embeddings",
        "vocab_size", "window_size",
    }),
    harmless=HARMLESS | {
        "attention_dropout", "embed_dropout", "resid_dropout", "summary_activation", "summary_first_dropout",
        "summary_proj_to_labels", "summary_type", "summary_use_proj",
    },
    fixed=FIXED,
)  # fmt: skip
_NAMES = Names(
    prefix="transformer.", embedding="wte", positions="wpe", block="h.{}.", ln1="ln_1", ln2="ln_2", q="attn.attention.q_proj",
    k="attn.attention.k_proj", v="attn.attention.v_proj", out="attn.attention.out_proj", gate="", mlp_in="mlp.c_fc",
    mlp_out="mlp.c_proj", ln_final="ln_f", masks="attn.attention",
)  # fmt: skip
_KINDS = ("global", "local")


def gpt_neo(fields: Fields) -> Plan:
    GPT_NEO.check(fields.raw, fields.path)
    dim, heads, blocks = fields.count("hidden_size"), fields.count("num_heads"), fields.count("num_layers", least=0)
    if dim % heads:
        raise fields.error("num_heads", f"{heads} heads do not divide hidden_size, which is {dim}")
    period = _period(fields, blocks)
    return Plan(
        path=fields.path, names=_NAMES, vocabulary=fields.count("vocab_size"), dim=dim, blocks=blocks, heads=heads, kv_heads=heads,
        head_dim=dim // heads, mlp=fields.count("intermediate_size", 4 * dim), length=fields.count("max_position_embeddings"),
        head=read_head(fields, "GPTNeoForCausalLM", "GPTNeoModel", tied=True), biases=frozenset({"out", "mlp"}),
        window=fields.count("window_size", 256), slides=lambda block: _kind(period, block) == "local",
        fields={
            "norm_kind": "layer", "epsilon": fields.epsilon("layer_norm_epsilon", "1e-5"), "scale": "none",
            "activation": fields.choice("activation_function", ACTIVATIONS, "gelu_new"),
        },
    )  # fmt: skip


def _period(fields: Fields, blocks: int) -> list[tuple[list[str], int]]:
    """`attention_types`: lists of kinds, each with repetitions. `attention_layers`, the same written out, must agree."""
    listed = fields.get("attention_types")
    if not isinstance(listed, list) or not all(map(_repeated, listed)):
        raise fields.error("attention_types", f"{described(listed)} is not a list of kinds ({', '.join(_KINDS)}) with repetitions")
    period = [(kinds, times) for kinds, times in listed]
    total = sum(len(kinds) * times for kinds, times in period)
    if total != blocks:
        raise fields.error("attention_types", f"tells of {total} layers, where num_layers is {blocks}")
    layers = fields.get("attention_layers")
    if layers is not None and (
        not isinstance(layers, list) or len(layers) != blocks or any(_kind(period, n) != kind for n, kind in enumerate(layers))
    ):
        raise fields.error("attention_layers", "contradicts attention_types")
    return period


def _repeated(entry: object) -> bool:
    if not isinstance(entry, list) or len(entry) != 2 or type(entry[1]) is not int or not 0 <= entry[1] <= LARGEST_COUNT:
        return False
    return isinstance(entry[0], list) and all(isinstance(kind, str) and kind in _KINDS for kind in entry[0])


def _kind(period: list[tuple[list[str], int]], block: int) -> str:
    for kinds, times in period:
        if block < len(kinds) * times:
            return kinds[block % len(kinds)]
        block -= len(kinds) * times
    raise IndexError(block)
