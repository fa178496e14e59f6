"""Outputs changed by one ulp in every entry: each is told, and nothing that is correctly rounded is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.result import Progress, Result, Table
from exactformer import oracle
from exactformer.oracle import Truth

DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
WANTED = 100_000
_SEED = 17


def operations(random: np.random.Generator, dtype: Any, rows: int, width: int) -> Iterator[Truth]:
    """Every operation once, on random inputs."""

    def normal(*shape: int) -> Any:
        return (random.normal(size=shape) * random.choice([0.5, 2.0, 8.0])).astype(dtype)

    x = normal(rows, width)
    yield oracle.softmax(x)
    yield oracle.log_softmax(x)
    yield oracle.layer_norm(x, normal(width), normal(width))
    yield oracle.rms_norm(x, normal(width))
    yield oracle.gelu(x)
    yield oracle.gelu_tanh(x)
    yield oracle.silu(x)
    yield oracle.swiglu(x, normal(rows, width))
    yield oracle.matmul(x, normal(width, width), normal(width))
    yield oracle.rotary(x, positions=np.arange(rows))
    yield oracle.attention(x, normal(rows, width), normal(rows, width), causal=True)
    yield oracle.cross_entropy(x, random.integers(0, width, size=rows), reduction="none")


def changed_by_one(y: Any, random: np.random.Generator) -> Any:
    """Every entry replaced by one of its neighbours."""
    up = random.random(y.shape) < 0.5
    infinity = np.array(np.inf, dtype=y.dtype)
    return np.where(up, np.nextafter(y, infinity), np.nextafter(y, -infinity)).astype(y.dtype)


def run(progress: Progress) -> Result:
    rows: list[tuple[str, ...]] = []
    data: dict[str, Any] = {"failed": []}
    for dtype in DTYPES:
        name, random = np.dtype(dtype).name, np.random.default_rng(_SEED)
        told = right = entries = 0
        while entries < WANTED / len(DTYPES):
            for truth in operations(random, dtype, 16, 32):
                y = truth.rounded()
                right += int((truth.ulps(y, limit=0.5).high <= 0.5).sum())
                wrong = truth.ulps(changed_by_one(y, random), limit=0.4999)
                told += int((wrong.low > 0.4999).sum())
                entries += y.size
        progress(f"{name}: {told:,} of {entries:,} changed entries told, {right:,} correctly rounded ones at most 0.5 ulps off")
        rows.append((name, f"{entries:,}", f"{told:,}", f"{right:,}"))
        if told != entries or right != entries:
            data["failed"].append(f"{name}: {entries - told:,} changed entries not told, {entries - right:,} right ones not proved")
        data[name] = {"entries": entries, "told": told, "right": right}
    return Result(
        "trials_oracle",
        "Outputs changed by one ulp",
        (
            "Every operation of `exactformer.oracle`, on random inputs: the correctly rounded output, and the same with every "
            "entry replaced by one of its neighbours. An entry is *told* if it is proved to be more than 0.4999 ulps off "
            "(a neighbour below a power of two is half an ulp of that away).",
            Table(("format", "changed entries", "told", "unchanged, proved at most 0.5 ulps off"), tuple(rows)),
        ),
        data,
    )
