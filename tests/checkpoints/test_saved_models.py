"""Models that are saved and opened again are the same, bit for bit; what a format cannot say is refused by its name."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from exactformer.certificates.hash import model_hash
from exactformer.checkpoints import CheckpointError, save_checkpoint
from exactformer.messages import Refused
from exactformer.model import Config, Model
from exactformer.model.weights import assembled, declared
from exactformer.numbers import exact
from exactformer.worksheets import WorksheetError
from random_models import random_model
from sampling import counts, parts


def drawn(config: Config, seed: int, biases: str, dtype: Any = np.float32) -> Model:
    """Random floats for all weights: with biases everywhere, nowhere, or of some kinds."""
    rng = np.random.default_rng(seed)
    kept = {"all": lambda name: True, "none": lambda name: False, "qkv": lambda name: name.endswith(("b_Q", "b_K", "b_V"))}[biases]
    values = {}
    for name, weight in declared(config).items():
        if not weight.optional or (kept(name) and (name != "b_U" or config.shared_norm)):
            values[name] = rng.standard_normal(weight.shape).astype(dtype)
        if biases == "none" and name.endswith(".b"):
            values[name] = np.zeros(weight.shape, dtype)
    return Model(config, assembled(config, values))


def gpt(seed: int, **fields: Any) -> Config:
    rng = random.Random(seed)
    heads, width, length = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 5)
    given: dict[str, Any] = {
        "vocabulary": tuple("abcdef"[: rng.randint(1, 6)]),
        "dim": heads * width,
        "heads": heads,
        "blocks": rng.randint(1, 2),
        "norm": "pre",
        "final_norm": True,
        "epsilon": exact(rng.choice(("1e-5", "0.001", "0"))),
        "mask": "causal",
        "scale": "sqrt",
        "positions": "table",
        "length": length,
        "mlp": rng.randint(1, 5),
        "activation": rng.choice(("relu", "gelu", "gelu_tanh")),
        "unembedding": rng.choice(("tied", "own")),
    }
    given |= fields
    return Config(**(given if given["mlp"] else given | {"activation": None}))


def llama(seed: int, **fields: Any) -> Config:
    rng = random.Random(seed)
    kv, share, width = rng.randint(1, 2), rng.randint(1, 2), 2 * rng.randint(1, 2)
    given: dict[str, Any] = {
        "positions": "rotary",
        "norm_kind": "rms",
        "mlp_kind": "gated",
        "activation": rng.choice(("silu", "gelu_tanh")),
        "heads": kv * share,
        "kv_heads": kv,
        "head_dim": width,
        "dim": rng.randint(1, 6),
        "rotary_base": exact(rng.choice((10, 10000))),
    }
    return gpt(seed, **(given | fields))


GEMMA: dict[str, Any] = {"norm_unit": True, "embedding_scale": "sqrt", "activation": "gelu_tanh"}
LATER: dict[str, Any] = {"post_norms": True, "score_cap": exact(50), "logit_cap": exact(30), "unembedding": "tied"}

NARROW: dict[str, Any] = {"window": 2, "full_blocks": (1,), "blocks": 2}


def turned(seed: int, **fields: Any) -> Config:
    """As Phi and GPT-NeoX: LayerNorm, a plain MLP, heads that are turned in part."""
    width = 4 * random.Random(seed).randint(1, 2)
    given: dict[str, Any] = {"positions": "rotary", "heads": 2, "dim": 2 * width, "rotary_base": exact(10000), "unembedding": "own"}
    return gpt(seed, **(given | {"rotary_fraction": exact("1/2"), "rotary_pairs": "halves"} | fields))


def same(one: Model, other: Model) -> None:
    assert one.config == other.config
    mine, theirs = dict(one.weights.named()), dict(other.weights.named())
    assert mine.keys() == theirs.keys()
    for name, values in mine.items():
        floats = values if values.dtype != object else values.astype(object)
        assert all(exact_of(a) == exact_of(b) for a, b in zip(floats.flat, theirs[name].flat, strict=True)), name
    assert model_hash(one) == model_hash(other)


def exact_of(x: Any) -> Any:
    return xf.from_float(float(x)) if isinstance(x, np.floating) else x


@pytest.mark.parametrize("seed", parts(0, 30, 3))
@pytest.mark.parametrize(
    ("make", "biases", "fields", "said"),
    [
        (gpt, "all", {}, "GPT-2"),
        (gpt, "none", {}, "nanoGPT"),
        (gpt, "all", {"unembedding": "none"}, "GPT-2"),
        (gpt, "all", {"scale": "none", "scale_by_block": True}, "GPT-2"),
        (gpt, "qkv", {"unembedding": "own", "blocks": 1}, "TransformerLens"),
        (
            gpt,
            "all",
            {"unembedding": "own", "norm": "none", "final_norm": False, "epsilon": None, "mask": "none"},
            "TransformerLens",
        ),
        (
            gpt,
            "none",
            {"unembedding": "own", "mlp": 0, "norm": "none", "final_norm": False, "epsilon": None, "scale": exact("1/4")},
            "TransformerLens",
        ),
        (llama, "none", {}, "Llama"),
        (llama, "all", {"blocks": 2}, "Llama"),
        (llama, "none", {"window": 2}, "Mistral"),
        (llama, "qkv", {"blocks": 1}, "Qwen2"),
        (llama, "none", {"qk_norm": True}, "Qwen3"),
        (llama, "none", GEMMA, "Gemma"),
        (llama, "none", GEMMA | LATER, "Gemma2"),
        (llama, "none", GEMMA | LATER | NARROW | {"scale": 1 / xf.sqrt(7)}, "Gemma2"),
        (llama, "none", GEMMA | LATER | {"qk_norm": True, "score_cap": None, "logit_cap": None}, "Gemma3"),
        (llama, "none", GEMMA | LATER | NARROW | {"qk_norm": True, "score_cap": None, "window_rotary_base": exact(7)}, "Gemma3"),
        (turned, "all", {"shared_norm": True, "parallel": True}, "Phi"),
        (turned, "all", {"shared_norm": True, "parallel": True, "unembedding": "none"}, "Phi"),
        (turned, "all", {"parallel": True}, "GPTNeoX"),
        (turned, "all", {"unembedding": "tied"}, "GPTNeoX"),
    ],
)
def test_folders_are_opened_again(make: Any, biases: str, fields: Any, said: str, seed: int, tmp_path: Path) -> None:
    model = drawn(make(seed, **fields), seed, biases, (np.float32, np.float64, np.float16)[seed % 3])
    model.save(tmp_path / "saved")
    same(model, xf.load(tmp_path / "saved").model)
    assert save_checkpoint(model, tmp_path / "again") == said
    assert not list(tmp_path.glob(".*"))  # nothing is left behind


@pytest.mark.parametrize("count", counts(12, 300))
def test_worksheets_are_read_again(count: int, tmp_path: Path) -> None:
    rng = random.Random(11)
    for n in range(count):
        model = random_model(rng, positions="table")
        model.save(tmp_path / f"{n}.toml")
        same(model, xf.load(tmp_path / f"{n}.toml").model)


def test_floats_become_fractions_in_a_worksheet(tmp_path: Path) -> None:
    model = drawn(gpt(3), 3, "all", np.float16)
    model.save(tmp_path / "it.toml")
    same(model, xf.load(tmp_path / "it.toml").model)


def test_examples_are_saved_with_their_input(tmp_path: Path) -> None:
    for name in ("capstone", "induction", "llama"):
        sheet = xf.load(name)
        sheet.save(tmp_path / f"{name}.toml")
        again = xf.load(tmp_path / f"{name}.toml")
        assert (again.tokens, again.title) == (sheet.tokens, sheet.title)
        same(sheet.model, again.model)


def test_a_built_in_model_keeps_its_tokenizer(tmp_path: Path) -> None:
    stories = xf.load("stories")
    stories.save(tmp_path / "stories")
    again = xf.load(tmp_path / "stories")
    assert again.pieces("Once upon") == stories.pieces("Once upon")
    assert model_hash(again.model) == model_hash(stories.model)


def test_what_cannot_be_said_is_named(tmp_path: Path) -> None:
    config = gpt(1, blocks=1)
    model = drawn(config, 1, "all")

    def embedded(entry: Any) -> Model:
        return Model(config, replace(model.weights, W_E=xf.array([[entry] * config.dim] * len(config.vocabulary))))

    cases: list[tuple[Model, str]] = [
        (xf.load("capstone").model, "norm: 'post' cannot be said by a folder of nanoGPT"),
        (replace(model, config=replace(config, mask="strict")), "mask: 'strict' cannot"),
        (replace(model, config=replace(config, scale=exact(3))), "scale: '3' cannot"),
        (replace(model, config=replace(config, epsilon=exact("1/3"))), "epsilon: '1/3' cannot"),
        (replace(model, config=replace(config, parallel=True)), "parallel: True cannot"),
        (replace(model, config=replace(config, residual=False)), "residual: False cannot"),
        (replace(model, config=replace(config, activation="identity")), "activation_function"),
        (Model(config, replace(model.weights, b_U=np.ones(len(config.vocabulary)))), "b_U: a weight that is there cannot"),
        (embedded("1/3"), "'1/3' is not a float"),
    ]
    for n, (case, said) in enumerate(cases):
        with pytest.raises(CheckpointError, match=said):
            case.save(tmp_path / f"case{n}")
    assert not list(tmp_path.iterdir())
    with pytest.raises(WorksheetError, match="length: 7 cannot be said by a worksheet"):
        Model(replace(config, positions="none", length=7), replace(model.weights, W_pos=None)).save(tmp_path / "it.toml")
    with pytest.raises(WorksheetError, match="scale_by_block: True cannot"):
        replace(model, config=replace(config, scale_by_block=True)).save(tmp_path / "it.toml")
    with pytest.raises(WorksheetError, match=r"W_E\[0,0\]: '√2' is not a fraction"):
        embedded(xf.sqrt(2)).save(tmp_path / "it.toml")
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    model = drawn(gpt(1), 1, "all")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(CheckpointError, match="is there already"):
        model.save(tmp_path / "full")
    with pytest.raises(Refused, match="neither a folder nor a worksheet"):
        model.save(tmp_path / "model.pt")
    (tmp_path / "empty").mkdir()
    model.save(tmp_path / "empty")
    assert sorted(path.name for path in (tmp_path / "empty").iterdir()) == ["config.json", "model.safetensors", "words.json"]
