"""Which keys of config.json are understood, for each family of models. Whatever else stands there is refused: it may describe
another network than the one that is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exactformer.checkpoints.errors import CheckpointError
from exactformer.messages import few, short
from exactformer.reading import described


@dataclass(frozen=True)
class Family:
    """Kinds of keys: read into the settings; harmless whatever their value; harmless with some values only.

    >>> family = Family("toy", read=frozenset({"width"}), harmless=frozenset({"title"}), fixed={"twisted": (False,)})
    >>> family.check({"width": 3, "title": "x", "twisted": False}, Path("config.json"))
    >>> family.check({"width": 3, "twisted": True}, Path("config.json"))
    Traceback (most recent call last):
    exactformer.checkpoints.errors.CheckpointError: config.json: twisted: true is not supported; supported: false
    >>> family.check({"width": 3, "softcap": 2}, Path("config.json"))
    Traceback (most recent call last):
    exactformer.checkpoints.errors.CheckpointError: config.json: 'softcap' is not a known key of toy: it may change the network
    """

    name: str
    read: frozenset[str]
    harmless: frozenset[str]
    fixed: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def check(self, document: Mapping[str, Any], path: Path | str) -> None:
        """Refuse keys that may change the network."""
        unknown = [key for key in document if key not in self.read and key not in self.harmless and key not in self.fixed]
        if unknown:
            said = "is not a known key" if len(unknown) == 1 else "are not known keys"
            one = "it" if len(unknown) == 1 else "they"
            raise CheckpointError(path, f"{few(unknown)} {said} of {self.name}: {one} may change the network")
        for key, allowed in self.fixed.items():
            if key in document and not any(_same(document[key], good) for good in allowed):
                supported = ", ".join(map(_literal, allowed))
                raise CheckpointError(path, short(key), f"{_literal(document[key])} is not supported; supported: {supported}")


_INNER = ("model", "model_args", "model_config", "config")  # what a table inside a document is called that describes the model
_BESIDE = frozenset({"data", "dataset", "optimizer", "system", "train", "trainer", "training"})  # and what stands beside it


def described_model(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """The table that describes the model: the document, or one inside it where scripts keep their other settings beside it.

    >>> described_model({"system": {"seed": 1}, "model": {"n_embd": 4}}, Path("config.json"))
    {'n_embd': 4}
    """
    inner = [name for name in _INNER if isinstance(document.get(name), dict)]
    if len(inner) != 1:
        return document
    if unknown := [name for name in document if name != inner[0] and name not in _BESIDE]:
        raise CheckpointError(path, f"{few(unknown)} beside {inner[0]}: may change the network")
    found: dict[str, Any] = document[inner[0]]
    return found


def _same(value: object, good: object) -> bool:
    """In Python 0 == False; in a file they differ."""
    return type(value) is type(good) and value == good


def _literal(value: object) -> str:
    """As JSON writes it."""
    return "{}" if value == {} else described(value)


# How a library stores, loads or runs a model, and what it calls things: nothing that the network over real numbers depends on.
# `dtype` says in which floats a program computes; here the weights are the numbers that the tensors hold.
_BOOKKEEPING = frozenset({
    "_attn_implementation_autoset", "_attn_implementation_internal", "_commit_hash", "_name_or_path", "attn_implementation",
    "dtype", "torch_dtype", "torchscript", "transformers_version",
})  # fmt: skip

# How `generate` of the transformers library chooses tokens once the network has its logits.
_GENERATION = frozenset({
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id", "diversity_penalty", "do_sample",
    "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_scores", "pad_token_id", "prefix", "remove_invalid_values", "repetition_penalty",
    "return_dict_in_generate", "sep_token_id", "suppress_tokens", "task_specific_params", "temperature", "tokenizer_class", "top_k",
    "top_p", "typical_p",
})  # fmt: skip

# What is returned beside the logits, how memory is saved, how training began; and the heads that classify, which are not read.
_AROUND = frozenset({
    "chunk_size_feed_forward", "classifier_dropout", "finetuning_task", "gradient_checkpointing", "hidden_dropout", "id2label",
    "initializer_range", "is_decoder", "label2id", "num_labels", "output_attentions", "output_hidden_states", "output_past",
    "problem_type", "return_dict", "tf_legacy_loss", "use_cache",
})  # fmt: skip
HARMLESS = _BOOKKEEPING | _GENERATION | _AROUND  # in every family of the transformers library
FIXED: Mapping[str, tuple[object, ...]] = {
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,),
    "is_encoder_decoder": (False,),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
    "tie_encoder_decoder": (False,),
    "use_bfloat16": (False,),
}

_GPT2_HARMLESS = frozenset({
    "attn_pdrop", "embd_pdrop", "n_special", "predict_special_tokens", "resid_pdrop", "summary_activation", "summary_first_dropout",
    "summary_last_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
})  # fmt: skip

_SIZES = frozenset({"n_embd", "n_head", "n_inner", "n_layer", "vocab_size"})

GPT2 = Family(
    "gpt2",
    read=_SIZES | {
        "activation_function", "architectures", "layer_norm_epsilon", "model_type", "n_ctx", "n_positions",
        "scale_attn_by_inverse_layer_idx", "scale_attn_weights", "tie_word_embeddings",
    },
    harmless=HARMLESS | _GPT2_HARMLESS,
    fixed={**FIXED, "reorder_and_upcast_attn": (False, True)},  # the order of float operations
)  # fmt: skip

# How the scripts of nanoGPT and minGPT trained a model, which they keep in one table with what the model is.
_TRAINING = frozenset({
    "always_save_checkpoint", "backend", "batch_size", "beta1", "beta2", "betas", "compile", "dataset", "decay_lr", "device",
    "eval_interval", "eval_iters", "eval_only", "grad_clip", "grad_norm_clip", "gradient_accumulation_steps", "init_from",
    "learning_rate", "log_interval", "lr_decay_iters", "max_iters", "min_lr", "num_workers", "out_dir", "seed", "wandb_log",
    "wandb_project", "wandb_run_name", "warmup_iters", "weight_decay",
})  # fmt: skip

MINGPT_AND_NANOGPT = Family(
    "minGPT or nanoGPT",
    read=_SIZES | {"activation_function", "bias", "block_size", "layer_norm_epsilon", "model_type", "tie_word_embeddings"},
    harmless=_BOOKKEEPING | _TRAINING | {"attn_pdrop", "dropout", "embd_pdrop", "resid_pdrop"},
    fixed={
        "model_type": (
            None, "gpt", "openai-gpt", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "gopher-44m", "gpt-mini", "gpt-micro",
            "gpt-nano",
        ),
    },
)  # fmt: skip

LECTURE = Family(
    "a lecture's GPT",
    read=_SIZES | {"activation_function", "block_size", "head_size", "layer_norm_epsilon", "scale"},
    harmless=_BOOKKEEPING | _TRAINING | {"dropout"},
)
