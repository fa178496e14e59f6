"""The classic mistakes, made on purpose: a model with something left out or done in the wrong place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from exactformer.model.fields import ConfigError
from exactformer.model.forward import Model
from exactformer.model.layers.rotary import RotaryFields


class Mistake(NamedTuple):
    what: str
    effect: str
    slip: str  # what was done by whoever has that number


MISTAKES: dict[str, Mistake] = {
    "no-scale": Mistake(
        "scores are not scaled",
        "the factor {scale} is missing from the scores, and again from ∂L/∂q and ∂L/∂k",
        "the factor {scale} of the scores is forgotten",
    ),
    "no-mask": Mistake(
        "nothing is masked",
        "every position reads what comes after it, so training sees the answers",
        "the mask is forgotten",
    ),
    "no-residual": Mistake(
        "what a sub-layer computes replaces the stream",
        "nothing reaches the end, nor comes back, except through every sub-layer",
        "the residual stream is not added",
    ),
    "no-norm": Mistake(
        "no LayerNorm",
        "the size of the stream is what the weights make it, and grows from block to block",
        "the norms are left out",
    ),
    "swapped-qk": Mistake(
        "queries and keys change places",
        "scores are transposed: position i weighs j as j should weigh i",
        "queries and keys have changed places",
    ),
    "mask-after-softmax": Mistake(
        "the mask is applied after the softmax",
        "weights of a row no longer sum to 1: what the masked positions took is lost",
        "the mask is applied after the softmax",
    ),
    "no-rotary": Mistake(
        "queries and keys are not turned by their positions",
        "a score knows what two tokens are, and no longer how far apart",
        "queries and keys are not turned by their positions",
    ),
    "rotary-after-scores": Mistake(
        "what heads found is turned by the position, instead of queries and keys",
        "scores no longer know positions, and what was read arrives turned by where it is read",
        "the outcome is turned by the position, not queries and keys",
    ),
    "mixed-heads": Mistake(
        "heads of queries take heads of keys in turn, instead of in groups",
        "most heads read keys that were made for others",
        "heads of queries take the wrong heads of keys",
    ),
    "no-gate": Mistake(
        "the gate of the MLP is forgotten",
        "every unit is let through as it is: without an activation the MLP is one matrix",
        "the gate of the MLP is forgotten",
    ),
}


_WITHOUT_ROTARY: dict[str, Any] = {
    name: field.default for name, field in RotaryFields.__dataclass_fields__.items() if "rotary" in name
}


def broken(model: Model, mistakes: Sequence[str]) -> Model:
    """The model with the mistakes made; one that does not apply is refused."""
    for mistake in mistakes:
        model = _broken(model, mistake)
    return model


def _broken(model: Model, mistake: str) -> Model:
    config, weights = model.config, model.weights
    match mistake:
        case "no-scale" if config.scale_factor != 1 or config.scale_by_block:
            return Model(replace(config, scale="none", scale_by_block=False), weights)
        case "no-mask" if config.mask != "none":
            return Model(replace(config, mask="none"), weights)
        case "no-residual" if config.residual:
            return Model(replace(config, residual=False), weights)
        case "no-norm" if config.norm != "none" or config.final_norm:
            blocks = tuple(replace(block, ln1=None, ln1_post=None, ln2=None, ln2_post=None) for block in weights.blocks)
            rest: dict[str, Any] = {
                "norm_unit": config.norm_unit and config.qk_norm,
                "epsilon": config.epsilon if config.qk_norm else None,
            }
            unnormed = replace(config, norm="none", final_norm=False, post_norms=False, shared_norm=False, **rest)
            return Model(unnormed, replace(weights, blocks=blocks, ln_final=None))
        case "swapped-qk" if not config.kv_heads:
            swapped = (replace(b.attn, W_Q=b.attn.W_K, W_K=b.attn.W_Q, b_Q=b.attn.b_K, b_K=b.attn.b_Q) for b in weights.blocks)
            blocks = tuple(replace(block, attn=attn) for block, attn in zip(weights.blocks, swapped, strict=True))
            return Model(config, replace(weights, blocks=blocks))
        case "mask-after-softmax" if config.mask != "none":
            return Model(replace(config, late_mask=True), weights)
        case "no-rotary" if config.positions == "rotary":
            return Model(replace(config, positions="none", **_WITHOUT_ROTARY), weights)
        case "rotary-after-scores" if config.positions == "rotary":
            return Model(replace(config, late_rotary=True), weights)
        case "mixed-heads" if config.kv_heads > 1:
            return Model(replace(config, mixed_sharing=True), weights)
        case "no-gate" if config.mlp_kind == "gated":
            plain = [None if b.mlp is None else replace(b.mlp, W_gate=None, b_gate=None) for b in weights.blocks]
            blocks = tuple(replace(block, mlp=mlp) for block, mlp in zip(weights.blocks, plain, strict=True))
            return Model(replace(config, mlp_kind="plain", activation="identity"), replace(weights, blocks=blocks))
    if mistake not in MISTAKES:
        raise ConfigError("--break", f"{mistake!r} is not one of {', '.join(MISTAKES)}")
    raise ConfigError("--break", f"{mistake} does not apply: the model has nothing of the kind to leave out")
