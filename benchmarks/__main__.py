"""Run every benchmark and write its results: `python -m benchmarks`, or those that are named: `python -m benchmarks backward`."""

from __future__ import annotations

import sys
import time

from benchmarks import (
    backward,
    certified,
    checkpoints,
    claims,
    float_errors,
    forward,
    many,
    nano_sort,
    oracle,
    plan,
    report,
    sizes,
    theorems,
)

BENCHMARKS = (
    forward,
    backward,
    checkpoints,
    nano_sort,
    float_errors,
    certified,
    sizes,
    plan,
    oracle,
    many,
    theorems,
    claims,
)  # each has run(progress) -> Result, or None


def main() -> None:
    start = time.monotonic()

    def progress(line: str) -> None:
        print(f"[{time.monotonic() - start:5.0f} s] {line}", flush=True)

    named = [b for b in BENCHMARKS if b.__name__.removeprefix("benchmarks.") in sys.argv[1:]]
    for benchmark in named or BENCHMARKS:
        result = benchmark.run(progress)
        for path in report.write(result) if result else []:
            progress(f"wrote {path}")


if __name__ == "__main__":  # the SymPy peer starts processes that import this module again
    main()
