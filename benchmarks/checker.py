"""The checker that needs Python alone, at the sizes of GPT-2 small and SmolLM2-135M: against `certify --verify` in the same run.

`python -m benchmarks.checker SHAPE LENGTH` measures one line of the table again, and keeps the others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import exactformer_check
from benchmarks import gpt2_random
from benchmarks.alone import alone
from benchmarks.report import RESULTS, write
from benchmarks.result import Progress, Result, Table
from benchmarks.synthetic import SHAPES, write_model
from benchmarks.trials.forgeries import safetensors
from exactformer.certificates import Prepared
from exactformer.certificates.certificate import Claim, certificate_of
from exactformer.certificates.proving import prove_tokens
from exactformer.checkpoints import open_checkpoint

MEASURED = {"gpt2-small": (8, 32, 128), "smollm2-135m": (8, 32, 128)}  # lengths of prompts
_CHECKER = Path(exactformer_check.__file__)
_KEEPING = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); import exactformer_check as checker\n"
    "with open(sys.argv[4], 'wb') as kept: checker.check(json.load(open(sys.argv[2])), sys.argv[3], keep=kept.write)"
)
_GPT2 = {
    "model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024, "vocab_size": 50257,
    "layer_norm_epsilon": 1e-05, "activation_function": "gelu_new",
}  # fmt: skip


_SHORT = 32  # prompts up to this length are tried with two processes, too
CASES = tuple((name, length) for name, lengths in MEASURED.items() for length in lengths)


def run(progress: Progress, cases: Sequence[tuple[str, int]] = CASES) -> Result:
    """The table; what is not among the `cases` stays as it was measured before."""
    file = RESULTS / "checker.json"
    data: dict[str, Any] = json.loads(file.read_text())["measured"] if file.exists() else {}
    for name in MEASURED:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "model"
            for length in (length for other, length in cases if other == name):
                if not folder.exists():
                    alone(1, written, name, folder)
                data[f"{name} {length}"] = measured(folder, Path(place), length)
                progress(f"checker {name}, T={length}: {' '.join(_row(name, length, data[f'{name} {length}'])[2:])}")
    return _result({f"{name} {length}": data[f"{name} {length}"] for name, length in CASES if f"{name} {length}" in data})


def written(name: str, folder: Path) -> None:
    if name != "gpt2-small":
        write_model(SHAPES[name], folder)
        return
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(_GPT2))
    (folder / "model.safetensors").write_bytes(safetensors(gpt2_random.random_tensors("initialised", gpt2_random.Shape())))


def measured(folder: Path, place: Path, length: int) -> dict[str, Any]:
    """Processor seconds and megabytes of three programs, each in a process of its own; sizes in bytes."""
    certificate, witness = place / f"{length}.json", place / f"{length}.witness"
    bits = alone(1, certified, folder, certificate, length)
    verify = [sys.executable, "-m", "exactformer", "certify", str(folder), "--verify", str(certificate)]
    check = [sys.executable, str(_CHECKER), str(certificate), str(folder)]
    found: dict[str, Any] = {"bits": bits, "verify": _spent(verify)}
    found["without"] = _spent([sys.executable, "-c", _KEEPING, str(_CHECKER.parent), *check[2:], str(witness)])
    found["with"] = _spent([*check, "--witness", str(witness)])
    if length <= _SHORT:
        found["shared"] = [_lasted([*check, "--processes", str(count)]) for count in (1, 2)]
    found |= {"certificate": certificate.stat().st_size, "witness": witness.stat().st_size}
    witness.unlink()
    return found


def certified(folder: Path, file: Path, length: int) -> int:
    checkpoint = open_checkpoint(folder)
    model = checkpoint.model
    ids = [int(i) for i in np.random.default_rng(length).integers(0, len(model.config.vocabulary), length)]
    claims = [Claim.of(each) for each in prove_tokens(model, ids, 1, prepared=Prepared(model))]
    certificate = certificate_of(model, ids, 19, claims, origin=checkpoint.origin)
    assert certificate.check is not None
    certificate.save(file)
    return certificate.check.bits


def _spent(command: list[str]) -> tuple[float, int]:
    """Processor seconds and the most memory; it must end with status 0."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(_CHECKER.parent)}
    most = 0
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            most = max(most, _resident(process.pid))  # what the system adds up in the end has this process in it, too
            time.sleep(0.05)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return used.ru_utime + used.ru_stime, most // 1024


def _lasted(command: list[str]) -> float:
    """Seconds on the clock."""
    started = time.monotonic()
    _spent(command)
    return time.monotonic() - started


def _resident(process: int) -> int:
    """The most kilobytes that were resident so far."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def _row(name: str, length: int, found: dict[str, Any]) -> tuple[str, ...]:
    verify, without, given = (found[key] for key in ("verify", "without", "with"))
    return (
        name, str(length), str(found["bits"]), f"{without[0]:.0f} s", f"{without[0] / verify[0]:.2f}", f"{without[1]} MB",
        f"{shared[1] / shared[0]:.2f}" if (shared := found.get("shared")) else "–",
        f"{given[0]:.0f} s", f"{given[0] / verify[0]:.2f}", f"{given[1]} MB", f"{verify[0]:.0f} s", f"{verify[1]} MB",
        f"{found['certificate'] / 1000:.1f} kB", f"{found['witness'] / 1e6:.1f} MB",
    )  # fmt: skip


def _result(data: dict[str, Any]) -> Result:
    rows = [_row(key.split()[0], int(key.split()[1]), found) for key, found in data.items()]
    columns = (
        "model", "T", "bits", "without a witness", "ratio", "memory", "two processes", "with a witness", "ratio", "memory",
        "certify --verify", "memory", "certificate", "witness",
    )  # fmt: skip
    told = (
        "`exactformer_check.py`, which needs Python's standard library alone, checks a certificate of one token: without a "
        "witness, where it computes all products itself (and here writes them, too), and with one. Models of the shapes of GPT-2 "
        "small (float32, weights as before training) and SmolLM2-135M (bfloat16, made to look trained). Processor seconds of one "
        "process each, on one thread; "
        "*ratio* to `certify --verify` in the same run, which computes everything again with NumPy. *bits* to begin with. *two "
        "processes*: the time on the clock with `--processes 2`, as a share of that of one process, without a witness."
    )
    return Result("checker", "A certificate checked with Python alone", (told, Table(columns, tuple(rows))), {"measured": data})


if __name__ == "__main__":
    asked = (sys.argv[1], int(sys.argv[2]))
    for path in write(run(print, [asked]), by="python -m benchmarks checker"):
        print(f"wrote {path}")
