"""Model folders: what they say of themselves, and their weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.engines.engine import Unable, Weights


def config_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return found


def llama_config(folder: Path) -> dict[str, Any]:
    config = config_of(folder)
    if config["model_type"] != "llama":
        raise Unable(f"models of the kind {config['model_type']} are not written for it here")
    return config


def rope_base(config: dict[str, Any]) -> float:
    return float(config.get("rope_parameters", config)["rope_theta"])


def weights_of(folder: Path) -> Weights:
    """In float32, which holds bfloat16, by the names of the file."""
    from safetensors.torch import load_file

    return {name: tensor.float().numpy() for name, tensor in load_file(folder / "model.safetensors").items()}


def write_folder(folder: Path, config: dict[str, Any], weights: Weights) -> Path:
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    save_file({name: values.copy() for name, values in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    return folder
