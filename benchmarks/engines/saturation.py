"""Why CTranslate2's int8 is far off on some processors: `python -m benchmarks.engines.saturation` computes what it computes.

Without VNNI instructions, oneDNN multiplies unsigned by signed bytes and adds *pairs* of products in 16 bits, which saturate at
32,767; a pair can be 2 · 255 · 127 = 64,770. Here is that pass in float64, with sums that saturate and sums that do not, beside
the engine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.engines.ctranslate import dequantised, run
from benchmarks.engines.engine import BATCH
from benchmarks.engines.folders import config_of, write_folder
from benchmarks.engines.models import CASES, written
from benchmarks.engines.outputs import apart
from benchmarks.engines.torch_transformers import opened
from benchmarks.result import Result, Table

_LARGEST = 2**15 - 1
_SAME = 1e-4


def int8_linear(x: Any, weight: Any, saturates: bool) -> Any:
    """x [T, in] times rows [out, in]: both as whole numbers up to 127, x shifted by 128, as the kernel has it."""
    import torch

    scale, row_scale = 127 / x.abs().amax(-1, keepdim=True), 127 / weight.abs().amax(-1)
    bytes, rows = torch.round(x * scale) + 128, torch.round(weight * row_scale[:, None])
    products = bytes[:, None] * rows  # [T, out, in]
    pairs = products[..., 0::2] + products[..., 1::2]
    if saturates:
        pairs = pairs.clamp(-_LARGEST - 1, _LARGEST)
    return (pairs.sum(-1) - 128 * rows.sum(-1)) / scale / row_scale


def int8_logits(folder: Path, ids: Any, saturates: bool) -> Any:
    """A Llama in float64 but for its matrices."""
    import torch

    model = opened(folder, "float64")
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.forward = lambda x, weight=module.weight.data: int8_linear(x[0], weight, saturates)[None]
    with torch.no_grad():
        return np.concatenate([model(torch.from_numpy(text[None]), use_cache=False).logits.numpy() for text in ids])


def measured(folder: Path, begin: int) -> dict[str, dict[str, float]]:
    """Differences of logits, between the engine with either library and either pass."""
    ids = written(folder, begin, BATCH)
    with tempfile.TemporaryDirectory() as temporary:
        own = write_folder(Path(temporary), config_of(folder), dequantised(folder))
        passes = {"saturating sums": int8_logits(own, ids, True), "exact sums": int8_logits(own, ids, False)}
    engines = {library: apart(run, folder, ids, "int8", library == "MKL")["logits"] for library in ("oneDNN", "MKL")}
    return {
        f"{library}, {kind}": _differences(np.abs(given - values))
        for library, given in engines.items()
        for kind, values in passes.items()
    }


def _differences(off: Any) -> dict[str, float]:
    return {"largest": float(off.max()), "median": float(np.median(off)), "same": float((off.max(-1) < _SAME).mean())}


def main() -> None:
    rows, data = [], {}
    for case in CASES[:2]:  # the two Llamas
        if case.source.is_dir():
            data[case.name] = measured(case.source, case.begin)
            rows += [(case.name, *name.split(", "), *_shown(found)) for name, found in data[case.name].items()]
    table = Table(
        ("model", "CTranslate2 int8 with", "beside a pass with", "largest difference", "median", "positions that agree"),
        tuple(rows),
    )
    words = (
        "CTranslate2 in int8, beside the same pass in float64 with weights and activations of eight bits: logits of "
        f"{BATCH} texts. A position agrees where all logits do, within {_SAME:g}. Where float32 rounds an activation otherwise, "
        "its position and those after it differ by steps of the eight bits; all texts of a model begin with the same token."
    )
    result = Result("engines_saturation", "Sums of eight bits that saturate", (words, table), {"differences": data})
    for path in report.write(result, by="python -m benchmarks.engines.saturation"):
        print(f"wrote {path}")


def _shown(found: dict[str, float]) -> tuple[str, str, str]:
    return f"{found['largest']:.2g}", f"{found['median']:.2g}", f"{found['same']:.0%}"


if __name__ == "__main__":  # engines run in processes that import this module again
    main()
