"""A model whose blocks are spread over three workers, each of which has half of the memory that one process takes."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alone import alone, resident, started_with
from benchmarks.result import Progress, Result, Table
from benchmarks.synthetic import SHAPES, write_model
from exactformer.certificates.file import document
from exactformer.checkpoints import open_checkpoint
from exactformer.model import Model
from exactformer.proofs.certifying import certify_all

PROMPTS, LENGTH, WORKERS, SHARE = 9, 8, 3, 0.5


def _model(folder: str) -> Model:
    return open_checkpoint(Path(folder)).model


def _prompts() -> list[list[int]]:
    size = SHAPES["smollm2-135m"]["vocab_size"]
    return np.random.default_rng(9).integers(0, size, (PROMPTS, LENGTH)).tolist()  # type: ignore[no-any-return]


def _claims(certificates: Any) -> list[Any]:
    """What is claimed of every prompt, in its order; the radii on the way are none of it."""
    return [{**document(found), "tables": None, "sha256": None} for _, found in sorted(certificates, key=lambda each: each[0])]


def _one_process(folder: str) -> dict[str, Any]:
    start = time.monotonic()
    found = _claims(certify_all(partial(_model, folder), _prompts()))
    return {"claims": found, "seconds": time.monotonic() - start, "memory": resident()}


def _spread(folder: str, limit: int, kill: bool) -> dict[str, Any]:
    """The same by workers that are ended at 95 % of `limit`; with `kill`, one of them is killed midway."""
    import dask
    from distributed import Client, LocalCluster

    killed: list[int] = []
    never = dict.fromkeys((f"distributed.worker.memory.{what}" for what in ("target", "spill", "pause")), False)
    with (
        dask.config.set(never),  # only what is above the limit is ended: slices are no data of Dask, which it could spill
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, memory_limit=limit, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        start = time.monotonic()

        def heard(done: int, total: int) -> None:
            if kill and done >= total // 3 and not killed:
                killed.append(sorted(client.run(os.getpid).values())[1])
                os.kill(killed[0], signal.SIGKILL)

        found = _claims(
            certify_all(
                partial(_model, folder),
                _prompts(),
                cluster=cluster.scheduler_address,
                spread=True,
                progress=heard,
            )
        )
        seconds = time.monotonic() - start
        return {"claims": found, "seconds": seconds, "memory": max(client.run(resident).values()), "killed": len(killed)}


def run(progress: Progress) -> Result | None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        progress("spread: Dask is not installed")
        return None
    with tempfile.TemporaryDirectory() as folder:
        alone(1, write_model, SHAPES["smollm2-135m"], Path(folder))
        one = alone(1, _one_process, folder)
        progress(f"spread: one process takes {one['memory'] / 2**30:.2f} GB")
        limit = int(one["memory"] * SHARE)
        with started_with(1):
            found = {kill: _spread(folder, limit, kill) for kill in (False, True)}
    rows = [("one process", f"{one['memory'] / 2**30:.2f} GB", "", "", "")]
    for kill, each in found.items():
        same = "the same" if each["claims"] == one["claims"] else "NOT the same"
        name = "three workers" + (", one killed midway" if kill else "")
        memory = f"{each['memory'] / 2**30:.2f} GB ({each['memory'] / one['memory']:.0%})"
        rows.append((name, memory, f"{limit / 2**30:.2f} GB", f"{one['seconds'] / each['seconds']:.2f}", same))
        progress(f"spread: {name}: {memory}, {same}")
    text = (
        f"A model of SmolLM2-135M's shape ({PROMPTS} prompts of {LENGTH} tokens), certified by one process and with its blocks "
        f"spread over {WORKERS} local Dask workers (`certify --spread`), each of which is ended when it takes more than 95 % of "
        f"the *limit*: {SHARE:.0%} of what one process takes. *memory*: the most that was resident in a process, preparation "
        "included. *times as fast*: the time of one process over that of the workers, preparation included, on this machine. "
        "*claims*: all that certificates say of every token."
    )
    table = Table(("", "memory", "limit", "times as fast", "claims"), tuple(rows))
    raw = {"one": one["memory"], "limit": limit} | {
        "killed" if kill else "spread": {name: each[name] for name in ("memory", "seconds", "killed")}
        for kill, each in found.items()
    }
    return Result("spread", "A model larger than one worker", (text, table), raw)
