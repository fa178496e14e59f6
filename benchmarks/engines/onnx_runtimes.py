"""ONNX Runtime and OpenVINO: the graph that PyTorch exports of the transformers library's model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.engine import BATCH, THREADS, Engine, Outputs, batches
from benchmarks.engines.torch_transformers import opened

Session = Callable[[Any], Any]  # from ids to logits, for one batch


def run(folder: Path, ids: Any, open_graph: Callable[[Path], Session]) -> Outputs:
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "model.onnx"
        _export(folder, path, ids.shape[1])
        session = open_graph(path)
        return {"logits": np.concatenate([session(some) for some in batches(ids)])}


def _export(folder: Path, path: Path, length: int) -> None:
    import torch

    model = opened(folder)

    class LogitsAlone(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any) -> Any:
            return self.model(ids, use_cache=False).logits

    example = torch.zeros((BATCH, length), dtype=torch.int64)
    torch.onnx.export(
        LogitsAlone().eval(), (example,), path, dynamo=True, input_names=["ids"], output_names=["logits"], verbose=False
    )


def _onnx_runtime(path: Path) -> Session:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = THREADS
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids: session.run(["logits"], {"ids": ids})[0]


def _openvino(path: Path) -> Session:
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": THREADS}
    compiled = openvino.compile_model(path, "CPU", settings)
    return lambda ids: compiled([ids])[0].copy()


_PACKAGES, _EXPORTED = ("onnxscript", "torch", "transformers"), "float32, exported by torch.onnx"
ENGINES = (
    Engine("onnxruntime-float32", ("onnxruntime", *_PACKAGES), f"{_EXPORTED}, all graph optimisations", "float32",
           partial(run, open_graph=_onnx_runtime)),
    Engine("openvino-float32", ("openvino", *_PACKAGES), f"{_EXPORTED}, INFERENCE_PRECISION_HINT f32", "float32",
           partial(run, open_graph=_openvino)),
)  # fmt: skip
