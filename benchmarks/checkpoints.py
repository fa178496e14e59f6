"""A float64 pass at the size of GPT-2 small, from a model file: against GPT-2 as one writes it in NumPy."""

from __future__ import annotations

import gc
import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import gpt2_peer
from benchmarks.alone import alone
from benchmarks.result import Progress, Result, Table
from exactformer.arithmetics import arithmetic
from exactformer.checkpoints import open_checkpoint
from exactformer.checkpoints.safetensors import read_tensors
from exactformer.model import forward

VOCABULARY, DIM, BLOCKS, HEADS, POSITIONS = 50257, 768, 12, 12, 1024
LENGTHS, ROUNDS = (1, 16, 128, 512), 7
AGREE = 1e-12  # to which all logits must agree, or there is nothing to compare


def run(progress: Progress) -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_random_gpt2(folder)
        opened = _alone(_opening, folder)
        progress(f"checkpoints: {(folder / 'model.safetensors').stat().st_size:,} bytes opened in {opened:.3g} s")
        times = {}
        for length in LENGTHS:
            times[length] = _alone(_ratios, folder, length)
            progress(f"checkpoints T={length}: {median(times[length]):.3g} × the time of NumPy")
        ours, theirs = (_alone(_memory, folder, side) for side in ("ours", "theirs"))
        progress(f"checkpoints T={POSITIONS}: {ours[0] / theirs[0]:.3g} × the memory of NumPy")
    return _result(opened, times, ours, theirs)


def write_random_gpt2(folder: Path) -> None:
    """A folder as the transformers library writes it, with random weights."""
    shapes = dict(_shapes())
    header, reached = {}, 0
    for name, shape in shapes.items():
        end = reached + 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [reached, end]}
        reached = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.default_rng(0)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in shapes.items():
            one = float("ln_" in name and name.endswith("weight"))
            file.write((one + 0.02 * random.standard_normal(shape, dtype=np.float32)).astype("<f4").tobytes())
    config = {
        "model_type": "gpt2", "n_layer": BLOCKS, "n_head": HEADS, "n_embd": DIM, "vocab_size": VOCABULARY, "n_positions": POSITIONS,
        "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))


def _shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    yield from (("wte.weight", (VOCABULARY, DIM)), ("wpe.weight", (POSITIONS, DIM)))
    for n in range(BLOCKS):
        for name, rows, columns in (
            ("attn.c_attn", DIM, 3 * DIM), ("attn.c_proj", DIM, DIM), ("mlp.c_fc", DIM, 4 * DIM), ("mlp.c_proj", 4 * DIM, DIM),
        ):  # fmt: skip
            yield from ((f"h.{n}.{name}.weight", (rows, columns)), (f"h.{n}.{name}.bias", (columns,)))
        for name in ("ln_1", "ln_2"):
            yield from ((f"h.{n}.{name}.weight", (DIM,)), (f"h.{n}.{name}.bias", (DIM,)))
    yield from (("ln_f.weight", (DIM,)), ("ln_f.bias", (DIM,)))


# -- each measurement in a process of its own, with one thread: threads that wait for each other count as processor time
_alone = partial(alone, 1)


def _opening(folder: Path) -> float:
    start = time.perf_counter()
    open_checkpoint(folder)
    return time.perf_counter() - start


def _ours(folder: Path) -> Callable[[list[int]], Any]:
    model, ops = open_checkpoint(folder).model, arithmetic("float64")

    def note(step: Any) -> Any:
        return step.values

    return lambda ids: forward(model, ids, ops, note)


def _theirs(folder: Path) -> Callable[[list[int]], Any]:
    tensors = read_tensors(folder / "model.safetensors")
    weights = gpt2_peer.load({name: tensor.array() for name, tensor in tensors.items()})
    return lambda ids: gpt2_peer.forward(weights, ids, HEADS)


def _ids(length: int) -> list[int]:
    ids: list[int] = np.random.default_rng(1).integers(0, VOCABULARY, length).tolist()
    return ids


def _ratios(folder: Path, length: int) -> list[float]:
    ours, theirs, ids = _ours(folder), _theirs(folder), _ids(length)
    error = abs(ours(ids) - theirs(ids)).max()  # not timed: this converts the weights
    if not error < AGREE:
        raise AssertionError(f"the logits of {length} tokens differ by {error}")
    return [_seconds(ours, ids) / _seconds(theirs, ids) for _ in range(ROUNDS)]


def _seconds(solve: Callable[[list[int]], Any], ids: list[int]) -> float:
    gc.collect()
    start = time.process_time()
    solve(ids)
    return time.process_time() - start


def _memory(folder: Path, side: str) -> tuple[int, int]:
    """Most bytes allocated at a time, and most bytes resident, which counts the mapped file; from opening to the logits."""
    tracemalloc.start()
    solve = (_ours if side == "ours" else _theirs)(folder)
    solve(_ids(POSITIONS))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tracemalloc.get_traced_memory()[1], int(status["VmHWM"].split()[0]) * 1024


def _result(opened: float, times: dict[int, list[float]], ours: tuple[int, int], theirs: tuple[int, int]) -> Result:
    allocated, resident = (a / b for a, b in zip(ours, theirs, strict=True))
    rows = tuple((str(length), f"{median(r):.3g} ({min(r):.3g}–{max(r):.3g})") for length, r in times.items())
    text = (
        "Processor time of a float64 pass of exactformer divided by that of GPT-2 as one writes it in NumPy "
        "(`benchmarks/gpt2_peer.py`), on one thread, for a model of GPT-2 small's size with random float32 weights. Every step is "
        f"handed to a note that keeps none. Median (least–largest) of {ROUNDS} rounds in turn; all logits agree within {AGREE:g} "
        "(checked in this run). Converting the weights to float64 is not timed on either side."
    )
    memory = (
        f"Memory of a process that opens the file and makes one pass of {POSITIONS} tokens, divided by that of the NumPy program: "
        f"{allocated:.3g} for what is allocated, {resident:.3g} for what is resident (with what is read of the mapped file). "
        f"The file of {4 * sum(int(np.prod(s)) for _, s in _shapes()) // 10**6} MB opens in {opened:.2g} s."
    )
    data = {
        "ratios": {str(length): ratios for length, ratios in times.items()}, "repetitions": ROUNDS, "opening_seconds": opened,
        "memory": {"allocated": allocated, "resident": resident},
    }  # fmt: skip
    return Result("checkpoints", "A float64 pass at full size", (text, Table(("T", "time / NumPy"), rows), memory), data)
