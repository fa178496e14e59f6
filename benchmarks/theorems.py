"""Theorems by batches: what a proof over a whole domain takes, over a plain NumPy float64 batch of the same inputs.

One thread, processor time. The weights are drawn at random: what they are changes how much is proved, and hardly the time.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.plain_batch import PlainBatch
from benchmarks.result import Progress, Result, Table
from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, Weights
from exactformer.proofs import Product, Sequences, Sorted, prove

ROUNDS = 3
_SORT = Path(__file__).parents[1].parent / "shared" / "data" / "gpt-nano-sort" / "hf"
_ONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def one_block(vocabulary: int, dim: int, heads: int, mlp: int, length: int, seed: int = 0) -> Model:
    """No norm, ReLU, an unembedding of its own, float32: as small networks for arithmetic are trained."""
    random = np.random.default_rng(seed)

    def some(*shape: int) -> Any:
        return (random.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)

    width = dim // heads
    attn = AttentionWeights(**{f"W_{c}": some(heads, dim, width) for c in "QKV"}, W_O=some(heads, width, dim))
    config = Config(
        vocabulary=tuple(map(str, range(vocabulary))), dim=dim, blocks=1, norm="none", mask="causal", scale="sqrt", heads=heads,
        positions="table", length=length, mlp=mlp, activation="relu" if mlp else None, unembedding="own",
    )  # fmt: skip
    block = BlockWeights(attn=attn, mlp=MlpWeights(W_in=some(dim, mlp), W_out=some(mlp, dim)) if mlp else None)
    return Model(config, Weights(W_E=some(vocabulary, dim), W_pos=some(length, dim), blocks=(block,), W_U=some(dim, vocabulary)))


@dataclass(frozen=True, eq=False)
class Own:
    """What the network itself says in floats: so that nearly all inputs are proved right, as those of a trained one are."""

    said: Any  # of every input, in the order of the domain
    strides: Any  # the number of an input is that of its tokens times these

    @classmethod
    def of(cls, model: Model, ids: Any, *strides: int) -> Own:
        plain = PlainBatch(model)
        parts = [plain(ids[start : start + 4096])[:, -1].argmax(axis=1) for start in range(0, len(ids), 4096)]
        return cls(np.concatenate(parts), np.array(strides))

    def arrays(self, ids: Any, vocabulary: Any) -> tuple[Any, str]:
        return self.said[ids @ self.strides][:, None], "its own"


def _domains() -> dict[str, tuple[Any, Any, Any, int, Any, str]]:
    """By name: the model, the domain, the rule, steps, the ids of a plain batch, and the aim."""
    digits, numbers = tuple(map(str, range(113))), tuple(map(str, range(64)))
    pairs = np.array([(a, b, 113) for a, b in product(range(113), repeat=2)])
    fours = np.array([(0, *rest) for rest in product(range(64), repeat=3)])
    adder, largest = one_block(114, 128, 4, 512, 3), one_block(64, 32, 1, 0, 4)
    found = {
        "mod 113 (d 128, MLP 512, T 3)": (
            adder, Product((digits, digits, ("113",))), Own.of(adder, pairs, 113, 1, 0), 1, pairs, "≤ 5",
        ),
        "max of 4 (d 32, vocabulary 64, T 4), one in 64 of all inputs": (
            largest, Product((numbers[:1], *[numbers] * 3)), Own.of(largest, fours, 0, 64**2, 64, 1), 1, fours, "≤ 6",
        ),
    }  # fmt: skip
    if _SORT.is_dir():
        import exactformer as xf

        letters = np.array(list(product(range(3), repeat=6)))
        fed = np.concatenate([letters, np.sort(letters, axis=1)[:, :-1]], axis=1)
        model = xf.load(_SORT).model
        found["gpt-nano-sort (3 blocks, d 48, T 6 to 11)"] = (
            model,
            Sequences(tuple("012"), 6, 6),
            Sorted(6, "012"),
            6,
            fed,
            "≤ 10",
        )
    return found


def _measured() -> list[dict[str, Any]]:
    rows = []
    for name, (model, domain, rule, steps, ids, aim) in _domains().items():
        plain = PlainBatch(model)

        def proof(model: Model = model, domain: Any = domain, rule: Any = rule, steps: int = steps) -> Any:
            return prove(model, domain, rule, steps=steps, arithmetic_name="certified", workers=1)

        def batch(plain: PlainBatch = plain, ids: Any = ids) -> None:
            for start in range(0, len(ids), 1024):
                plain(ids[start : start + 1024])

        report = proof()  # tables are made once a process
        ours, theirs = zip(*((_seconds(proof), _seconds(batch)) for _ in range(ROUNDS)), strict=True)
        ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
        rows.append(
            {
                "name": name, "inputs": report.sequences, "steps": steps, "aim": aim,
                "ratio": statistics.median(ratios), "ratios": ratios,
                "proof": statistics.median(ours), "plain": statistics.median(theirs), "undecided": report.counts["undecided"],
            }
        )  # fmt: skip
    return rows


def _seconds(function: Any) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def run(progress: Progress) -> Result:
    """In a process of its own, whose BLAS has one thread."""
    import json

    code = "import json; from benchmarks.theorems import _measured; print(json.dumps(_measured()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | _ONE)
    rows = json.loads(done.stdout)
    for row in rows:
        progress(f"{row['name']}: {row['ratio']:.2f} times a plain batch")
    table = Table(
        ("network", "inputs", "answers", "plain batch", "proof", "ratio", "aim", "undecided"),
        tuple(
            (
                row["name"], f"{row['inputs']:,}", str(row["steps"]), f"{row['plain']:.2f} s", f"{row['proof']:.2f} s",
                f"{row['ratio']:.2f} ({row['ratios'][0]:.2f} to {row['ratios'][-1]:.2f})", row["aim"], str(row["undecided"]),
            )
            for row in rows
        ),
    )  # fmt: skip
    text = (
        "`prove` in the arithmetic certified, with one worker, all that it does for a report; over a pass of plain NumPy float64 "
        "over the same inputs, all positions at once, in batches of 1,024. Processor time on one thread, the median of "
        f"{ROUNDS} rounds. A plain batch computes every position of every input; a proof computes beginnings that inputs share "
        "once, and only what is asked for. Networks without a name have random weights, and the rule is what they say in floats."
    )
    return Result("theorems", "Theorems by batches", (text, table), {"rows": rows})
