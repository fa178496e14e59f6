"""python -m training.networks.train FOLDER [NAMES]: trains each network for the theorem of its worksheet.

Inputs, their order and the first weights are the same in every run. The trained weights are not, to the last bit: PyTorch adds in
another order on another machine or in another version. Training again gives about the same accuracy, and another network, whose
theorem has to be proved again.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR

from exactformer.model import Config
from exactformer.worksheets.models import model_folder
from training.networks.network import Weights, logits, untrained
from training.networks.task import Task

SEED = 18


@dataclass(frozen=True)
class Plan:
    """How a network is trained. Of all inputs, `seen` is the share that it ever sees."""

    steps: int
    batch: int
    seen: float = 1.0
    rate: float = 3e-3
    decay: float = 0.1
    spread: float = 1.0


PLANS = {
    "sorter": Plan(1000, 128, seen=0.5),
    "modular": Plan(1200, 256, rate=5e-3, decay=0.3),
    "largest": Plan(4000, 512, rate=5e-3, decay=0.0),
    "balancer": Plan(1300, 64, rate=4e-3),
    "adder": Plan(900, 256, seen=0.5),
}


def drawn(task: Task, plan: Plan, random: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of what the network sees."""
    size = task.box.size
    known = random.permutation(size)[: int(plan.seen * size)] if plan.seen < 1 else None
    for _ in range(plan.steps):
        numbers = random.integers(size if known is None else len(known), size=plan.batch)
        yield task.examples(numbers if known is None else known[numbers])


def train(task: Task, plan: Plan) -> Weights:
    torch.manual_seed(SEED)
    weights = untrained(task.config, plan.spread)
    optimizer = torch.optim.AdamW(weights.values(), lr=plan.rate, betas=(0.9, 0.98), weight_decay=plan.decay)
    rates = LambdaLR(optimizer, lambda step: min(1, (step + 1) / 100, 1.25 * (1 - step / plan.steps)))
    start = time.monotonic()
    for step, (ids, wanted) in enumerate(drawn(task, plan, np.random.default_rng(SEED)), 1):
        loss = F.cross_entropy(logits(weights, task.config, ids).flatten(0, 1), wanted.flatten(), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rates.step()
        if step % 200 == 0 or step == plan.steps:
            print(f"step {step} of {plan.steps}: loss {loss.item():.2e}, {time.monotonic() - start:.0f} s", flush=True)
    return weights


def rounded(weights: Weights) -> Weights:
    """As they are saved."""
    return {name: weight.detach().bfloat16() for name, weight in weights.items()}


def wrong(weights: Weights, config: Config, task: Task, most: int = 1 << 16) -> tuple[int, int]:
    """Inputs, and how many of them are answered wrongly somewhere, in float64: of a large domain, a sample."""
    size, found = task.box.size, 0
    numbers = np.arange(size) if size <= most else np.random.default_rng(0).integers(size, size=most)
    with torch.inference_mode():
        for part in np.array_split(numbers, -(-len(numbers) // 2048)):
            ids, wanted = task.examples(part)
            said = logits({name: weight.double() for name, weight in weights.items()}, config, ids).argmax(dim=-1)
            found += int(((said != wanted) & (wanted >= 0)).any(dim=1).sum())
    return len(numbers), found


def main() -> None:
    parser = argparse.ArgumentParser(description="Train small networks, each for the theorem of its worksheet.")
    parser.add_argument("folder", type=Path, help="where the networks go, each into a folder of its own")
    parser.add_argument("names", nargs="*", help=f"which of them: {', '.join(PLANS)} (default: all)")
    options = parser.parse_args()
    torch.set_num_threads(1)  # the networks are so small that a second thread waits more than it helps
    for name in options.names or PLANS:
        task = Task(model_folder(name) / "worksheet.toml")
        weights = rounded(train(task, PLANS[name]))
        folder = options.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        if folder.resolve() != model_folder(name).resolve():
            shutil.copy(task.worksheet, folder)
        save_file(weights, folder / "model.safetensors")
        inputs, failed = wrong(weights, task.config, task)
        print(f"{name}: wrong on {failed} of {inputs:,} inputs")


if __name__ == "__main__":
    main()
