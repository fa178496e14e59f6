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


def _counted(folder: Path, firsts: list[int], rest: int, sets: int | None) -> dict[str, Any]:
    """Of all inputs that begin with one of some tokens, `rest` others following."""
    import exactformer as xf
    from exactformer.proofs import Product, prove
    from exactformer.proofs.expressions import read_rule
    from exactformer.proofs.fitting import Fitted

    model = xf.load(folder / "worksheet.toml").model
    tokens, start = model.config.vocabulary, time.process_time()
    domain, rule = Product((tuple(tokens[n] for n in firsts), *(tokens,) * rest)), Fitted(read_rule("max"), tokens)
    report = prove(model, domain, rule, arithmetic_name="certified", workers=1, sets=sets)
    return {
        "counts": report.counts, "inputs": report.sequences, "rows": report.sets or report.sequences,
        "wrong": [[" ".join(failure.tokens), failure.token] for failure in report.failures],
        "seconds": time.process_time() - start,
    }  # fmt: skip


def _measured(folder: Path, firsts: list[int], rest: int, sets: int | None) -> dict[str, Any]:
    """In a process of its own, whose BLAS has one thread."""
    code = "import json; from benchmarks.sets import _counted, Path; print(json.dumps(_counted("
    code += f"Path({str(folder)!r}), {firsts}, {rest}, {sets})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | _ONE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(progress: Progress) -> Result:
    every, eighth = list(range(64)), list(range(0, 64, 9))
    rows = []
    for name, folder, firsts, rest, sets in (
        ("largest of 10, by sets", _TEN, every, 9, BUDGET),
        ("largest of 4, by sets", _FOUR, every, 3, BUDGET),
        ("largest of 4, one in eight, by sets", _FOUR, eighth, 3, BUDGET),
        ("largest of 4, one in eight, one by one", _FOUR, eighth, 3, None),
    ):
        rows.append({"name": name} | _measured(folder, firsts, rest, sets))
        progress(f"{name}: {rows[-1]['counts']}, {rows[-1]['rows']:,} rows, {rows[-1]['seconds']:.1f} s")
    ten, four, some, one_by_one = rows
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
        "One in eight: all inputs that begin with 0, 9, 18, … or 63. Processor time on one thread."
    )
    same = "are the same" if some["counts"] == one_by_one["counts"] else "DIFFER"
    told = (
        f"On one in eight of 64⁴ the counts {same}; one by one has {one_by_one['rows'] / some['rows']:,.0f} times as many rows, "
        f"and takes {one_by_one['seconds'] / some['seconds']:,.1f} times as long. "
        f"On all of 64⁴ there are {four['inputs'] / four['rows']:,.0f} times as many inputs as sets."
    )
    named = Table(("largest of 10: wrong on", "says"), tuple((f"`{tokens}`", str(token)) for tokens, token in ten["wrong"]))
    parts = (text, table, told, named) if ten["wrong"] else (text, table, told)
    return Result("sets", "Counts by sets of inputs", parts, {"rows": rows, "same": some["counts"] == one_by_one["counts"]})
