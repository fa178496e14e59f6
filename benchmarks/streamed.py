"""Models that are read as they are needed: the next token proved without keeping slices, and the memory that it takes."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import gpt2_peer, llama_peer
from benchmarks.alone import alone, resident
from benchmarks.result import Progress, Result, Table
from benchmarks.synthetic import SHAPES, write_model
from exactformer.certificates import Prepared, prove_token
from exactformer.checkpoints import open_checkpoint
from exactformer.checkpoints.safetensors import Tensor, read_tensors

MEASURED = ("smollm2-135m", "qwen2.5-0.5b", "gpt2-xl")
LENGTH = 8
AIM = 2.5  # times the file
ROOM = 16e9  # bytes for the last


def run(progress: Progress) -> Result:
    measured = {}
    for name in MEASURED:
        with tempfile.TemporaryDirectory() as folder:
            alone(1, write_model, SHAPES[name], Path(folder))
            progress(f"streamed {name}: written")
            found = measured[name] = alone(1, _certified, Path(folder))
            expected = alone(1, _floats, Path(folder))
            found["file"] = (Path(folder) / "model.safetensors").stat().st_size
        if found["token"] not in (None, expected):
            raise AssertionError(f"{name}: {found['token']} is proved, and {expected} is the token of the floats")
        progress(f"streamed {name}: {found['why'] or 'proved'}, {found['memory'] / 1e9:.2f} GB")
    return _result(measured)


# -- each in a process
def _certified(folder: Path) -> dict[str, Any]:
    model = open_checkpoint(folder).model
    opened, prepared = resident(), Prepared(model, keep=False)
    start = time.process_time()
    prepared.prepare()
    once = time.process_time() - start
    found = prove_token(model, _ids(len(model.config.vocabulary)), prepared=prepared)
    spent = time.process_time() - start - once
    return {
        "token": found.token, "why": found.why, "opened": opened, "memory": resident(), "prepared": once, "seconds": spent,
        "limbs": max(found.schedule),
    }  # fmt: skip


def _floats(folder: Path) -> int:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights, ids = _Wide(read_tensors(folder / "model.safetensors")), _ids(settings["vocab_size"])
    if settings["model_type"] == "gpt2":
        return int(np.argmax(gpt2_peer.forward(weights, ids, settings["n_head"], last_only=True)))
    return int(np.argmax(llama_peer.forward(settings, weights, ids)))


class _Wide(Mapping[str, Any]):
    """The tensors of a file, each made float64 when it is asked for."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = tensors

    def __getitem__(self, name: str) -> Any:
        return self.tensors[name].array().astype(np.float32).astype(np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def _ids(vocabulary: int) -> list[int]:
    return [int(i) for i in np.random.default_rng(LENGTH).integers(0, vocabulary, LENGTH)]


# -- what is told
def _result(measured: dict[str, Any]) -> Result:
    text = (
        f"One token after {LENGTH}, proved by a process that keeps no slices: each matrix is read from the file, cut and given "
        "back when it has been multiplied. Shapes of well-known models with random weights in bfloat16 that look trained "
        "(`benchmarks/synthetic.py`). *opened*: the most that was resident when the model was open; *memory*: in all, pages of "
        f"the mapped file included; *ratio* to the file (aim: {AIM}). *norms and scout*, once a model, and the *pass*: processor "
        f"time on one thread. The token is that of plain NumPy in float64. GPT-2 XL's shape is to fit into {ROOM / 1e9:.0f} GB."
    )
    columns = ("shape", "file", "opened", "memory", "ratio", "norms and scout", "pass", "most limbs", "proved")
    rows = tuple(
        (
            name, _gigabytes(found["file"]), _gigabytes(found["opened"]), _gigabytes(found["memory"]),
            f"{found['memory'] / found['file']:.2f}", f"{found['prepared']:.0f} s", f"{found['seconds']:.0f} s",
            str(found["limbs"]), "yes" if found["token"] is not None else f"no: {found['why']}",
        )
        for name, found in measured.items()
    )  # fmt: skip
    return Result("streamed", "Models read as they are needed", (text, Table(columns, rows)), measured)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
