"""Run every benchmark and write its results: `python -m benchmarks`, or those that are named: `python -m benchmarks backward`."""

from __future__ import annotations

import sys
import time

from benchmarks import (
    backward,
    certified,
    checker,
    checkpoints,
    claims,
    float_errors,
    forward,
    many,
    nano_sort,
    networks,
    oracle,
    plan,
    programs,
    report,
    sets,
    sizes,
    spread,
    streamed,
    theorems,
    worksheets,
)

BENCHMARKS = (
    forward,
    backward,
    checkpoints,
    nano_sort,
    float_errors,
    certified,
    checker,
    sizes,
    plan,
    oracle,
    many,
    spread,
    streamed,
    theorems,
    sets,
    claims,
    networks,
    programs,
    worksheets,
)  # each has run(progress) -> Result, or None


def main() -> None:
    start = time.monotonic()

    def progress(line: str) -> None:
        print(f"[{time.monotonic() - start:5.0f} s] {line}", flush=True)

    by_name = {benchmark.__name__.removeprefix("benchmarks."): benchmark for benchmark in BENCHMARKS}
    if unknown := [name for name in sys.argv[1:] if name not in by_name]:
        sys.exit(f"{unknown[0]}: no such benchmark (there are {', '.join(by_name)})")
    for benchmark in [by_name[name] for name in sys.argv[1:]] or BENCHMARKS:
        result = benchmark.run(progress)
        for path in report.write(result) if result else []:
            progress(f"wrote {path}")


if __name__ == "__main__":  # the SymPy peer starts processes that import this module again
    main()
