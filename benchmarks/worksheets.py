"""Loading a large worksheet: against TOML as Python reads it, with every number made by itself; and against the tensors alone."""

from __future__ import annotations

import random
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.alone import alone
from benchmarks.result import Progress, Result, Table
from exactformer.checkpoints.safetensors import read_tensors, tensors_as_bytes
from exactformer.numbers import exact
from exactformer.reading import Decimal
from exactformer.worksheets import load

TOKENS, DIM, WIDTH, LENGTH = 300, 128, 512, 8
ROUNDS = 3
SHAPES = {
    "W_E": (TOKENS, DIM), "W_pos": (LENGTH, DIM), "W_U": (DIM, TOKENS), **{f"blocks.0.attn.W_{c}": (1, DIM, DIM) for c in "QKVO"},
    "blocks.0.mlp.W_in": (DIM, WIDTH), "blocks.0.mlp.W_out": (WIDTH, DIM),
}  # fmt: skip
MODEL = f"""
[model]
vocabulary = [{", ".join(f'"t{n}"' for n in range(TOKENS))}]
dim = {DIM}
blocks = 1
mlp = {WIDTH}
activation = "relu"
scale = "sqrt"
norm = "none"
mask = "causal"
positions = "table"
unembedding = "own"
[input]
tokens = "t0 t1"
"""


def _fraction(x: float) -> str:
    above, below = np.float32(x).item().as_integer_ratio()
    return f'"{above}/{below}"'


SPELLINGS: dict[str, Callable[[float], str]] = {
    "decimals of 2 places": "{:.2f}".format,
    "decimals of 6 places": "{:.6f}".format,
    "as Python prints floats": repr,
    "fractions": _fraction,
}


def run(progress: Progress) -> Result:
    rows, data = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for spelling, spelt in SPELLINGS.items():
            path = folder / "sheet.toml"
            path.write_text(_sheet(spelt))
            ours, parsed, plain = alone(1, _loading, path)
            size = path.stat().st_size / 1e6
            data[spelling] = {"megabytes": size, "tomllib": parsed / ours, "tomllib_and_exact": plain / ours, "seconds": ours}
            rows.append((spelling, f"{size:.1f}", f"{parsed / ours:.3g}", f"{plain / ours:.3g}"))
            progress(f"worksheets, {spelling}: {plain / ours:.3g} times faster")
        ratio = alone(1, _beside, folder)
        progress(f"worksheets: with tensors in {ratio:.3g} × the time of reading them")
    numbers = sum(int(np.prod(shape)) for shape in SHAPES.values())
    text = (
        f"Worksheets of {numbers:,} random weights, loaded whole: read, parsed, checked, every number an exact rational. "
        "How many times longer `tomllib` alone takes to parse the text, with decimals kept as texts, and how many times longer it "
        "takes with `exact` of every number, which is the least that worksheets took at first. "
        f"Processor time, the least of {ROUNDS} rounds in turn, one thread."
    )
    beside = (
        'The same weights as float32 in a file that the worksheet names (`weights = "own.safetensors"`): loading takes '
        f"{ratio:.3g} times as long as reading all numbers of the file alone. Median of {5 * ROUNDS} rounds in turn."
    )
    columns = ("numbers", "MB", "tomllib / load", "tomllib and exact / load")
    return Result(
        "worksheets", "Loading large worksheets", (text, Table(columns, tuple(rows)), beside), {"ratios": data, "tensors": ratio}
    )


def _sheet(spelt: Callable[[float], str]) -> str:
    rng = random.Random(0)

    def array(shape: tuple[int, ...]) -> str:
        if len(shape) == 1:
            return "[" + ", ".join(spelt(rng.gauss(0, 1)) for _ in range(shape[0])) + "]"
        return "[\n" + "".join(f"  {array(shape[1:])},\n" for _ in range(shape[0])) + "]"

    blocks = "blocks.0."
    first = [f"{name} = {array(shape)}" for name, shape in SHAPES.items() if not name.startswith(blocks)]
    block = [f"{name.removeprefix(blocks)} = {array(shape)}" for name, shape in SHAPES.items() if name.startswith(blocks)]
    return "\n".join([MODEL, "[weights]", *first, "[[weights.blocks]]", *block, ""])


def _loading(path: Path) -> tuple[float, float, float]:
    """Seconds of loading, of parsing alone, and of parsing with every number made by itself."""
    load("capstone")
    rounds = [
        (_seconds(lambda: load(path)), _seconds(lambda: _parsed(path)), _seconds(lambda: _plainly(path))) for _ in range(ROUNDS)
    ]
    ours, parsed, plain = (min(times) for times in zip(*rounds, strict=True))
    return ours, parsed, plain


def _parsed(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(), parse_float=Decimal)


def _plainly(path: Path) -> list[Any]:
    return [exact(x) for x in _leaves(_parsed(path)["weights"])]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _leaves(entry)
    else:
        yield value


def _beside(folder: Path) -> float:
    """Loading a worksheet that names a file, over reading the numbers of the file."""
    rng = np.random.default_rng(0)
    tensors = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in SHAPES.items()}
    (folder / "own.safetensors").write_bytes(tensors_as_bytes(tensors, {}))
    sheet = folder / "beside.toml"
    sheet.write_text(f'weights = "own.safetensors"\n{MODEL}')

    def alone() -> list[Any]:
        return [tensor.array().copy() for tensor in read_tensors(folder / "own.safetensors").values()]

    load(sheet)
    return median(_seconds(lambda: load(sheet)) / _seconds(alone) for _ in range(5 * ROUNDS))


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
