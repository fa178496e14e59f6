"""Engines before the referee: `python -m benchmarks.engines [--texts 200] [--work FOLDER] [MODEL]…` (the extra `engines`).

Each model writes texts; each engine computes their logits, in a process of its own; the referee judges all of them. What is done is
kept in the folder of work: after an interruption the same command goes on. Results of models that are not named stay as they are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.engines.engine import BATCH, THREADS, Unable
from benchmarks.engines.judged import judged
from benchmarks.engines.models import CASES, LENGTH, SEED, TEMPERATURE, Case
from benchmarks.engines.outputs import ENGINES, apart, write_outputs, write_texts
from benchmarks.engines.table import NOT_RIGHT, rows, settings_table, tokens_table, unable_table, wrong_table
from benchmarks.result import Progress, Result

NAME = "engines"
_REMARKS = (
    "llama.cpp keeps keys and values in float16 unless it is told otherwise, also where weights are float32: the two rows "
    "of float32 show what that costs. CTranslate2 computes int8 with oneDNN on processors that are not Intel's; where these "
    "have no VNNI instructions, sums of two products saturate at 16 bits, which is most of its error here "
    "([measured](engines_saturation.md)). With MKL they do not."
)


def main() -> None:
    start, parser = time.monotonic(), argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[[], *(case.name for case in CASES)])
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "exactformer-engines")
    asked = parser.parse_args()

    def progress(line: str) -> None:
        print(f"[{time.monotonic() - start:5.0f} s] {line}", flush=True)

    for case in CASES:
        if case.name in (asked.models or [case.name]):
            found = _case(case, asked.work / f"{case.name}-{asked.texts}", asked.texts, asked.workers, progress)
            result = _result(_kept() | {case.name: found})
            for path in report.write(result, by=f"python -m benchmarks.engines --texts {asked.texts}"):
                progress(f"wrote {path}")


def _case(case: Case, work: Path, number: int, workers: int, progress: Progress) -> dict[str, Any]:
    """All engines on one model."""
    if not case.source.is_dir():
        return {"unable": dict.fromkeys(ENGINES, f"the model is not there: {case.name}"), "rows": []}
    ids = np.load(apart(write_texts, case, work, number))
    unable: dict[str, str] = {}
    for name in ENGINES:
        progress(f"{case.name}: {name}")
        try:
            reason = apart(write_outputs, name, case, work)
        except Unable as died:
            reason = str(died)
        if reason:
            unable[name] = reason
            progress(f"{case.name}: {name}: {reason}")
    names = [name for name in ENGINES if name not in unable]
    found = rows(judged(work, case.folder(work), names, workers, progress))
    return {
        "texts": len(ids), "tokens_each": ids.shape[1], "first_id": case.begin, "temperature": TEMPERATURE, "seed": SEED,
        "sha256_of_ids": hashlib.sha256(np.ascontiguousarray(ids, "<i8").tobytes()).hexdigest(),
        "versions": {name: ENGINES[name].versions() for name in names}, "unable": unable, "rows": found,
    }  # fmt: skip


def _kept() -> dict[str, Any]:
    path = report.RESULTS / f"{NAME}.json"
    found: dict[str, Any] = json.loads(path.read_text())["models"] if path.exists() else {}
    return found


def _result(models: dict[str, Any]) -> Result:
    ordered = {case.name: models[case.name] for case in CASES if case.name in models}
    parts: list[Any] = [_preface()]
    for name, found in ordered.items():
        if found["rows"]:
            parts += [f"## {name}: {found['texts']:,} texts, {found['texts'] * found['tokens_each']:,} tokens to come"]
            parts += [
                tokens_table(found["rows"]),
                "Tokens that are not right, the largest margins first:",
                wrong_table(found["rows"]),
            ]
    versions = {name: said for found in ordered.values() for name, said in found.get("versions", {}).items()}
    reasons = [(name, model, why) for model, found in ordered.items() for name, why in found["unable"].items()]
    parts += ["## Versions and settings", settings_table({name: versions[name] for name in ENGINES if name in versions})]
    parts += [f"Every engine has {THREADS} thread, and {BATCH} texts at a time; llama.cpp has one, and reads it token by token."]
    parts += [_REMARKS]
    if reasons:
        parts += ["## What did not run", unable_table(reasons)]
    settings = {"not_right": NOT_RIGHT, "threads": THREADS, "batch": BATCH, "processor": _processor()}
    return Result(NAME, "Engines before the referee", tuple(parts), {"settings": settings, "models": ordered})


def _preface() -> str:
    return (
        f"Each model wrote texts of {LENGTH} tokens (float32, temperature {TEMPERATURE}, seed {SEED}). Each engine was given "
        "them, and every number that it gave after every token was held against the true value, which is proved. An engine's "
        "token is its largest logit; where several are as large (written 304 = 309) the verdict is that on the worst. "
        "The network is that of the weights in the folder, with rotary frequencies as the transformers library stores them; "
        "quantised engines are also held against the weights that they really compute with. "
        "What the verdicts mean is in docs/judge.md. *Careful floats* are our own passes in the engine's format: the last "
        "column has the step whose proved error is the largest multiple of theirs. The steps are the hidden states between "
        f"blocks and the logits for the transformers library, and the logits alone for the others. Processor: {_processor()}."
    )


def _processor() -> str:
    """Its name, and whether it has the instructions on which the sums of eight-bit kernels depend."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if ":" in line)
    except OSError:
        return platform.processor() or platform.machine()
    said = {key.strip(): value.strip() for key, value in lines.items()}
    flags = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8") if flag in said.get("flags", "").split()]
    return f"{said.get('model name', platform.machine())} ({', '.join(flags) or 'no wide instructions'})"


if __name__ == "__main__":  # engines and the referee start processes that import this module again
    main()
