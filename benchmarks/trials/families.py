"""Folders that the transformers library writes, of every family and with random settings: each step of a float64 pass is compared
with the library's own.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers

from benchmarks.library_peer import body, library_steps
from benchmarks.result import Progress, Result, Table
from exactformer.arithmetics import arithmetic
from exactformer.checkpoints import open_checkpoint
from exactformer.model import Model, Step, forward

NUMBER = 100  # of each family
TOLERANCE = 1e-9
_ACTIVATIONS = ("silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu")
_CLASSES = {
    "llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "gemma": "Gemma", "gemma2": "Gemma2",
    "gemma3_text": "Gemma3", "phi": "Phi", "gpt_neox": "GPTNeoX", "gpt_neo": "GPTNeo",
}  # fmt: skip
FAMILIES = tuple(_CLASSES)


@dataclass
class Tried:
    steps: int = 0
    worst: float = 0.0  # of |ours − theirs| / (1 + |theirs|)
    at: str = ""
    kinds: Counter[str] = field(default_factory=Counter)
    failed: str = ""


def random_config(family: str, rng: random.Random) -> Any:
    """Every setting that is read comes up."""
    heads = rng.choice((1, 2, 3, 4))
    kv_heads = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
    width = rng.choice((2, 4, 6, 8))
    sizes: dict[str, Any] = {
        "vocab_size": rng.randint(5, 40), "hidden_size": heads * width, "intermediate_size": rng.randint(3, 20),
        "num_hidden_layers": rng.randint(1, 3), "num_attention_heads": heads, "num_key_value_heads": kv_heads,
        "max_position_embeddings": rng.randint(8, 24), "tie_word_embeddings": rng.random() < 0.5, "bos_token_id": 0,
        "eos_token_id": 1, "pad_token_id": None, "rope_parameters": _rope(rng),
    }  # fmt: skip
    epsilon, activation = rng.choice((1e-5, 1e-6, 0.001)), rng.choice(_ACTIVATIONS)
    layers = sizes["num_hidden_layers"]
    windows = [rng.choice(("full_attention", "sliding_attention")) for _ in range(layers)]
    listed = {"layer_types": windows if rng.random() < 0.7 else None}
    match family:
        case "llama":
            more = {"head_dim": _head_dim(rng, width), "attention_bias": rng.random() < 0.5, "mlp_bias": rng.random() < 0.5}
        case "mistral":
            more = {"head_dim": _head_dim(rng, width), "sliding_window": rng.choice((None, 1, 2, 5, 100))}
        case "qwen2" | "qwen3":
            slides = rng.random() < 0.6
            more = {"use_sliding_window": slides, "sliding_window": rng.choice((1, 3, 6)), "max_window_layers": rng.randint(0, 3)}
            more |= listed if slides else {}
            more |= {"head_dim": rng.choice((2, 4, 8)), "attention_bias": rng.random() < 0.5} if family == "qwen3" else {}
        case "gemma":
            more = {"head_dim": rng.choice((2, 4, 8)), "attention_bias": rng.random() < 0.5}
        case "gemma2" | "gemma3_text":
            more = {
                "head_dim": rng.choice((2, 4, 8)), "query_pre_attn_scalar": rng.choice((4, 7, 256)),
                "sliding_window": rng.choice((1, 3, 6)), "hidden_activation": activation, "attention_bias": rng.random() < 0.5,
                "final_logit_softcapping": rng.choice((None, 30.0, 2.5)), **listed,
            }  # fmt: skip
            if family == "gemma2":
                more["attn_logit_softcapping"] = rng.choice((None, 50.0, 1.5))
            else:
                more["sliding_window_pattern"] = rng.choice((2, 3, 6))
                sizes["rope_parameters"] = {"full_attention": _rope(rng), "sliding_attention": _rope(rng)}
        case "phi":
            sizes["rope_parameters"]["partial_rotary_factor"] = _fraction(rng, width)
            more = {"layer_norm_eps": epsilon}
        case "gpt_neox":
            del sizes["num_key_value_heads"]
            sizes["rope_parameters"]["partial_rotary_factor"] = _fraction(rng, width)
            more = {"layer_norm_eps": epsilon, "use_parallel_residual": rng.random() < 0.6, "attention_bias": rng.random() < 0.7}
        case _:
            kinds = [rng.choice(("global", "local")) for _ in range(rng.randint(1, 2))]
            more = {"attention_types": [[kinds, rng.randint(1, 2)]], "window_size": rng.choice((1, 3, 6, 100))}
            more |= {"num_layers": len(kinds) * more["attention_types"][0][1], "num_heads": heads, "layer_norm_epsilon": epsilon}
            more["activation_function"] = activation
            for name in ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "rope_parameters"):
                del sizes[name]
            sizes["intermediate_size"] = rng.choice((None, sizes["intermediate_size"]))
    if family not in ("phi", "gpt_neox", "gpt_neo"):
        more["rms_norm_eps"] = epsilon
    if family not in ("gemma2", "gemma3_text", "gpt_neo"):
        more["hidden_act"] = activation
    kind = f"{_CLASSES[family]}{'Text' if family == 'gemma3_text' else ''}Config"
    return getattr(transformers, kind)(**sizes, **more)


def _head_dim(rng: random.Random, width: int) -> int | None:
    return rng.choice((None, width, 4, 8))


def _fraction(rng: random.Random, width: int) -> float:
    return rng.choice([2 * n / width for n in range(1, width // 2 + 1)])


def _rope(rng: random.Random) -> dict[str, Any]:
    base = {"rope_theta": rng.choice((10000.0, 500000.0, 1000000.0, 100.0, 12345.6))}
    match rng.choice(("default", "default", "linear", "llama3")):
        case "linear":
            return base | {"rope_type": "linear", "factor": rng.choice((2.0, 8.0, 1.7))}
        case "llama3":
            spread = {"low_freq_factor": 1.0, "high_freq_factor": rng.choice((4.0, 2.5))}
            original = rng.choice((8, 40, 8192))
            return (
                base
                | spread
                | {"rope_type": "llama3", "factor": rng.choice((8.0, 3.0)), "original_max_position_embeddings": original}
            )
        case _:
            return base | {"rope_type": "default"}


def random_weights(model: Any, seed: int) -> None:
    """Biases and gains too: the library starts them at 0 and 1, where mistakes do not show."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            gain = 1.0 if parameter.ndim == 1 and parameter.std() == 0 and parameter.mean() == 1 else 0.0
            parameter.copy_(torch.randn_like(parameter) * 0.4 + gain)


