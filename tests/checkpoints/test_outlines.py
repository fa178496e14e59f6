"""A model by its configuration: the same shapes as those of the folder, in every family, and nothing of its weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gpt2_files import small_config, small_tensors, write_folder

from exactformer.checkpoints import CheckpointError, open_checkpoint, outline_checkpoint
from exactformer.checkpoints.opening import FAMILIES, PLANS
from exactformer.model import Model

NAMES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}


def shapes(model: Model) -> dict[str, tuple[int, ...]]:
    return {name: values.shape for name, values in model.weights.named()}


def same(folder: Path, dtype: str) -> None:
    """A folder, its outline, and that of its config.json, which says in which floats its weights are."""
    whole, outline = open_checkpoint(folder), outline_checkpoint(folder)
    config = json.loads((folder / "config.json").read_text())
    alone = folder.parent / "alone.json"
    alone.write_text(json.dumps({key: v for key, v in config.items() if key != "dtype"} | {"torch_dtype": NAMES[dtype]}))
    by_config = outline_checkpoint(alone)
    assert whole.model.config == outline.model.config == by_config.model.config
    assert shapes(whole.model) == shapes(outline.model) == shapes(by_config.model)
    assert (outline.dtype, outline.folder, by_config.dtype, by_config.folder) == (dtype, folder, dtype, None)
    assert (outline.name, by_config.name) == (whole.name, "alone")
    assert outline.size > 0 == by_config.size


@pytest.mark.parametrize("family", PLANS)
def test_every_family_of_the_library(family: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from benchmarks.trials import families

    for seed in (1001, 1002):
        folder = tmp_path / str(seed) / "m"
        _, told = families.written(family, seed, folder)
        same(folder, next(dtype for dtype, name in NAMES.items() if told[name]))


@pytest.mark.parametrize("more", [{}, {"tie_word_embeddings": False}, {"n_inner": 7}])
def test_gpt2(tmp_path: Path, more: dict[str, Any]) -> None:
    tensors = small_tensors(inner=more.get("n_inner", 16))
    if more.get("tie_word_embeddings") is False:
        tensors["lm_head.weight"] = tensors["wte.weight"] + 1
    same(write_folder(tmp_path / "m", small_config(**more), tensors), "F32")


def test_the_families_are_all_that_are_opened() -> None:
    assert set(FAMILIES) == {"gpt2", *PLANS}


def test_nano_gpt_is_outlined_tied_where_nothing_shows_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "nano.json"
    path.write_text(json.dumps({"n_layer": 2, "n_head": 2, "n_embd": 4, "block_size": 5, "vocab_size": 3, "bias": False}))
    found = outline_checkpoint(path)
    assert (found.model.config.unembedding, found.dtype, found.size) == ("tied", "F32", 0)


def test_an_outline_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(small_config(n_embd=131_072, n_head=1024, n_layer=3, vocab_size=100, n_positions=2**31 - 1)))
    model = outline_checkpoint(path).model
    assert sum(values.size for _, values in model.weights.named()) > 2**45
    assert not any(any(values.strides) for _, values in model.weights.named())


@pytest.mark.parametrize("field", ["n_layer", "n_embd", "n_head", "vocab_size", "n_inner"])
def test_sizes_are_limited_where_no_file_has_to_be_large_for_them(tmp_path: Path, field: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(small_config(**{field: 2**30})))
    with pytest.raises(CheckpointError, match=f"{field}: 1,073,741,824 is more than a plan is made for"):
        outline_checkpoint(path)


def test_folders_that_there_are_not(tmp_path: Path) -> None:
    for path, problem in ((tmp_path, "has no config.json"), (tmp_path / "x.json", "there is no such file")):
        with pytest.raises(CheckpointError, match=problem):
            outline_checkpoint(path)
