"""The models of the table, each as a folder of the transformers library, and the texts that they write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.folders import config_of, weights_of, write_folder
from benchmarks.engines.torch_transformers import opened

LENGTH, SEED, TEMPERATURE = 64, 17, 0.9

ROOT = Path(__file__).parents[2]
_SHARED = ROOT.parent / "shared" / "data"
_TURNED = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


@dataclass(frozen=True)
class Case:
    """A model, and the token that its texts begin with."""

    name: str
    source: Path
    begin: int

    def folder(self, work: Path) -> Path:
        """Where engines find it: nanoGPT's weights are written once as GPT-2 has them."""
        return self.source if "model_type" in config_of(self.source) else _as_gpt2(self.source, work / f"{self.name}-gpt2")


CASES = (
    Case("stories", ROOT / "src" / "exactformer" / "models" / "stories", 0),  # <|endoftext|>, which stands between stories
    Case("stories260K", _SHARED / "stories260K", 1),  # <s>
    Case("slm-4096", _SHARED / "slm-4096", 0),  # the end of a line
)


def _as_gpt2(source: Path, folder: Path) -> Path:
    said = config_of(source)
    config = {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": said["n_layer"], "n_head": said["n_head"],
        "n_embd": said["n_embd"], "n_positions": said["block_size"], "vocab_size": said["vocab_size"],
        "activation_function": "gelu", "layer_norm_epsilon": 1e-5, "tie_word_embeddings": False,
        "bos_token_id": 0, "eos_token_id": 0,
    }  # fmt: skip
    weights = {name: values.T if name.endswith(_TURNED) else values for name, values in weights_of(source).items()}
    return write_folder(folder, config, weights)


def written(folder: Path, begin: int, number: int) -> Any:
    """Ids [number, LENGTH] that the model draws, in float32, always by the same seed."""
    import torch

    model, chance = opened(folder), torch.Generator().manual_seed(SEED)
    ids = torch.full((number, 1), begin)
    with torch.no_grad():
        while ids.shape[1] < LENGTH:
            logits = model(ids, use_cache=False).logits[:, -1]
            ids = torch.cat([ids, torch.multinomial(torch.softmax(logits / TEMPERATURE, dim=-1), 1, generator=chance)], dim=1)
    return ids.numpy().astype(np.int64)
