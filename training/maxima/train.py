"""python -m training.maxima.train FOLDER --numbers 10: trains one head to say the largest of ten numbers below 64.

Seeded: batches and first weights are the same in every run. The last bits of the weights are not, as PyTorch adds in another order
on another machine.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

SEED, VOCABULARY, DIM, BATCH = 18, 64, 32, 2048
Weights = dict[str, Tensor]


def untrained(numbers: int) -> Weights:
    """By the names of worksheets, with heads first."""
    shapes = {"W_E": (VOCABULARY, DIM), "W_pos": (numbers, DIM), "W_U": (DIM, VOCABULARY)}
    shapes |= {f"blocks.0.attn.W_{letter}": (1, DIM, DIM) for letter in "QKVO"}
    small = {"W_pos": 0.1}
    return {name: (torch.randn(shape) * small.get(name, 1.0) / DIM**0.5).requires_grad_() for name, shape in shapes.items()}


def logits(weights: Weights, ids: Tensor) -> Tensor:
    """At the last position, [n, vocabulary]."""
    x = weights["W_E"][ids] + weights["W_pos"]  # [n, T, dim]
    q = x[:, -1] @ weights["blocks.0.attn.W_Q"][0]  # [n, dim]
    k = weights["blocks.0.attn.W_K"][0] @ q.T  # [dim, n]: what a position is multiplied by
    pattern = (torch.einsum("ntd,dn->nt", x, k) / DIM**0.5).softmax(dim=1)
    z = torch.einsum("nt,ntd->nd", pattern, x) @ weights["blocks.0.attn.W_V"][0]
    return (x[:, -1] + z @ weights["blocks.0.attn.W_O"][0]) @ weights["W_U"]


def drawn(numbers: int) -> Tensor:
    """Half of a batch are any numbers; the others lie between two that are drawn, so that many are close to the largest."""
    any_ones = torch.randint(VOCABULARY, (BATCH // 2, numbers))
    ends = torch.randint(VOCABULARY, (BATCH // 2, 2)).sort(dim=1).values
    low, high = ends[:, :1], ends[:, 1:]
    return torch.cat([any_ones, low + (torch.rand(BATCH // 2, numbers) * (high - low + 1)).long()])


def train(numbers: int, steps: int) -> tuple[Weights, list[tuple[int, float, float]]]:
    """The weights, and every five hundred steps the loss (natural logarithm) and the share of inputs that is right, in floats."""
    torch.manual_seed(SEED)
    weights = untrained(numbers)
    optimizer = torch.optim.AdamW(weights.values(), lr=0.004, betas=(0.9, 0.99), weight_decay=0.0)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.004, total_steps=steps, pct_start=0.05)
    curve, start = [], time.monotonic()
    for step in range(1, steps + 1):
        ids = drawn(numbers)
        said, wanted = logits(weights, ids), ids.max(dim=1).values
        loss = F.cross_entropy(said, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate.step()
        if step % 500 == 0 or step == steps:
            right = (said.argmax(dim=1) == wanted)[: BATCH // 2].float().mean()
            curve.append((step, round(float(loss.detach()), 5), round(float(right), 5)))
            print(f"step {step}: loss {curve[-1][1]}, right {curve[-1][2]}, {time.monotonic() - start:.0f} s", flush=True)
    return {name: weight.detach() for name, weight in weights.items()}, curve


def worksheet(numbers: int) -> str:
    """The network as a worksheet, whose weights are in the file beside it."""
    words = {4: "four", 10: "ten"}.get(numbers, str(numbers))
    rows = (range(start, start + 16) for start in range(0, VOCABULARY, 16))
    vocabulary = "".join("  " + " ".join(f'"{n}",' for n in row) + "\n" for row in rows)
    tokens = " ".join(str((17 * n + 5) % VOCABULARY) for n in range(numbers))
    return f"""title = "The largest of {words} numbers"
about = "One head and nothing else: of {words} numbers below {VOCABULARY}, the largest."
weights = "model.safetensors"

[model]
vocabulary = [
{vocabulary}]
dim = {DIM}
blocks = 1
heads = 1
norm = "none"
positions = "table"
mask = "causal"
scale = "sqrt"
unembedding = "own"

[theorem]
rule = "max"
domain = "0..{VOCABULARY - 1}^{numbers}"

[input]
tokens = "{tokens}"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--numbers", type=int, default=10)
    parser.add_argument("--steps", type=int, default=3_000)
    arguments = parser.parse_args()
    weights, curve = train(arguments.numbers, arguments.steps)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, arguments.folder / "model.safetensors")
    (arguments.folder / "worksheet.toml").write_text(worksheet(arguments.numbers), encoding="utf-8")
    (arguments.folder / "training.json").write_text(json.dumps({"seed": SEED, "curve": curve}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
