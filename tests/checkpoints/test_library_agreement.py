"""Every step of a float64 pass against GPT-2 of the transformers library, on folders that the library wrote."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from gpt2_files import random_library_config  # noqa: E402
from transformers import GPT2LMHeadModel, GPT2Model  # noqa: E402
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: E402

from exactformer.checkpoints import open_checkpoint  # noqa: E402
from exactformer.trace import run  # noqa: E402


def random_weights(model: Any, seed: int) -> None:
    """Biases and gains too: the library starts them at 0 and 1, where mistakes do not show."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5 + (1.0 if "ln_" in name and name.endswith("weight") else 0.0))


def library_steps(model: Any, ids: list[int]) -> dict[str, np.ndarray]:
    """What the library computes at the points that the steps are named after, in float64."""
    found: dict[str, Any] = {}
    body = model.transformer if hasattr(model, "transformer") else model
    hooks = []

    def keep(name: str, module: Any, of_input: bool = False) -> None:
        def hook(module: Any, inputs: Any, output: Any) -> None:
            value = inputs[0] if of_input else output[0] if isinstance(output, tuple) else output
            found[name] = value.detach()

        hooks.append(module.register_forward_hook(hook))

    def keep_norm(name: str, module: Any) -> None:
        keep(f"{name}.in", module, of_input=True)
        keep(f"{name}.out", module)

    def attention(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float, **rest: Any) -> Any:
        name, length = f"blocks.{module.layer_idx}.attn", query.shape[2]
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        found.update({f"{name}.q": query[0], f"{name}.k": key[0], f"{name}.v": value[0]})
        found[f"{name}.qk"] = query[0] @ key[0].mT
        found[f"{name}.scores"] = found[f"{name}.qk"] * scaling
        found[f"{name}.masked"] = found[f"{name}.scores"].masked_fill(hidden, -torch.inf)
        found[f"{name}.pattern"] = found[f"{name}.masked"].softmax(-1)
        out, _ = ALL_ATTENTION_FUNCTIONS["sdpa"](module, query, key, value, None, scaling=scaling, is_causal=True)
        found[f"{name}.z"] = out[0].transpose(0, 1)  # the library's own, not made of the lines above
        return out, None

    keep("embed", body.wte)
    keep("pos_embed", body.wpe)
    for n, block in enumerate(body.h):
        b = f"blocks.{n}"
        keep(f"{b}.resid_pre", block, of_input=True)
        keep_norm(f"{b}.ln1", block.ln_1)
        keep(f"{b}.attn.out", block.attn)
        keep(f"{b}.resid_mid", block.ln_2, of_input=True)
        keep_norm(f"{b}.ln2", block.ln_2)
        keep(f"{b}.mlp.pre", block.mlp.c_fc)
        keep(f"{b}.mlp.post", block.mlp.act)
        keep(f"{b}.mlp.out", block.mlp)
        keep(f"{b}.resid_post", block)
    keep_norm("ln_final", body.ln_f)
    ALL_ATTENTION_FUNCTIONS.register("watched", attention)
    model.set_attn_implementation("watched")
    with torch.no_grad():
        result = model(torch.tensor([ids]), use_cache=False)
    for hook in hooks:
        hook.remove()
    if hasattr(result, "logits"):
        found["logits"], found["probs"] = result.logits, result.logits.softmax(-1)
    for name in [name for name in found if name.endswith(".in")]:
        x, norm = found.pop(name), name.removesuffix(".in")
        centered = x - x.mean(-1, keepdim=True)
        variance = centered.square().mean(-1, keepdim=True)
        found |= {f"{norm}.mean": x.mean(-1, keepdim=True), f"{norm}.centered": centered, f"{norm}.var": variance}
        found[f"{norm}.std"] = (variance + model.config.layer_norm_epsilon).sqrt()
    attention_steps = ("q", "k", "v", "qk", "scores", "masked", "pattern", "z")
    return {
        name: (x if name.rpartition(".")[2] in attention_steps else x[0] if x.ndim == 3 else x).numpy() for name, x in found.items()
    }


def compare(folder: Path, model: Any, ids: list[int], arithmetic: str = "float64", tolerance: float = 1e-9) -> None:
    """All steps of ours have a counterpart in the library, and all of the library's in ours."""
    expected = library_steps(model.double(), ids)
    trace = run(open_checkpoint(folder).model, [str(i) for i in ids], arithmetic)
    steps = {step.name: step.values for step in trace.steps if step.op != "argmax"}
    unscaled = {name for name in expected if name.endswith(".qk") and name not in steps}  # where the scale is 1
    assert set(steps) == set(expected) - unscaled
    for name, values in steps.items():
        np.testing.assert_allclose(values, expected[name], rtol=tolerance, atol=tolerance, err_msg=f"{folder.name} {name}")


@pytest.mark.parametrize("seed", range(60))
def test_every_step_agrees(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    config = random_library_config(rng)
    model = GPT2LMHeadModel(config).eval()
    random_weights(model, seed)
    sharded = seed % 3 == 0
    model.save_pretrained(tmp_path, **({"max_shard_size": 300} if sharded else {}))
    assert (tmp_path / "model.safetensors.index.json").exists() == sharded
    ids = [rng.randrange(config.vocab_size) for _ in range(rng.randint(1, config.n_positions))]
    compare(tmp_path, model, ids)


def test_the_body_alone(tmp_path: Path) -> None:
    rng = random.Random(1)
    config = random_library_config(rng)
    model = GPT2Model(config).eval()
    random_weights(model, 1)
    model.save_pretrained(tmp_path)
    compare(tmp_path, model, [0, 1, 1])


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_short_floats_are_the_numbers_that_they_are(kind: str, tmp_path: Path) -> None:
    config = random_library_config(random.Random(2))
    model = GPT2LMHeadModel(config).eval()
    random_weights(model, 2)
    model.to(getattr(torch, kind)).save_pretrained(tmp_path)
    compare(tmp_path, model, [0, 1, 0, 1])


def test_float32(tmp_path: Path) -> None:
    config = random_library_config(random.Random(3))
    model = GPT2LMHeadModel(config).eval()
    random_weights(model, 3)
    model.save_pretrained(tmp_path)
    compare(tmp_path, model, [1, 0, 1], "float32", 1e-3)
