"""Llama folders: what is a view, what is read how, and what is refused with which line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from gpt2_files import write_folder
from llama_files import llama_config, llama_tensors, write_llama

from exactformer.checkpoints import CheckpointError, open_checkpoint
from exactformer.checkpoints.decoder import _rounded
from exactformer.checkpoints.rope import Rope
from exactformer.numbers import Exact, exact, pi
from exactformer.trace import run
from exactformer.worksheets import load

LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip


def test_weights_are_views_without_copies(tmp_path: Path) -> None:
    model = open_checkpoint(write_llama(tmp_path)).model
    stored = llama_tensors()
    for name, values in model.weights.named():
        base = values
        while isinstance(base, np.ndarray):
            assert not base.flags.writeable, name
            base = base.base
        assert not isinstance(base, np.ndarray), name
    block = model.weights.blocks[1]
    np.testing.assert_array_equal(block.attn.W_Q[2], stored["model.layers.1.self_attn.q_proj.weight"][8:12].T)
    np.testing.assert_array_equal(block.attn.W_O[2], stored["model.layers.1.self_attn.o_proj.weight"][:, 8:12].T)
    assert model.config.kv_heads == 2


def test_without_rounding_it_is_what_floats_are_near(tmp_path: Path) -> None:
    model = open_checkpoint(write_llama(tmp_path)).model
    balls, floats = run(model, "0 1", "arb"), run(model, "0 1", "float64")
    assert [out.token for out in balls.output] == [out.token for out in floats.output]
    assert all(out.proved for out in balls.output)


def test_older_settings_are_the_same_model(tmp_path: Path) -> None:
    scaled = {key: value for key, value in LLAMA3.items() if key not in ("rope_type", "rope_theta")}
    new = open_checkpoint(write_llama(tmp_path / "new", rope_parameters=LLAMA3)).model.config
    for n, older in enumerate(
        (
            {"rope_theta": 500000, "rope_scaling": {"rope_type": "llama3", **scaled}},
            {"rope_theta": 500000.0, "rope_scaling": {"type": "llama3", "rope_type": "llama3", **scaled}},
            {"rope_theta": 500000.0, "rope_parameters": LLAMA3, "rope_scaling": {"type": "llama3", **scaled}},
        )
    ):
        config = open_checkpoint(write_llama(tmp_path / str(n), **({"rope_parameters": ...} | older))).model.config
        assert config == new
    assert len(new.rotary_frequencies) == 2


def test_no_scaling_is_the_default(tmp_path: Path) -> None:
    config = open_checkpoint(write_llama(tmp_path, rope_parameters=None, rope_scaling=None, rope_theta=100)).model.config
    assert (config.rotary_base, config.rotary_frequencies) == (exact(100), ())


def test_llama3_slows_down_what_turns_slowly() -> None:
    """8192 positions turn the pairs of base 500000 by 1304, 46, 1.6 and 0.06 rounds; those between 1 and 4 are mixed."""
    rope = Rope(exact(500000), 8, "llama3", exact(8), exact(1), exact(4), 8192)
    plain = Rope(exact(500000), 8).frequencies("ideal")
    found = rope.frequencies("ideal")
    assert found[0] == plain[0]
    assert found[1] == plain[1]
    share = (8192 * plain[2] / (2 * pi()) - 1) / 3
    assert found[2] == (1 - share) * plain[2] / 8 + share * plain[2]
    assert found[3] == plain[3] / 8
    for ideal, stored in zip(found, rope.frequencies("stored"), strict=True):
        assert isinstance(stored, Exact)
        assert abs(stored.to_float() / ideal.to_float() - 1) < 1e-6


def test_stored_frequencies_are_the_librarys() -> None:
    """All but a few are equal to the bit; its power function is not rounded to nearest always."""
    torch = pytest.importorskip("torch")
    near = total = 0
    for base in (10000.0, 500000.0, 1e6):
        for width in (16, 64, 128):
            theirs = (1.0 / base ** (torch.arange(0, width, 2, dtype=torch.float) / width)).numpy()
            ours = np.array([x.to_float() for x in Rope(exact(int(base)), width).frequencies("stored")], dtype=np.float32)
            np.testing.assert_array_max_ulp(ours, theirs, 2)
            near, total = near + int((ours != theirs).sum()), total + len(ours)
    assert near <= total // 50


@pytest.mark.parametrize(
    ("width", "pair", "base"),
    [(64, 21, 2474.658203125), (80, 39, 19.998353958129883), (256, 99, 557.7175903320312), (96, 28, 1013682.0)],
)
def test_a_power_between_two_floats_is_rounded_once(width: int, pair: int, base: float) -> None:
    """The float64 next to these powers is halfway between two float32 numbers: rounded again, it becomes the wrong one."""
    found = Rope(exact(Fraction(base)), width).frequencies("stored")[pair].to_float()
    exponent = Fraction(float(np.float32(2 * pair) / np.float32(width)))
    with mpmath.workprec(300):
        power = mpmath.mpf(base) ** (mpmath.mpf(exponent.numerator) / exponent.denominator)
        near = np.float32(float(power))
        around = (np.nextafter(near, np.float32(0)), near, np.nextafter(near, np.float32(np.inf)))
        nearest = min(around, key=lambda x: abs(mpmath.mpf(float(x)) - power))
    assert nearest != near
    assert found == float(np.float32(1) / nearest)


@pytest.mark.parametrize(
    ("value", "kind", "rounded"),
    [(3072**0.5, "BF16", 55.5), (2304**0.5, "BF16", 48.0), (640**0.5, "BF16", 25.25), (640**0.5, "F16", 25.296875)],
)
def test_roots_are_rounded_as_the_library_rounds_them(value: float, kind: str, rounded: float) -> None:
    torch = pytest.importorskip("torch")
    assert _rounded(float(np.float32(value)), kind) == rounded
    assert torch.tensor(value).to({"BF16": torch.bfloat16, "F16": torch.float16}[kind]).item() == rounded


def test_frequencies_of_older_files_are_checked(tmp_path: Path) -> None:
    name = "model.layers.1.self_attn.rotary_emb.inv_freq"
    tensors = llama_tensors() | {name: np.array([1.0, 0.01])}
    assert open_checkpoint(write_llama(tmp_path, tensors=tensors)).model.config.blocks == 2
    with pytest.raises(CheckpointError, match=f"tensor '{name}': is not what older versions saved under this name"):
        open_checkpoint(write_llama(tmp_path, tensors=tensors | {name: np.array([1.0, 0.02])}))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"num_key_value_heads": 3}, "num_key_value_heads: 3 heads of keys do not divide the 4 heads of queries"),
        ({"head_dim": 3}, "head_dim: 3 is odd: its dimensions cannot be turned in pairs"),
        ({"head_dim": None, "num_attention_heads": 3, "num_key_value_heads": 1}, "num_attention_heads: 3 heads do not divide"),
        ({"hidden_size": ...}, "hidden_size: is missing"),
        ({"hidden_act": "gelu_fast"}, "hidden_act: 'gelu_fast' is not one of silu, swish"),
        ({"rms_norm_eps": -1}, "rms_norm_eps: -1 is not between 0 and 1"),
        ({"attention_bias": True}, "tensor 'layers.0.self_attn.q_proj.bias': is missing"),
        ({"mlp_bias": True, "pretraining_tp": 2}, "pretraining_tp: is not 1, and there are biases"),
        ({"mlp_bias": True}, "tensor 'layers.0.mlp.up_proj.bias': is missing"),
        ({"mlp_bias": None}, "mlp_bias: null is not true or false"),
        ({"tie_word_embeddings": True}, "tensor 'lm_head.weight': differs from embed_tokens.weight, though"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "architectures: 'LlamaForSequenceClassification' is not supported"),
        ({"num_hidden_layers": 3}, "tensor 'layers.2.input_layernorm.weight': is missing"),
        ({"num_hidden_layers": 1}, "tensor 'model.layers.1.input_layernorm.weight': has no place in the model"),
        ({"intermediate_size": 7}, "asks for 7 × 8"),
        ({"sliding_window": 4}, "'sliding_window' is not a known key of llama: it may change the network"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "rope_type: 'yarn' is not supported; supported: default"),
        ({"rope_parameters": {"rope_type": "linear", "factor": 0}}, "rope_parameters.factor: 0 is not positive"),
        ({"rope_parameters": {"rope_type": "linear"}}, "rope_parameters.factor: is missing"),
        ({"rope_parameters": {"rope_type": "linear", "factor": 1e99}}, "rope_parameters.factor: 1e+99 is not between"),
        ({"rope_parameters": {"rope_type": "default", "attention_factor": 2.0}}, "'attention_factor': is not known to go with"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor: 0.5 is not supported; supported: 1"),
        ({"rope_parameters": LLAMA3 | {"low_freq_factor": 4.0}}, "high_freq_factor: 4.0 is not greater than low"),
        ({"rope_parameters": [1]}, "rope_parameters: a list of 1 is not a table"),
        ({"rope_theta": 5000.0}, "rope_theta: 5000.0 contradicts rope_parameters.rope_theta, 10000.0"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling: contradicts rope_parameters"),
        ({"rope_scaling": {"type": "linear", "rope_type": "default"}}, "rope_scaling.type: 'linear' contradicts rope_type"),
        ({"rope_parameters": {"rope_theta": "x"}}, "rope_parameters.rope_theta: 'x' is not a number"),
        ({"vocab_size": 2**31 - 1}, "asks for 2147483647 × 8 (vocab_size × hidden_size)"),
        ({"num_hidden_layers": 2**31 - 1}, "tensor 'layers.2.input_layernorm.weight': is missing"),
        ({"head_dim": 2**31 - 2}, "asks for 8589934584 × 8"),
    ],
)  # fmt: skip
def test_bad_settings_get_one_line(changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError) as refusal:
        open_checkpoint(write_llama(tmp_path, **changes))
    assert line in str(refusal.value)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("family", "changes", "line"),
    [
        ("mistral", {}, "sliding_window: is missing: null says that there is none"),
        ("mistral", {"sliding_window": 0}, "sliding_window: 0 is not a whole number from 1"),
        ("mistral", {"sliding_window": None, "layer_types": ["full_attention"] * 2}, "'layer_types' is not a known key of mistral"),
        ("qwen2", {"layer_types": ["sliding_attention"] * 2}, "layer_types: has sliding_attention, though"),
        ("qwen2", {"use_sliding_window": True}, "sliding_window: is missing, though use_sliding_window is true"),
        ("qwen3", {"layer_types": ["full_attention"]}, "layer_types: is not a list of 2 kinds of attention"),
        ("qwen3", {"layer_types": ["full_attention", "chunked_attention"]}, "layer_types: 'chunked_attention' is not supported"),
        ("gemma", {"hidden_act": "silu", "hidden_activation": "relu"}, "hidden_activation: 'relu' contradicts"),
        ("gemma2", {"sliding_window": None}, "sliding_window: is null, though some layers have sliding attention"),
        ("gemma2", {"sliding_window": 4, "query_pre_attn_scalar": 0}, "query_pre_attn_scalar: 0 is not positive"),
        ("gemma2", {"sliding_window": 4, "use_bidirectional_attention": True}, "use_bidirectional_attention: true is not"),
        ("gemma3_text", {"sliding_window": 4, "rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 8.0}},
         "rope_scaling: has no rope_type"),
        ("gemma3_text", {"sliding_window": 4, "attn_logit_softcapping": 50.0}, "attn_logit_softcapping: 50.0 is not supported"),
        ("gemma3_text", {"sliding_window": 4, "rope_parameters": {"rope_type": "default"}}, "rope_parameters.rope_type: is not"),
    ],
)  # fmt: skip
def test_relatives_get_one_line(family: str, changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    name = {"gemma3_text": "Gemma3"}.get(family, family.capitalize())
    drop = {} if family == "llama" else {"mlp_bias": ..., "attention_bias": ...}
    if family in ("gemma2", "gemma3_text"):
        drop["hidden_act"] = ...
    config = llama_config(**({"model_type": family, "architectures": [f"{name}ForCausalLM"]} | drop | changes))
    with pytest.raises(CheckpointError) as refusal:
        open_checkpoint(write_folder(tmp_path, config, llama_tensors()))
    assert line in str(refusal.value)


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"model_type": "mixtral"}, "model_type: 'mixtral' is not supported; supported: gpt2, llama, mistral"),
        ({"model_type": ["llama"]}, "model_type: a list of 1 is not supported"),
        ({}, "model_type: is missing; supported: gpt2, llama"),
        (
            {
                "model_type": "gpt_neo",
                "hidden_size": 8,
                "num_heads": 2,
                "num_layers": 2,
                "attention_types": [[["global", "near"], 1]],
            },
            "attention_types: a list of 1 is not a list of kinds (global, local) with repetitions",
        ),
        (
            {"model_type": "gpt_neo", "hidden_size": 8, "num_heads": 2, "num_layers": 2, "attention_types": [[["global"], 10**9]]},
            "attention_types: tells of 1000000000 layers, where num_layers is 2",
        ),
    ],
)
def test_other_models_get_one_line(config: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError) as refusal:
        open_checkpoint(write_folder(tmp_path, config, llama_tensors()))
    assert line in str(refusal.value)


def test_weights_that_are_no_numbers(tmp_path: Path) -> None:
    tensors = llama_tensors()
    tensors["model.layers.1.mlp.gate_proj.weight"][2, 3] = np.nan
    checkpoint = open_checkpoint(write_llama(tmp_path, tensors=tensors))
    with pytest.raises(CheckpointError, match=r"blocks.1.mlp.W_gate: has an entry that is infinite or not a number"):
        checkpoint.check_finite()


def test_a_reading_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="reading: 'exact' is not one of ideal, stored"):
        open_checkpoint(write_llama(tmp_path), reading="exact")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "asked",
    [
        ("trace", "--ids", "0,1,2", "--arithmetic", "float64"),
        ("grad", "--ids", "0,1,2", "--target", "1 2 0", "--arithmetic", "float64"),
        ("generate", "--ids", "0,1,2", "--max", "2", "--arithmetic", "float64", "--format", "json"),
        ("circuits", "--head", "0.0", "--distance", "1", "--decimals", "12"),
        ("prove", "--schedule", "kv-cache", "--ids", "0,1,2"),
    ],
    ids=lambda asked: asked[0],
)
def test_a_command_takes_a_reading(tmp_path: Path, asked: tuple[str, ...]) -> None:
    from click.testing import CliRunner

    from exactformer.cli import commands

    def said(source: str, reading: str) -> Any:
        return CliRunner().invoke(commands, [asked[0], source, *asked[1:], "--reading", reading])

    folder = str(write_llama(tmp_path))
    ideal, stored = said(folder, "ideal"), said(folder, "stored")
    assert ideal.exit_code == stored.exit_code == 0, stored.output
    assert asked[0] == "prove" or ideal.output != stored.output
    refused = said("capstone", "stored")
    assert refused.exit_code != 0
    assert "--reading stored: capstone has nothing that can be read in two ways" in str(refused.exception or "") + refused.output


def test_a_worksheet_says_which_reading_it_has(tmp_path: Path) -> None:
    assert load(str(write_llama(tmp_path)), "stored").reading.startswith("stored: rotary angles are position times the float32")


def test_random_settings_are_refused_in_a_line_or_read(tmp_path: Path) -> None:
    """Every value of every key, replaced by others."""
    write_llama(tmp_path)
    path, lines = tmp_path / "config.json", []
    config = llama_config(rope_parameters=LLAMA3)
    for key in [*config, "rope_theta", "rope_scaling", "pad_token_id", "partial_rotary_factor"]:
        for value in (
            None,
            True,
            0,
            1,
            -1,
            3,
            2**40,
            10**400,
            1.5,
            1e300,
            "",
            "x",
            [],
            {},
            [[]],
            {"rope_type": []},
            {"type": "linear"},
        ):
            path.write_text(json.dumps(config | {key: value}))
            try:
                open_checkpoint(tmp_path)
            except CheckpointError as error:
                lines.append(str(error))
    assert all(line.isprintable() and len(line) < 400 for line in lines)
    assert len(lines) > 150
