"""What engines give, as the files that the referee reads. Each engine runs in a process of its own: one that dies is listed."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import ctranslate, jax_forward, llama_cpp, onnx_runtimes, torch_transformers
from benchmarks.engines.engine import Engine, Unable
from benchmarks.engines.folders import config_of, write_folder
from benchmarks.engines.models import Case, written

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for module in (torch_transformers, onnx_runtimes, jax_forward, ctranslate, llama_cpp)
    for engine in module.ENGINES
}


def apart(function: Any, *arguments: Any) -> Any:
    """The result of a function in a new process, so that engines do not meet each other's threads and settings."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            raise Unable("its process died") from None


def write_texts(case: Case, work: Path, number: int) -> Path:
    """ids.npy, and beside it the model as a folder."""
    path = work / "ids.npy"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        _save(path, lambda file: np.save(file, written(case.folder(work), case.begin, number)))
    return path


def write_outputs(name: str, case: Case, work: Path) -> str:
    """NAME.npz with ids and logits; empty, or why there is none. What is there already stays."""
    path, engine = work / f"{name}.npz", ENGINES[name]
    if path.exists():
        return ""
    try:
        engine.versions()
        ids = np.load(work / "ids.npy")
        outputs = engine.run(case.folder(work), ids)
        if engine.dequantised is not None:
            folder = case.folder(work)
            write_folder(work / f"{name}-weights", config_of(folder), engine.dequantised(folder))
    except Unable as reason:
        return str(reason)
    except Exception as error:  # whatever an engine raises is why it cannot run this model
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    _save(path, lambda file: np.savez(file, ids=ids, **outputs))
    return ""


def _save(path: Path, write: Any) -> None:
    """Whole, or not at all."""
    temporary = path.with_name(f".{path.name}")
    with temporary.open("wb") as file:
        write(file)
    temporary.replace(path)
