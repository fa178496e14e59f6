"""Counts by sets of inputs: how many sets are looked at, over how many inputs a proof one by one has; and what both take.

One process with one thread, processor time. The networks are those that training/maxima/ has trained.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.result import Progress, Result, Table

_ROOT = Path(__file__).parents[1]
_FOUR, _TEN = _ROOT / "training/maxima/results/four", _ROOT / "src/exactformer/models/largest-of-ten"
_ONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
BUDGET = 2_000_000
_NAMES = {"proved": "right", "refuted": "wrong", "undecided": "undecided"}


def _counted(folder: Path, length: int, sets: int | None) -> dict[str, Any]:
    """Of all inputs of that length."""
    import exactformer as xf
    from exactformer.proofs import Product, prove
    from exactformer.proofs.expressions import read_rule
    from exactformer.proofs.fitting import Fitted

    model = xf.load(folder / "worksheet.toml").model
    tokens, start = model.config.vocabulary, time.process_time()
    domain, rule = Product((tokens,) * length), Fitted(read_rule("max"), tokens)
    report = prove(model, domain, rule, arithmetic_name="certified", workers=1, sets=sets)
    return {
        "counts": report.counts, "inputs": report.sequences, "rows": report.sets or report.sequences,
        "wrong": [[" ".join(failure.tokens), failure.token] for failure in report.failures],
        "seconds": time.process_time() - start,
    }  # fmt: skip


def _measured(folder: Path, length: int, sets: int | None) -> dict[str, Any]:
    """In a process of its own, whose BLAS has one thread."""
    code = "import json; from benchmarks.sets import _counted, Path; print(json.dumps(_counted("
    code += f"Path({str(folder)!r}), {length}, {sets})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | _ONE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(progress: Progress) -> Result:
    rows = []
    for name, folder, length, sets in (
        ("largest of 10, by sets", _TEN, 10, BUDGET),
        ("largest of 4, by sets", _FOUR, 4, BUDGET),
        ("largest of 4, one by one", _FOUR, 4, None),
    ):
        rows.append({"name": name} | _measured(folder, length, sets))
        progress(f"{name}: {rows[-1]['counts']}, {rows[-1]['rows']:,} rows, {rows[-1]['seconds']:.1f} s")
    ten, by_sets, one_by_one = rows
    table = Table(
        ("network, domain and way", "inputs", *_NAMES.values(), "sets or inputs looked at", "time"),
        tuple(
            (
                row["name"], f"{row['inputs']:,}", *(f"{row['counts'][verdict]:,}" for verdict in _NAMES),
                f"{row['rows']:,}", f"{row['seconds']:.1f} s",
            )
            for row in rows
        ),
    )  # fmt: skip
    text = (
        "Networks of one head, d 32, on sequences of numbers below 64, and how many of these have the largest number as the "
        "answer, proved. By sets: of a set of inputs at once, or else of its two halves. One by one: certified batches. "
        "Processor time on one thread."
    )
    same, times = by_sets["counts"] == one_by_one["counts"], one_by_one["rows"] / by_sets["rows"]
    told = (
        f"On 64⁴ the counts {'are the same' if same else 'DIFFER'}; one by one has {times:,.0f} times "
        f"as many rows, and takes {one_by_one['seconds'] / by_sets['seconds']:,.0f} times as long."
    )
    named = Table(("largest of 10: wrong on", "says"), tuple((f"`{tokens}`", str(token)) for tokens, token in ten["wrong"]))
    parts = (text, table, told, named) if ten["wrong"] else (text, table, told)
    return Result("sets", "Counts by sets of inputs", parts, {"rows": rows, "same": same})
