"""Keys of config.json: what libraries write is understood, and nothing else is passed over."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from gpt2_files import small_config, small_tensors, write_folder

from exactformer.checkpoints import CheckpointError, open_checkpoint
from exactformer.checkpoints.families import GPT2, MINGPT_AND_NANOGPT

# The keys that GPT-2's own config.json had when it was published, and what a fine-tuned model of 2021 adds.
PUBLISHED = {
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 2,
    "embd_pdrop": 0.1, "eos_token_id": 2, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 5,
    "n_embd": 4, "n_head": 2, "n_layer": 2, "n_positions": 5, "resid_pdrop": 0.1, "summary_activation": None,
    "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True,
    "vocab_size": 3, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
}  # fmt: skip
LATER = {
    "_name_or_path": "gpt2", "gradient_checkpointing": False, "output_past": True, "n_inner": None,
    "scale_attn_weights": True, "torch_dtype": "float32", "transformers_version": "4.9.1", "use_cache": True,
}  # fmt: skip


@pytest.mark.parametrize("config", [PUBLISHED, PUBLISHED | LATER | {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}])
def test_configurations_of_their_time_are_read(config: dict[str, Any], tmp_path: Path) -> None:
    assert open_checkpoint(write_folder(tmp_path, config)).model.config.blocks == 2


@pytest.mark.parametrize("kind", ["GPT2LMHeadModel", "GPT2Model"])
def test_what_the_library_saves_today_is_read(kind: str, tmp_path: Path) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=4, n_positions=5, vocab_size=3, bos_token_id=0, eos_token_id=0)
    getattr(transformers, kind)(config).save_pretrained(tmp_path)
    assert open_checkpoint(tmp_path).model.config.blocks == 1
    everything = config.to_dict() | {"architectures": [kind]}
    (tmp_path / "config.json").write_text(json.dumps(everything))
    assert open_checkpoint(tmp_path).model.config.blocks == 1


def test_one_key_more_is_refused_in_every_family(tmp_path: Path) -> None:
    nano = {"n_layer": 2, "n_head": 2, "n_embd": 4, "block_size": 5, "vocab_size": 3, "bias": True}
    tensors = {
        name: w.T if name.endswith(("attn.weight", "proj.weight", "fc.weight")) else w for name, w in small_tensors().items()
    }
    for folder, config, held in ((tmp_path / "a", small_config(), small_tensors()), (tmp_path / "b", nano, tensors)):
        open_checkpoint(write_folder(folder, config, held))
        for key in ("attention_softcap", "window_size", "rotary", "parallel_residual", "N_EMBD", "n_embd ", ""):
            with pytest.raises(CheckpointError, match=r"config.json: '.*' is not a known key of .* may change the network"):
                open_checkpoint(write_folder(folder, config | {key: None}, held))


def test_a_model_type_that_no_small_gpt_has(tmp_path: Path) -> None:
    mini = {"model_type": "llama", "n_layer": 2, "n_head": 2, "n_embd": 4, "block_size": 5, "vocab_size": 3}
    with pytest.raises(CheckpointError, match=r"model_type: 'llama' is not supported; supported: null, 'gpt'"):
        open_checkpoint(write_folder(tmp_path, mini))


def test_no_key_is_of_two_kinds() -> None:
    for family in (GPT2, MINGPT_AND_NANOGPT):
        assert not family.read & family.harmless
        assert not family.harmless & set(family.fixed)
