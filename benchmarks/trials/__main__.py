"""Run the trials that are named, or all: `python -m benchmarks.trials journals`. The status is 1 where one did not hold."""

from __future__ import annotations

import sys
import time
from importlib import import_module

from benchmarks import report

TRIALS = (
    "answers",
    "batches",
    "bound",
    "certificates",
    "enclosures",
    "explanations",
    "checkpoints",
    "families",
    "forgeries",
    "journals",
    "llamas",
    "referees",
    "oracle",
    "patterns",
    "programs",
    "sets",
    "symmetry",
    "trained",
    "worksheets",
)  # modules of this package, each with run(progress) -> Result whose data has `failed`, a list of texts


def main() -> int:
    start = time.monotonic()
    if unknown := [name for name in sys.argv[1:] if name not in TRIALS]:
        print(f"{unknown[0]}: there is no such trial ({', '.join(TRIALS)})", file=sys.stderr)
        return 2

    def progress(line: str) -> None:
        print(f"[{time.monotonic() - start:5.0f} s] {line}", flush=True)

    failed = []
    for name in sys.argv[1:] or TRIALS:
        result = import_module(f"benchmarks.trials.{name}").run(progress)
        for path in report.write(result, by=f"python -m benchmarks.trials {name}"):
            progress(f"wrote {path}")
        failed += result.data["failed"]
    for line in failed:
        progress(f"FAILED: {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
