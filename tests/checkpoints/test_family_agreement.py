"""Every step of a float64 pass against the transformers library: some of what `python -m benchmarks.trials families` tries."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import transformers
from benchmarks.trials import families

from exactformer.arithmetics import arithmetic
from exactformer.checkpoints import open_checkpoint
from exactformer.model import forward


@pytest.fixture(autouse=True, scope="module")
def quiet() -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


@pytest.mark.parametrize("family", families.FAMILIES)
@pytest.mark.parametrize("seed", range(1000, 1004))
def test_every_step_agrees(family: str, seed: int) -> None:
    result = families.tried(family, seed)
    assert result.failed == ""
    assert result.steps > 10


@pytest.mark.parametrize("family", families.FAMILIES)
def test_the_ideal_reading_is_near(family: str, tmp_path: Path) -> None:
    """Over a few positions float32 angles hardly differ; where there are none, the two readings are one."""
    families.written(family, 1000, tmp_path)
    ideal, stored = (open_checkpoint(tmp_path, reading=reading) for reading in ("ideal", "stored"))
    ids = [0, 1, 2]
    first, second = (forward(one.model, ids, arithmetic("float64")) for one in (ideal, stored))
    slack = 0.02 if family.startswith("gemma") else 1e-5  # √dim in bfloat16 has eight bits
    np.testing.assert_allclose(first, second, rtol=slack, atol=slack)
    assert (ideal.reading == stored.reading) == (family == "gpt_neo")
    if family != "gpt_neo":
        assert ideal.reading.startswith("ideal: rotary angles are position")
        assert stored.model.config.rotary_frequencies != ()


@pytest.mark.parametrize("family", families.FAMILIES)
def test_one_key_more_is_refused(family: str, tmp_path: Path) -> None:
    """And so is every key that is taken for harmless with one value, with another."""
    families.written(family, 1001, tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    for key, value in (
        ("attention_softcap", 2),
        ("auto_map", {}),
        ("rope_thetas", 1),
        ("quantization_config", {}),
        ("num_experts", 2),
    ):
        path.write_text(json.dumps(config | {key: value}))
        with pytest.raises(ValueError, match=f"{key}.*(may change the network|is not supported)"):
            open_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("family", "place"), [("gpt_neo", "transformer.h.{}.attn.attention"), ("gpt_neox", "gpt_neox.layers.{}.attention")]
)
def test_masks_of_older_versions_are_checked(family: str, place: str, tmp_path: Path) -> None:
    """Those of blocks with a window have a window."""
    files = pytest.importorskip("safetensors.numpy")
    seed = next(n for n in range(1000, 1100) if _plain(family, n, tmp_path))
    config = open_checkpoint(tmp_path).model.config
    path, length = tmp_path / "model.safetensors", config.length or 0
    tensors = files.load_file(path)
    for n in range(config.blocks):
        window = config.sight_at(n).window or length
        mask = np.tri(length) - np.tri(length, k=-window)
        tensors[f"{place.format(n)}.bias"], tensors[f"{place.format(n)}.masked_bias"] = (
            mask[None, None].astype(bool),
            np.float32([-1e9]),
        )
    files.save_file(tensors, path)
    assert open_checkpoint(tmp_path).model.config == config, seed
    wrong = tensors | {f"{place.format(0)}.bias": np.ones((1, 1, length, length), dtype=bool)}
    files.save_file(wrong, path)
    with pytest.raises(ValueError, match=r"attention\.bias': is not what older versions saved under this name"):
        open_checkpoint(tmp_path)


def _plain(family: str, seed: int, folder: Path) -> bool:
    """A folder with its head, in one file of float32, in which some block has a window where the family has any."""
    for file in folder.iterdir():
        file.unlink()
    _, told = families.written(family, seed, folder)
    window = open_checkpoint(folder).model.config.window
    return told["float32"] == 1 and not told["sharded"] and not told["body alone"] and (window > 0) == (family == "gpt_neo")
