"""How radii usually grow in a model of some wiring: a table, for a model whose weights are not at hand or were never prepared.

It is what scouts saw: of models of the shapes of GPT-2 small, Pythia-14m and -70m, SmolLM2-135M, Qwen2.5-0.5B,
Qwen3-0.6B and Gemma-3-270m whose weights look trained (`benchmarks/synthetic.py`; nothing is learned), and for narrow
ones of trained ones: nanoGPT and minGPT of 48 to 64 dimensions, two Llamas of 64. Nobody knows a real model's growth before its
norms are computed: half of it, or twice as much, would be no surprise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from exactformer.certified.scheduling import Growth, Outlook
from exactformer.model import Config

_WIDE = 512  # dimensions of the stream from which on the table holds as it is
_NARROW = 32  # nothing is known of less
_LEAD = -2.2  # bits: a quarter of the usual lead of the largest logit
_LENGTHS = {1: (-2.1, -0.2), 2: (-0.4, -0.1), 8: (0.0, 0.0), 32: (0.1, 0.15), 128: (0.2, 0.3)}  # attention, MLP: more than at 8


@dataclass(frozen=True)
class Half:
    """Bits by which it multiplies a radius, for 8 tokens: in the first block, in the second, in the last."""

    first: float
    start: float
    end: float
    narrow: tuple[float, float]  # less for each time that the stream is half as wide as 512: in the first block, in others

    def bits(self, block: int, blocks: int, halvings: float) -> float:
        if block == 0:
            return self.first - self.narrow[0] * halvings
        depth = (block - 1) / max(1, blocks - 2)
        return self.start + (self.end - self.start) * depth - self.narrow[1] * halvings


@dataclass(frozen=True)
class Kind:
    attn: Half
    mlp: Half
    head: float
    sizes: tuple[float, float, float]  # of the stream, in bits: at the start, in the second block, at the end


KINDS = {
    "plain": Kind(Half(11.5, 5.6, 4.0, (2.3, 0.6)), Half(7.3, 5.5, 4.2, (0.9, 0.3)), 0.0, (-1.6, 2.0, 4.3)),
    "parallel": Kind(Half(0.0, 0.0, 0.0, (0.0, 0.0)), Half(13.2, 6.7, 6.0, (0.6, 0.4)), 0.2, (-2.6, 3.1, 3.8)),
    "gated": Kind(Half(7.9, 7.0, 5.4, (0.7, 0.9)), Half(6.3, 6.2, 4.8, (0.0, 0.35)), 3.0, (-4.2, -3.7, 0.2)),
    "four norms": Kind(Half(8.7, 8.0, 6.3, (0.7, 0.75)), Half(7.1, 6.9, 5.6, (0.0, 0.3)), 0.0, (0.5, 0.9, 3.6)),
}


def kind_of(config: Config) -> str:
    """Which row of the table: attention and MLP one after the other or at once; a gate; norms after each half besides."""
    if config.parallel:
        return "parallel"
    if config.mlp_kind == "gated":
        return "four norms" if config.post_norms else "gated"
    return "plain"


def typical(config: Config) -> Outlook:
    """What is to be expected of a model by its configuration alone.

    >>> from exactformer.model import Config
    >>> gpt2 = Config(vocabulary=("a",), dim=768, blocks=12, norm="none", mask="causal", scale="sqrt", mlp=3072, activation="gelu")
    >>> [(growth.length, round(sum(growth.halves))) for growth in typical(gpt2).growths]
    [(1, 97), (2, 119), (8, 125), (32, 128), (128, 131)]
    """
    kind, blocks = KINDS[kind_of(config)], config.blocks
    halvings = max(0.0, math.log2(_WIDE / max(config.dim, _NARROW)))
    growths = []
    for length, (more_attn, more_mlp) in _LENGTHS.items():
        halves: list[float] = []
        sizes: list[float] = []
        for n in range(blocks):
            attn = kind.attn.bits(n, blocks, halvings) + (0.0 if config.parallel else more_attn)
            mlp = kind.mlp.bits(n, blocks, halvings) + more_mlp + (more_attn / 2 if config.parallel else 0.0)
            halves += [max(0.0, attn), max(0.0, mlp) if config.mlp else 0.0]
            depth = (n - 1) / max(1, blocks - 2)
            size = kind.sizes[0] if n == 0 else kind.sizes[1] + (kind.sizes[2] - kind.sizes[1]) * depth
            sizes += [size, size]
        growths.append(Growth(length, (*halves, kind.head), (*sizes, kind.sizes[2] if blocks else kind.sizes[0])))
    return Outlook(tuple(growths), _LEAD)
