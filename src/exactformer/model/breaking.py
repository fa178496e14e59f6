"""The classic mistakes, made on purpose: a model with something left out or done in the wrong place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from exactformer.model.fields import ConfigError
from exactformer.model.forward import Model


class Mistake(NamedTuple):
    what: str
    effect: str


MISTAKES: dict[str, Mistake] = {
    "no-scale": Mistake(
        "scores are not scaled",
        "the factor {scale} is missing from the scores, and again from ∂L/∂q and ∂L/∂k",
    ),
    "no-mask": Mistake("nothing is masked", "every position reads what comes after it, so training sees the answers"),
    "no-residual": Mistake(
        "what a sub-layer computes replaces the stream", "nothing reaches the end, nor comes back, except through every sub-layer"
    ),
    "no-norm": Mistake("no LayerNorm", "the size of the stream is what the weights make it, and grows from block to block"),
    "swapped-qk": Mistake("queries and keys change places", "scores are transposed: position i weighs j as j should weigh i"),
    "mask-after-softmax": Mistake(
        "the mask is applied after the softmax", "weights of a row no longer sum to 1: what the masked positions took is lost"
    ),
}  # fmt: skip


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
            blocks = tuple(replace(block, ln1=None, ln2=None) for block in weights.blocks)
            plain = replace(config, norm="none", final_norm=False, epsilon=None)
            return Model(plain, replace(weights, blocks=blocks, ln_final=None))
        case "swapped-qk":
            swapped = (replace(b.attn, W_Q=b.attn.W_K, W_K=b.attn.W_Q, b_Q=b.attn.b_K, b_K=b.attn.b_Q) for b in weights.blocks)
            blocks = tuple(replace(block, attn=attn) for block, attn in zip(weights.blocks, swapped, strict=True))
            return Model(config, replace(weights, blocks=blocks))
        case "mask-after-softmax" if config.mask != "none":
            return Model(replace(config, late_mask=True), weights)
    if mistake not in MISTAKES:
        raise ConfigError("--break", f"{mistake!r} is not one of {', '.join(MISTAKES)}")
    raise ConfigError("--break", f"{mistake} does not apply: the model has nothing of the kind to leave out")
