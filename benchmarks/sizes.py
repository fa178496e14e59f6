"""The next token of models of Llama's kind at real sizes, proved: against plain passes in float64 in the same run."""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import llama_peer
from benchmarks.alone import alone, resident
from benchmarks.result import Progress, Result, Table
from benchmarks.synthetic import SHAPES, write_model
from exactformer.certificates import Prepared, prove_token
from exactformer.checkpoints import open_checkpoint
from exactformer.checkpoints.safetensors import read_tensors

MEASURED = {"smollm2-135m": (8, 32), "qwen2.5-0.5b": (8,)}  # lengths of prompts
ROUNDS = 3
AIMS = {8: 9, 32: 16}  # times NumPy


def run(progress: Progress) -> Result:
    measured = {}
    for name, lengths in MEASURED.items():
        with tempfile.TemporaryDirectory() as folder:
            alone(1, write_model, SHAPES[name], Path(folder))
            progress(f"sizes {name}: written")
            found = measured[name] = measure(Path(folder), lengths)
        for length, rounds in found["passes"].items():
            progress(f"sizes {name}, T={length}: {_ratio(found, length):.3g} × NumPy" if _proved(rounds) else rounds[-1]["why"])
    return _result(measured)


def measure(folder: Path, lengths: tuple[int, ...]) -> dict[str, Any]:
    """Floats before and after the proofs, in processes of their own: both at once would take too much memory."""
    before, certified, after = (alone(1, each, folder, lengths) for each in (_floats, _certified, _floats))
    for length, rounds in certified["passes"].items():
        for one, token in zip(rounds, before["tokens"][length], strict=True):
            if one["token"] not in (None, token):
                raise AssertionError(f"T={length}: {one['token']} is proved, and {token} is the token of the floats")
    floats = {length: before["seconds"][length] + after["seconds"][length] for length in lengths}
    return certified | {"floats": floats, "file": (folder / "model.safetensors").stat().st_size}


# -- each in a process
def _floats(folder: Path, lengths: tuple[int, ...]) -> dict[str, Any]:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tensors = {name: tensor.array().astype(np.float64) for name, tensor in read_tensors(folder / "model.safetensors").items()}
    tokens: dict[int, list[int]] = {length: [] for length in lengths}
    seconds: dict[int, list[float]] = {length: [] for length in lengths}
    for length in lengths:
        llama_peer.forward(settings, tensors, _ids(settings["vocab_size"], length, 0))  # not timed: files are read
        for n in range(1, ROUNDS + 1):
            spent, logits = _timed(lambda: llama_peer.forward(settings, tensors, _ids(settings["vocab_size"], length, n)))  # noqa: B023
            seconds[length].append(spent)
            tokens[length].append(int(np.argmax(logits[-1])))
    return {"seconds": seconds, "tokens": tokens}


def _certified(folder: Path, lengths: tuple[int, ...]) -> dict[str, Any]:
    model = open_checkpoint(folder).model
    prepared, vocabulary = Prepared(model), len(model.config.vocabulary)
    once, _ = _timed(prepared.prepare)
    first, _ = _timed(
        lambda: prove_token(model, _ids(vocabulary, lengths[0], 0), prepared=prepared)
    )  # slices are cut, tables built
    passes: dict[int, list[dict[str, Any]]] = {}
    for length in lengths:
        passes[length] = []
        for n in range(1, ROUNDS + 1):
            spent, found = _timed(lambda: prove_token(model, _ids(vocabulary, length, n), prepared=prepared))  # noqa: B023
            told = {
                "seconds": spent,
                "token": found.token,
                "why": found.why,
                "attempts": found.attempts,
                "schedule": found.schedule,
            }
            passes[length].append(told)
    growth = {} if prepared.outlook is None else {each.length: sum(each.halves) for each in prepared.outlook.growths}
    bits = {length: growth.get(length) for length in lengths}
    return {"passes": passes, "prepared": once, "first": first, "memory": resident(), "bits": bits}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def _ids(vocabulary: int, length: int, seed: int) -> list[int]:
    return [int(i) for i in np.random.default_rng((length, seed)).integers(0, vocabulary, length)]


# -- what is told
def _proved(rounds: list[dict[str, Any]]) -> bool:
    return all(one["token"] is not None for one in rounds)


def _ratio(found: dict[str, Any], length: int) -> float:
    return float(median(one["seconds"] for one in found["passes"][length]) / median(found["floats"][length]))


def _bits(count: float | None) -> str:
    return "" if count is None else f"{count:.0f}"


def _row(name: str, found: dict[str, Any], length: int) -> tuple[str, ...]:
    rounds = found["passes"][length]
    proved = sum(one["token"] is not None for one in rounds)
    schedule = rounds[-1]["schedule"]
    return (
        name, str(length), f"{proved} of {len(rounds)}", f"{median(one['seconds'] for one in rounds):.3g} s",
        f"{median(found['floats'][length]):.3g} s", f"{_ratio(found, length):.3g}", f"{AIMS[length]}",
        f"{sum(one['attempts'] for one in rounds) / len(rounds):.2g}", _bits(found["bits"][length]),
        ", ".join(f"{n} × {len(list(same))}" for n, same in groupby(schedule)),
    )  # fmt: skip


def _result(measured: dict[str, Any]) -> Result:
    text = (
        "Models of the shapes of SmolLM2-135M and Qwen2.5-0.5B with random weights in bfloat16 that imitate the "
        "statistics of trained ones (`benchmarks/synthetic.py`; nothing is learned), read from their folders. "
        "*certified*: a pass that proves the argmax of the exact network at the last position, for a prompt that the "
        "model never saw, the model being prepared. *NumPy*: the same logits in float64 as one writes it "
        f"(`benchmarks/llama_peer.py`). Both are processor time on one thread, medians of {ROUNDS} prompts, the floats "
        "before and after. Every proved token is that of NumPy. *ratio* of the two, and the *aim* for it. *passes* until "
        "the proof, a prompt; *bits* that a radius grows by from the embedding to the logits, as the scout saw it; "
        "*limbs* of 21 bits (0 stands for float64) × the number of halves of blocks, and at the end the head."
    )
    once = (
        "Once a model, in processor time: *norms and scout*; *first token*: with slices of the weights cut, and tables built. "
        "*memory*: the most that was resident in all, slices kept, beside the size of the file."
    )
    columns = ("shape", "T", "proved", "certified", "NumPy", "ratio", "aim", "passes", "bits", "limbs × halves")
    rows = tuple(_row(name, found, length) for name, found in measured.items() for length in found["passes"])
    others = tuple(
        (
            name, f"{found['prepared']:.0f} s", f"{found['first']:.0f} s", f"{found['memory'] / 1e9:.2f} GB",
            f"{found['file'] / 1e9:.2f} GB", f"{found['memory'] / found['file']:.2g}",
        )
        for name, found in measured.items()
    )  # fmt: skip
    second = Table(("shape", "norms and scout", "first token", "memory", "file", "memory / file"), others)
    data = {"measured": measured, "repetitions": ROUNDS, "aims": AIMS}
    return Result("sizes", "Certified passes at the sizes of small Llamas", (text, Table(columns, rows), once, second), data)
