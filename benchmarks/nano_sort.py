"""A theorem about a trained network, gpt-nano-sort on all its inputs: by certified passes, and in balls (`arb`)."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path

from benchmarks.alone import alone
from benchmarks.result import Progress, Result, Table
from exactformer.checkpoints import open_checkpoint
from exactformer.proofs import Sorted, prove

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "gpt-nano-sort" / "hf"  # beside the repository
LETTERS, LENGTH = "012", 6
PARTS = 9  # of the inputs, in each of which both take turns


def run(progress: Progress) -> Result | None:
    if not FOLDER.is_dir():
        progress("nano_sort: left out, as ../shared/data/gpt-nano-sort is not there")
        return None
    seconds = alone(1, _seconds)
    total = {name: sum(parts) for name, parts in seconds.items()}
    ratio = total["arb"] / total["certified"]
    progress(f"nano_sort: arb takes {ratio:.3g} × the time of certified passes")
    return _result(seconds, ratio)


def _seconds() -> dict[str, list[float]]:
    """Processor time of each part of the inputs, every one of which is proved."""
    model = open_checkpoint(FOLDER).model
    inputs = list(product(LETTERS, repeat=LENGTH))
    seconds: dict[str, list[float]] = {"certified": [], "arb": []}
    for part in range(PARTS):
        cases = inputs[part::PARTS]
        for name, parts in seconds.items():
            start = time.process_time()
            report = prove(model, cases, Sorted(LENGTH, LETTERS), steps=LENGTH, arithmetic_name=name, workers=1)
            parts.append(time.process_time() - start)
            if report.counts["proved"] != len(cases):
                raise AssertionError(f"{name}: {report.counts}, where all of {len(cases)} should be proved")
    return seconds


def _result(seconds: dict[str, list[float]], ratio: float) -> Result:
    count = len(LETTERS) ** LENGTH
    ratios = sorted(b / a for a, b in zip(seconds["certified"], seconds["arb"], strict=True))
    text = (
        f"gpt-nano-sort sorts all {count} inputs of {LENGTH} letters: each of its {count * LENGTH:,} tokens is the proved argmax, "
        "in the arithmetic `certified` and in `arb` (balls for every entry). "
        f"Processor time on one thread, {PARTS} parts of the inputs in turn; time of `arb` divided by that of certified passes, "
        "of all inputs, and the least and largest of a part."
    )
    table = Table(
        ("inputs", "proved by both", "arb / certified"),
        ((str(count), str(count), f"{ratio:.3g} ({ratios[0]:.3g}–{ratios[-1]:.3g})"),),
    )
    return Result("nano_sort", "A theorem about a trained network", (text, table), {"seconds": seconds})
