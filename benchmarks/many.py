"""Many prompts with one worker and with two: the time of whole commands, one after the other, on one thread of BLAS each."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.result import Progress, Result, Table

PROMPTS, LENGTH, ROUNDS = 120, 48, 3
_COMMAND = [sys.executable, "-c", "from exactformer.cli import main; main()"]
_ONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _seconds(folder: Path, workers: int, number: int) -> tuple[float, str]:
    journal = folder / f"{workers}-{number}.journal"
    what = [
        "certify",
        "stories",
        "--prompts",
        "prompts.jsonl",
        "--format",
        "json",
        "--workers",
        str(workers),
        "--journal",
        str(journal),
    ]
    start = time.monotonic()
    done = subprocess.run([*_COMMAND, *what], capture_output=True, text=True, check=True, cwd=folder, env=os.environ | _ONE)
    return time.monotonic() - start, done.stdout


def run(progress: Progress) -> Result:
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [json.dumps({"ids": [rng.randrange(3, 400) for _ in range(LENGTH)]}) for _ in range(PROMPTS)]
        (folder / "prompts.jsonl").write_text("\n".join(lines) + "\n")
        _, expected = _seconds(folder, 1, -1)  # what is prepared once is kept from here on
        ratios, same = [], True
        for number in range(ROUNDS):
            one, first = _seconds(folder, 1, number)
            two, second = _seconds(folder, 2, number)
            same &= first == second == expected
            ratios.append(one / two)
            progress(f"many prompts, round {number + 1}: {ratios[-1]:.2f} times as fast with two workers")
    middle = statistics.median(ratios)
    written = "the same, byte for byte" if same else "NOT the same"
    text = (
        f"`exactformer certify stories --prompts` with {PROMPTS} prompts of {LENGTH} tokens, whole commands, start to end: "
        f"the time with one worker over that with two, the median of {ROUNDS} rounds. The files that were written are {written}."
    )
    row = ("1 and 2", f"{middle:.2f} ({min(ratios):.2f}–{max(ratios):.2f})", "1.7", "met" if middle >= 1.7 else "missed")
    table = Table(("workers", "times as fast", "aim", ""), (row,))
    return Result("many", "Many prompts", (text, table), {"ratios": ratios, "same": same, "prompts": PROMPTS, "tokens": LENGTH})
