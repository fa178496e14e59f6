"""The theorems of the networks that come with the package, each by its one command; and those of the induction heads.

A command is run as users run it, in a process of its own: what it takes is all that it takes. `python -m benchmarks.networks NAME`
measures those of one name again, and keeps the others.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.report import RESULTS, write
from benchmarks.result import Progress, Result, Table

NETWORKS = ("adder", "balancer", "largest", "modular", "sorter")
INDUCTION = (6, 7)
COMMANDS = (
    *(f"prove {name} --count --workers {2 if name in ('balancer', 'largest') else 1}" for name in NETWORKS),
    *(f"prove induction --length {length} --workers 1" for length in INDUCTION),
)
_KEPT = ("statement", "sequences", "cases", "counts", "accuracy", "kinds", "loss", "arithmetic")
_ONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a process has one thread


def measured(command: str) -> dict[str, Any]:
    """What a command says, with the time that it took: by the clock, and of processors."""
    started, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [sys.executable, "-m", "exactformer", *command.split(), "--format", "json"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=os.environ | _ONE)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"exactformer {command}: {done.stderr}")
    now, said = resource.getrusage(resource.RUSAGE_CHILDREN), json.loads(done.stdout)
    times = {"elapsed": time.monotonic() - started, "cpu": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime}
    return {"command": f"exactformer {command}", **times} | {name: said.get(name) for name in _KEPT}


def _row(found: dict[str, Any]) -> tuple[str, ...]:
    kinds = [kind for kind in found["kinds"].values() if kind["least_lead"] is not None]
    least = min(kinds, key=lambda kind: float(kind["least_lead"]), default=None)
    lead = "" if least is None else f"{float(least['least_lead']):.4g} at {' '.join(least['at'])}"
    loss = "" if found["loss"] is None else f"{found['loss']['low']} to {found['loss']['high']}"
    counts = (f"{found['counts'][verdict]:,}" for verdict in ("proved", "refuted", "undecided"))
    times = (f"{found['cpu']:.1f} s", f"{found['elapsed']:.0f} s")
    return f"`{found['command']}`", f"{found['sequences']:,}", *counts, lead, loss, *times


def run(progress: Progress, commands: Sequence[str] = COMMANDS) -> Result:
    """The table; what is not among the `commands` stays as it was measured before."""
    file = RESULTS / "networks.json"
    found = {command: _told(progress, command) for command in commands}
    kept = {row["command"]: row for row in json.loads(file.read_text())["rows"]} if file.exists() else {}
    kept |= {row["command"]: row for row in found.values()}
    rows = [kept[f"exactformer {command}"] for command in COMMANDS if f"exactformer {command}" in kept]
    table = Table(
        ("command", "inputs", "right", "wrong", "undecided", "least lead, at", "mean loss", "processor", "clock"),
        tuple(map(_row, rows)),
    )
    text = (
        "Every input of the domain. Right and wrong are proved; a lead is that of the demanded token over all others, where it is "
        "right; the loss is the mean cross-entropy of the demanded tokens, enclosed. Times are those of whole commands, from start "
        "to report; by the clock they depend on what else the machine does."
    )
    return Result("networks", "The networks that come with the package, proved", (text, table), {"rows": rows})


def _told(progress: Progress, command: str) -> dict[str, Any]:
    found = measured(command)
    progress(f"{found['command']}: {found['counts']}, {found['cpu']:.1f} s")
    return found


if __name__ == "__main__":
    write(run(print, [command for command in COMMANDS if command.split()[1] in sys.argv[1:]]), by="python -m benchmarks networks")
