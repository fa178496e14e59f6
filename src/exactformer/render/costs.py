"""The cost of a pass as tables."""

from __future__ import annotations

from collections import Counter

from exactformer.model import Config
from exactformer.model.arithmetics.counting import KINDS
from exactformer.render.layout import count
from exactformer.trace.costs import Costs


def render(title: str, costs: list[Costs], config: Config, tile: int) -> str:
    lines = [
        f"{title}: what it costs",
        f"{_heads(config)} of {config.head_dim}, {count(config.blocks, 'block')}, mask {config.mask}",
    ]
    for way in costs:
        for length in way.lengths:
            how = "counted" if length in way.counted else "from the polynomial that the counts lie on"
            lines += ["", f"{way.name}, T = {length:,} ({how})", _row("", KINDS)]
            rows = [(stage, counts[length]) for stage, counts in way.stages.items() if sum(counts[length].values())]
            lines += [_row(stage, _numbers(counts)) for stage, counts in rows]
            lines.append(_row("total", _numbers(way.total(length))))
    return "\n".join([*lines, "", *_memory(costs[0].lengths, config, tile)]) + "\n"


def _memory(lengths: tuple[int, ...], config: Config, tile: int) -> list[str]:
    """Numbers held at once: the score matrix, a tile of it, and the cache."""
    lines = ["numbers held at once"]
    for length in lengths:
        scores = config.heads * length * length
        cache = 2 * config.blocks * config.key_heads * length * config.head_dim
        whole = f" (with keys for each head {cache * config.heads // config.kv_heads:,})" if config.kv_heads else ""
        lines.append(
            f"  T = {length:<8,} score matrix {scores:>14,}   a row in tiles {min(tile, length):>4,}   KV cache {cache:>14,}{whole}"
        )
    return lines


def _heads(config: Config) -> str:
    return count(config.heads, "head") + (f" ({config.kv_heads} of keys)" if config.kv_heads else "")


def _numbers(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{counts[kind]:,}" for kind in KINDS)


def _row(name: str, cells: tuple[str, ...]) -> str:
    return f"  {name:<16}" + "".join(f"{cell:>17}" for cell in cells)