def _older(folder: Path) -> None:
    """config.json as versions before 5 wrote it."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    given = config.pop("rope_parameters", None)
    if given is None:
        return
    if config["model_type"] == "gemma3_text":
        local = given["sliding_attention"]
        if local["rope_type"] != "default":
            return
        config["rope_local_base_freq"], given = local["rope_theta"], given["full_attention"]
    names = {"gpt_neox": ("rotary_emb_base", "rotary_pct")}.get(config["model_type"], ("rope_theta", "partial_rotary_factor"))
    for name, older in zip(("rope_theta", "partial_rotary_factor"), names, strict=True):
        if name in given:
            config[older] = given.pop(name)
    kind = given.pop("rope_type")
    name = "rope_type" if config["model_type"] == "gemma3_text" else "type"
    config["rope_scaling"] = None if kind == "default" else {name: kind, **given}
    path.write_text(json.dumps(config))


def written(family: str, seed: int, folder: Path) -> tuple[Any, Counter[str]]:
    """A random model of a family, saved; and what is special about it."""
    rng = random.Random(f"{family} {seed}")
    config = random_config(family, rng)
    alone = rng.random() < 0.1
    kind = f"{_CLASSES[family]}{'TextModel' if family == 'gemma3_text' else 'Model'}" if alone else f"{_CLASSES[family]}ForCausalLM"
    model = getattr(transformers, kind)(config).eval()
    random_weights(model, seed)
    dtype = rng.choice(("float32", "float32", "float16", "bfloat16"))
    sharded, older = rng.random() < 0.2, rng.random() < 0.3
    saved = model if dtype == "float32" else model.to(getattr(torch, dtype))
    saved.save_pretrained(folder, **({"max_shard_size": 600} if sharded else {}))
    if older:
        _older(folder)
    if dtype != "float32" or older:  # read anew: settings are taken, and tables have the type, as for who reads the folder
        model = type(model).from_pretrained(folder, dtype="auto").eval()
    told = Counter({dtype: 1, "sharded": sharded, "settings of an older version": older, "body alone": alone})
    return model.double(), told


def same_frequencies(model: Any, ours: Model) -> tuple[int, int]:
    """How many inverse frequencies of the library are those of the reading "stored", and how many are next to them: these are then
    replaced by ours. (The power function that they come from is not rounded to nearest always.)
    """
    inner = body(model)
    if not hasattr(inner, "rotary_emb"):
        return 0, 0
    same = near = 0
    for name, values in inner.rotary_emb.named_buffers():
        if "original" in name:
            continue
        rotary = ours.config.window_rotary if name.startswith("sliding") and ours.config.window else ours.config.rotary
        expected = np.array([frequency.to_float() for frequency in rotary.frequencies])
        units = np.abs(values.numpy() - expected) / np.spacing(expected.astype(np.float32)).astype(np.float64)
        if name.startswith("full") and len(ours.config.full_blocks) == 0 and ours.config.window:
            continue
        assert (units <= 4).all(), f"{name} differs by {units.max()} units"
        same, near = same + int((units == 0).sum()), near + int((units > 0).sum())
        values.copy_(torch.tensor(expected))
    return same, near


def tried(family: str, seed: int, tolerance: float = TOLERANCE) -> Tried:
    with tempfile.TemporaryDirectory() as folder:
        model, told = written(family, seed, Path(folder))
        result = Tried(kinds=told)
        ours = open_checkpoint(folder, reading="stored").model
        result.kinds["inverse frequencies equal"], result.kinds["inverse frequencies next to ours"] = same_frequencies(model, ours)
        rng = random.Random(seed)
        ids = [rng.randrange(len(ours.config.vocabulary)) for _ in range(rng.randint(3, ours.config.length or 3))]
        steps: dict[str, Any] = {}

        def note(step: Step) -> Any:
            steps[step.name] = step.values
            return step.values

        forward(ours, ids, arithmetic("float64"), note)
        for name, expected in library_steps(model, ids).items():
            mine = _ours(steps, name, ours)
            if mine is None or mine.shape != expected.shape:
                result.failed = f"{family} {seed}: {name} has no counterpart of its shape"
                return result
            error = float((np.abs(mine - expected) / (1 + np.abs(expected))).max())
            result.steps += 1
            if not error <= result.worst:
                result.worst, result.at = error, name
    if not result.worst <= tolerance:
        result.failed = f"{family} {seed}: {result.at} differs by {result.worst:.2g}"
    return result


def _ours(steps: dict[str, Any], name: str, model: Model) -> Any:
    block, _, last = name.rpartition(".")
    if last == "qkv":
        return np.concatenate([steps[f"{block}.{letter}"] for letter in "qkv"], axis=-1)
    if last == "second":
        return steps[f"{block}.resid_pre" if model.config.parallel else f"{block}.resid_mid"]
    return steps.get(name)


def trials(number: int, seed: int = 0) -> Iterator[tuple[str, Tried]]:
    for family in FAMILIES:
        for n in range(seed, seed + number):
            yield family, tried(family, n)


def run(progress: Progress) -> Result:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    rows, failed, kinds = [], [], Counter[str]()
    worst = {family: Tried() for family in FAMILIES}
    for n, (family, result) in enumerate(trials(NUMBER), 1):
        kinds += result.kinds
        worst[family].steps += result.steps
        if result.worst >= worst[family].worst:
            worst[family].worst, worst[family].at = result.worst, result.at
        failed += [result.failed] if result.failed else []
        if n % NUMBER == 0:
            progress(
                f"{family}: {worst[family].steps:,} steps compared, {worst[family].worst:.1e} apart at most, {len(failed)} failed"
            )
    for family, all_of_it in worst.items():
        rows.append((family, f"{NUMBER}", f"{all_of_it.steps:,}", f"{all_of_it.worst:.1e}"))
    told = (
        f"{NUMBER} folders of each family, written by the transformers library ({transformers.__version__}) with random sizes, "
        "settings and weights, and opened here with the reading “stored”. Every step that the library computes is compared in "
        "float64: the largest |ours − theirs| / (1 + |theirs|). The library's own code runs with float64 in the place of "
        "float32, which it uses in norms, softmax and rotary tables."
    )
    table = Table(("family", "folders", "steps compared", "furthest apart"), tuple(rows))
    met = Table(("met with", "number"), tuple((name, f"{count:,}") for name, count in kinds.items()))
    return Result(
        "trials_families",
        "Families of models against the transformers library",
        (told, table, met, f"{len(failed)} differ by more than {TOLERANCE:g}."),
        {"worst": {family: one.worst for family, one in worst.items()}, "counts": dict(kinds), "failed": failed},
    )
