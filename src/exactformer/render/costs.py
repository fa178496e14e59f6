"""The cost of a pass as tables."""

from __future__ import annotations

from collections import Counter

from exactformer.model import Config
from exactformer.model.arithmetics.counting import KINDS
from exactformer.render.layout import count
from exactformer.render.tables import grid
from exactformer.trace.costs import Costs

_HEADINGS = ("×", "+", "exp", "÷", "compare", "others")  # of KINDS


def render(title: str, costs: list[Costs], config: Config, tile: int, width: int | None = None) -> str:
    lines = [
        f"{title}: what it costs",
        f"{_heads(config)} of {config.head_dim}, {count(config.blocks, 'block')}, mask {config.mask}",
    ]
    for way in costs:
        for length in way.lengths:
            how = "counted" if length in way.counted else "from the polynomial that the counts lie on"
            rows = {stage: counts[length] for stage, counts in way.stages.items() if sum(counts[length].values())}
            rows["total"] = way.total(length)
            table = grid(list(rows), _HEADINGS, [_numbers(counts) for counts in rows.values()], width)
            lines += ["", f"{way.name}, T = {length:,} ({how})", *(f"  {line}" for line in table)]
    return "\n".join([*lines, "", *_memory(costs[0].lengths, config, tile, width)]) + "\n"


def _memory(lengths: tuple[int, ...], config: Config, tile: int, width: int | None) -> list[str]:
    """Numbers held at once: the score matrix, a tile of it, and the cache."""
    held = [(config.heads * n * n, min(tile, n), 2 * config.blocks * config.key_heads * n * config.head_dim) for n in lengths]
    cells = [[f"{number:,}" for number in row] for row in held]
    named = ["score matrix", "a row in tiles", "KV cache"]
    if config.kv_heads:
        named.append("with keys for each head")
        cells = [[*row, f"{cache * config.heads // config.kv_heads:,}"] for row, (_, _, cache) in zip(cells, held, strict=True)]
    return ["numbers held at once", *(f"  {line}" for line in grid([f"T = {n:,}" for n in lengths], named, cells, width))]


def _heads(config: Config) -> str:
    return count(config.heads, "head") + (f" ({config.kv_heads} of keys)" if config.kv_heads else "")


def _numbers(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{counts[kind]:,}" if counts[kind] else "" for kind in KINDS)
