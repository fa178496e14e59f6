"""Which step the output of a module of the transformers library is: what hooks and `hidden_states` give, by the library's names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exactformer.checkpoints.decoder import Names
from exactformer.checkpoints.families import described_model
from exactformer.checkpoints.fields import Fields
from exactformer.checkpoints.opening import PLANS
from exactformer.checkpoints.safetensors import read_document
from exactformer.model import Config

_GPT2 = Names(
    prefix="transformer.", embedding="wte", positions="wpe", block="h.{}.", ln1="ln_1", ln2="ln_2", q="", k="", v="",
    out="attn.c_proj", gate="", mlp_in="mlp.c_fc", mlp_out="mlp.c_proj", ln_final="ln_f", activation="mlp.act",
)  # fmt: skip


def module_steps(folder: Path, config: Config) -> dict[str, str]:
    """By the name of a module, or `hidden_states.N`, the step that it gives. A folder that is no checkpoint has none."""
    path = folder / "config.json"
    if not path.is_file():
        return {}
    fields = Fields(described_model(read_document(path), path), path)
    kind = fields.get("model_type")
    names = _GPT2 if kind == "gpt2" else PLANS[kind](fields).names if isinstance(kind, str) and kind in PLANS else None
    return {} if names is None else dict(_steps(names, config))


def _steps(names: Names, config: Config) -> Iterator[tuple[str, str]]:
    before, last = names.prefix, config.blocks - 1
    yield f"{before}{names.embedding}", "embed"
    for n in range(config.blocks):
        block, ours = before + names.block.format(n), f"blocks.{n}."
        yield block.removesuffix("."), ours + "resid_post"
        yield f"hidden_states.{n}", ours + "resid_pre"
        for module, step in _in_block(names):
            if module:
                yield block + module, ours + step
    yield f"hidden_states.{last + 1}", "ln_final.out"
    yield f"{before}{names.ln_final}", "ln_final.out"
    yield names.head, "logits"


def _in_block(names: Names) -> Iterator[tuple[str, str]]:
    gated = bool(names.gate)
    yield names.ln1, "ln1.out"
    yield names.q, "attn.q"
    yield names.k, "attn.k"
    yield names.v, "attn.v"
    yield names.out, "attn.out"
    yield names.out.partition(".")[0], "attn.out"
    yield names.ln2, "ln2.out"
    yield names.gate, "mlp.pre"
    yield names.mlp_in, "mlp.pre_linear" if gated else "mlp.pre"
    yield names.activation, "mlp.post"
    yield names.mlp_out, "mlp.out"
    yield names.mlp_out.partition(".")[0], "mlp.out"
