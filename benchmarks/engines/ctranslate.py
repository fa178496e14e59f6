"""CTranslate2: its own converter, in float32 and with weights of eight bits."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.engine import THREADS, Engine, Outputs, Weights, batches
from benchmarks.engines.folders import config_of, weights_of

_TURNED = ("c_attn", "c_proj", "c_fc")  # GPT-2's, which the folder has as [in, out]
_AS_THEY_ARE = ("wpe",)


class _Nameless:
    """A tokenizer for a converter that wants one: tokens are asked for by their ids alone."""

    bos_token = eos_token = unk_token = "t0"

    def __init__(self, size: int) -> None:
        self.size = size

    def get_vocab(self) -> dict[str, int]:
        return {f"t{n}": n for n in range(self.size)}


def run(folder: Path, ids: Any, kind: str, mkl: bool = False) -> Outputs:
    if mkl:
        os.environ["CT2_USE_MKL"] = "1"  # else only on processors of one maker
    import ctranslate2
    from ctranslate2.converters import TransformersConverter

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_tokenizer(self, tokenizer_class: Any, name: str, **rest: Any) -> Any:
            return _Nameless(config_of(folder)["vocab_size"])

    with tempfile.TemporaryDirectory() as temporary:
        Converter(str(folder)).convert(temporary, quantization=kind, force=True)
        generator = ctranslate2.Generator(temporary, device="cpu", compute_type=kind, inter_threads=1, intra_threads=THREADS)
        parts = [np.array(generator.forward_batch(some.tolist(), return_log_probs=False)) for some in batches(ids)]
    return {"logits": np.concatenate(parts)}


def dequantised(folder: Path) -> Weights:
    """Rows of whole numbers from −127 to 127, each with its own scale."""
    return {name: _rounded(name, values) for name, values in weights_of(folder).items()}


def _rounded(name: str, values: Any) -> Any:
    if values.ndim != 2 or any(part in name for part in _AS_THEY_ARE):
        return values
    turned = any(part in name for part in _TURNED)
    rows = values.T if turned else values
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scales = np.float32(127) / np.where(largest == 0, np.float32(127), largest)
    rounded = np.rint(rows * scales) / scales
    return np.ascontiguousarray(rounded.T if turned else rounded)


_PACKAGES = ("ctranslate2", "transformers")
_INT8 = "int8: weights by rows, activations by tokens"
ENGINES = (
    Engine("ctranslate2-float32", _PACKAGES, "float32, oneDNN", "float32", partial(run, kind="float32")),
    Engine(
        "ctranslate2-int8", _PACKAGES, f"{_INT8}, oneDNN (its choice here)", "float32", partial(run, kind="int8"), True, dequantised
    ),
    Engine(
        "ctranslate2-int8-mkl",
        _PACKAGES,
        f"{_INT8}, MKL (CT2_USE_MKL=1)",
        "float32",
        partial(run, kind="int8", mkl=True),
        True,
        dequantised,
    ),
)
