"""llama.cpp through the binding xllamacpp: its server, asked for the log-probabilities of all tokens after every id."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.engine import THREADS, Engine, Outputs, Unable
from benchmarks.engines.folders import config_of, llama_config
from benchmarks.engines.gguf_file import dequantised, write_gguf


def run(folder: Path, ids: Any, kind: str, wide: bool) -> Outputs:
    """One more token at a time, as when a text is written; the server keeps keys and values of those before."""
    size = _config(folder)["vocab_size"]
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "model.gguf"
        write_gguf(folder, path, kind)
        server = _server(path, wide)
        found = [[_after(server, text[: n + 1], size) for n in range(len(text))] for text in ids.tolist()]
    return {
        "logprobs": np.array([[numbers for _, numbers in text] for text in found], dtype=np.float32),
        "tokens": np.array([[token for token, _ in text] for text in found]),
    }


def _config(folder: Path) -> dict[str, Any]:
    config = config_of(folder)
    if config["model_type"] == "gpt2" and config["activation_function"] == "gelu":
        raise Unable("its GPT-2 has GELU in the form with tanh alone; this model was trained with the exact one")
    return llama_config(folder)


def _server(path: Path, wide: bool) -> Any:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx, settings.n_parallel, settings.warmup = 128, 1, False
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = THREADS
    settings.verbosity = -1
    if wide:
        settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xllamacpp.Server(settings)


def _after(server: Any, ids: list[int], size: int) -> tuple[int, Any]:
    """The token that it chooses, and the log-probabilities of all."""
    asked = {"prompt": ids, "n_predict": 1, "temperature": 0, "n_probs": size, "cache_prompt": True}
    answer = server.handle_completions(asked)
    try:
        first = answer["choices"][0]["logprobs"]["content"][0]
    except (KeyError, IndexError, TypeError):
        raise Unable(f"the server's answer has no log-probabilities: {str(answer)[:200]}") from None
    numbers = np.full(size, np.nan)
    for each in first["top_logprobs"]:
        numbers[each["id"]] = each["logprob"]
    if np.isnan(numbers).any():
        raise Unable(f"the server gave {len(first['top_logprobs'])} of {size} log-probabilities")
    return first["id"], numbers


_PACKAGES = ("xllamacpp", "gguf")
_DEFAULT = "float16 keys and values, flash attention as it decides (its defaults)"
ENGINES = (
    Engine("llama.cpp-float32", _PACKAGES, "float32, float32 keys and values, no flash attention", "float32",
           partial(run, kind="F32", wide=True)),
    Engine("llama.cpp-float32-default", _PACKAGES, f"float32, {_DEFAULT}", "float32", partial(run, kind="F32", wide=False)),
    Engine("llama.cpp-float16", _PACKAGES, f"float16, {_DEFAULT}", "float16", partial(run, kind="F16", wide=False)),
    Engine("llama.cpp-q8_0", _PACKAGES, f"q8_0, {_DEFAULT}; rows that blocks of 32 do not fill in float32", "float32",
           partial(run, kind="Q8_0", wide=False), True, dequantised),
)  # fmt: skip
