"""What floats really do: our proved bound of the error of every logit, divided by the real error, on random models.

The real error is that of the float against balls of 400 bits, an arithmetic that shares no code with the certified one. Rows are
layers / width / length; each has 32 random models with float32 weights, computed in float32 and in float64. At the size of GPT-2
small balls would take days: there, our upper bound is divided by our own lower one, which is below the real error.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from benchmarks.result import Progress, Result, Table
from exactformer.arithmetics import arithmetic
from exactformer.certificates.comparison import compare
from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.numbers import exact
from exactformer.numbers.enclosure import precision

SIZES = ((1, 8, 8), (2, 8, 8), (4, 8, 8), (4, 8, 32), (4, 16, 8), (8, 8, 8))  # layers, width, length
GPT2_SMALL = ((12, 768, 8), 12, 50_257)  # with heads and vocabulary
MODELS = 32
BITS = 400
VOCABULARY = 16
ALLOWED = 1.01


@dataclass(frozen=True)
class Row:
    """One size in one kind of float. Ratios are of our bound to the real error, of every logit whose error is not 0."""

    size: tuple[int, int, int]
    kind: str
    logits: int
    bounded: int
    exact: int  # logits without any error
    median: float
    largest: float
    error: float  # the largest real error


def random_model(layers: int, width: int, length: int, seed: int, heads: int = 2, vocabulary: int = VOCABULARY) -> Model:
    """A GPT-2-shaped model of float32 weights: an MLP of four times the width, matrices that keep sizes as they are."""
    rng = np.random.default_rng([layers, width, length, seed])
    part = width // heads

    def matrix(*shape: int, terms: int = 0) -> Any:
        values = rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(terms or shape[-2]))
        values.flags.writeable = False
        return values

    def vector(*shape: int, around: float = 0.0) -> Any:
        values = (around + 0.1 * rng.standard_normal(shape)).astype(np.float32)
        values.flags.writeable = False
        return values

    def norm() -> NormWeights:
        return NormWeights(w=vector(width, around=1.0), b=vector(width))

    def block() -> BlockWeights:
        projections = {f"W_{letter}": matrix(heads, width, part) for letter in "QKV"}
        biases = {f"b_{letter}": vector(heads, part) for letter in "QKV"}
        attention = AttentionWeights(**projections, W_O=matrix(heads, part, width), b_O=vector(width), **biases)
        mlp = MlpWeights(W_in=matrix(width, 4 * width), W_out=matrix(4 * width, width), b_in=vector(4 * width), b_out=vector(width))
        return BlockWeights(ln1=norm(), attn=attention, ln2=norm(), mlp=mlp)

    config = Config(
        vocabulary=tuple(map(str, range(vocabulary))), dim=width, heads=heads, blocks=layers, norm="pre", final_norm=True,
        epsilon=exact("1e-5"), mask="causal", scale="sqrt", positions="table", length=length, mlp=4 * width, activation="gelu_tanh",
    )  # fmt: skip
    weights = Weights(
        W_E=matrix(vocabulary, width, terms=width),
        W_pos=matrix(length, width, terms=width),
        blocks=tuple(block() for _ in range(layers)),
        ln_final=norm(),
    )
    return Model(config, weights)


def ratios(model: Model, ids: list[int]) -> dict[str, list[tuple[float | None, float, float]]]:
    """For each kind of float and every logit: our bound divided by the real error (None for no error), our bound, the error."""
    balls = forward(model, ids, ArbArithmetic(BITS), _silent)
    found = {}
    for errors in compare(model, ids):
        floats = forward(model, ids, arithmetic(errors.name), _silent)
        found[errors.name] = [
            _ratio(float(floats[t, i]), balls[t, i], float(errors["logits"].high[t, i])) for t, i in np.ndindex(*floats.shape)
        ]
    return found


def _silent(step: Any) -> Any:
    return step.values


def _ratio(value: float, ball: Any, bound: float) -> tuple[float | None, float, float]:
    with precision(BITS + 100):
        error = abs(arb(value) - ball)
        if error.contains(0):
            return None, bound, 0.0
        least, most = error.abs_lower(), error.abs_upper()
        if not arb(bound) >= least:
            raise AssertionError(f"a bound of {bound} for an error of {error}")
        return float((arb(bound) / least).abs_upper()), bound, float(most)


def measure(size: tuple[int, int, int], models: int = MODELS) -> list[Row]:
    layers, width, length = size
    collected: dict[str, list[tuple[float | None, float, float]]] = {kind: [] for kind in ("float32", "float64")}
    for seed in range(models):
        model = random_model(layers, width, length, seed)
        ids = np.random.default_rng([1, seed]).integers(0, VOCABULARY, length).tolist()
        for kind, found in ratios(model, ids).items():
            collected[kind] += found
    rows = []
    for kind, found in collected.items():
        told = [ratio for ratio, _, _ in found if ratio is not None]
        bounded = sum(bool(np.isfinite(bound)) for _, bound, _ in found)
        largest = max(error for _, _, error in found)
        rows.append(Row(size, kind, len(found), bounded, len(found) - len(told), statistics.median(told), max(told), largest))
    return rows


def measure_large(size: tuple[int, int, int], heads: int, vocabulary: int) -> list[Row]:
    """One model, too large for balls: upper bounds divided by lower ones."""
    model = random_model(*size, seed=0, heads=heads, vocabulary=vocabulary)
    ids = np.random.default_rng(2).integers(0, vocabulary, size[2]).tolist()
    rows = []
    for errors in compare(model, ids):
        low, high = errors["logits"].low.ravel(), errors["logits"].high.ravel()
        told = high[low > 0] / low[low > 0]
        largest = float(told.max()) if len(told) == len(high) else float("inf")
        bounded = int(np.isfinite(high).sum())
        rows.append(Row(size, errors.name, len(high), bounded, 0, float(np.median(told)), largest, errors["logits"].largest[1]))
    return rows


def run(progress: Progress) -> Result:
    rows: list[Row] = []
    for size in SIZES:
        start = time.monotonic()
        rows += measure(size)
        progress(f"float errors {'/'.join(map(str, size))}: {time.monotonic() - start:.0f} s, at most {rows[-1].largest:.9f}")
    start = time.monotonic()
    rows += measure_large(*GPT2_SMALL)
    progress(f"float errors, GPT-2 small: {time.monotonic() - start:.0f} s, at most {rows[-1].largest:.9f}")
    table = Table(
        ("layers / width / length", "floats", "logits", "bounded", "largest real error", "bound ÷ error: median", "largest"),
        tuple(
            (
                " / ".join(map(str, row.size)), row.kind, f"{row.logits:,}", f"{row.bounded:,}", f"{row.error:.2g}",
                f"{_beyond(row.median)}", f"{_beyond(row.largest)}",
            )
            for row in rows
        ),
    )  # fmt: skip
    held = all(row.largest <= ALLOWED and row.bounded == row.logits for row in rows)
    text = (
        f"The proved upper bound of the error of each logit, divided by its real error (balls of {BITS} bits), over {MODELS} "
        "random models a row; of one model of the size of GPT-2 small, divided by the proved lower bound. "
        f"{'Every' if held else 'NOT every'} logit is bounded within a factor {ALLOWED} of its real error."
    )
    return Result("float_errors", "What floats really do", (text, table), {"rows": [vars(row) for row in rows], "held": held})


def _beyond(ratio: float) -> str:
    """1 + x with one digit of x."""
    rest = Fraction(ratio) - 1
    return f"1 + {float(rest):.0e}"
