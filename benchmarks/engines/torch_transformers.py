"""The transformers library on PyTorch: three formats, attention step by step and fused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.engine import THREADS, Engine, Outputs, batches

FORMATS, ATTENTIONS = ("float32", "bfloat16", "float16"), ("eager", "sdpa")


def opened(folder: Path, format: str = "float32", attention: str = "eager") -> Any:
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(THREADS)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, format), attn_implementation=attention)
    return model.eval()


def run(folder: Path, ids: Any, format: str, attention: str) -> Outputs:
    """Logits, and the hidden states between the blocks."""
    import torch

    model = opened(folder, format, attention)
    found: dict[str, list[Any]] = {}
    with torch.no_grad():
        for some in batches(ids):
            given = model(torch.from_numpy(some), use_cache=False, output_hidden_states=True)
            states = {f"hidden_states.{n}": state for n, state in enumerate(given.hidden_states)}
            for name, values in {"logits": given.logits, **states}.items():
                found.setdefault(name, []).append(values.float().numpy())  # float32 holds the others
    return {name: np.concatenate(parts) for name, parts in found.items()}


ENGINES = tuple(
    Engine(f"transformers-{format}-{attention}", ("torch", "transformers"), f"{format}, {attention}", format,
           partial(run, format=format, attention=attention))
    for format in FORMATS for attention in ATTENTIONS
)  # fmt: skip
