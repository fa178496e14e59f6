"""How long passes take, from a small product and two small models on this machine.

A half of a block is products with its weights, and besides work on entries, which grows with the heads, with the width of the MLP
or with that of the stream. Of each, two sizes are timed at some numbers of limbs; what lies between and beyond follows from them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exactformer.certified.ball import FLOAT
from exactformer.certified.elementwise import activate_float, exp_float
from exactformer.certified.limbs import MOST
from exactformer.certified.scheduling import SCOUTED
from exactformer.model import Config, Model
from exactformer.planning.probing import HEAD, PARTS, WALL, Clock, Probe, Product, norm_products

_LONGEST = 32  # tokens of a pass that is timed: longer ones follow from it and from half as many
_NODES = 4  # numbers of limbs that are timed, at most
_PRODUCTS = {"attn": ("q", "k", "v", "out"), "mlp": ("pre", "pre_linear", "out")}  # steps that multiply by weights


@dataclass(frozen=True)
class Seconds:
    """What no number of workers makes less, and what can be spread over them."""

    alone: float = 0.0
    spread: float = 0.0

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.alone + other.alone, self.spread + other.spread)

    def __mul__(self, factor: float) -> Seconds:
        return Seconds(self.alone * factor, self.spread * factor)

    def over(self, workers: int) -> float:
        return self.alone + self.spread / workers


@dataclass(frozen=True)
class Sizes:
    """Of a model: its blocks, how wide each part of a block and the head are, and how many weights their products have."""

    blocks: int
    widths: Mapping[str, int]
    weights: Mapping[str, int]
    norms: int  # multiplications that the norms of a block take

    @classmethod
    def of(cls, config: Config, counted: Mapping[str, Counter[str]], length: int) -> Sizes:
        """`counted` are the operations of a pass over `length` tokens, by stage."""
        times = max(1, config.blocks) * length
        weights = {
            part: sum(counted.get(f"{part}.{step}", Counter())["multiplications"] for step in steps) // times
            for part, steps in _PRODUCTS.items()
        }
        widths = {"attn": config.key_heads, "mlp": config.mlp, "stream": config.dim, HEAD: len(config.spoken)}
        head = counted.get("logits", Counter())["multiplications"] // length
        return cls(config.blocks, widths, weights | {"stream": 0, HEAD: head}, block_norms(config))

    def in_limbs(self, schedule: Sequence[int]) -> int:
        """Weights that are cut into slices."""
        halves = sum(self.weights[("attn", "mlp")[n % 2]] for n, limbs in enumerate(schedule[:-1]) if limbs != FLOAT)
        return halves + (self.weights[HEAD] if schedule[-1] != FLOAT else 0)


def block_norms(config: Config) -> int:
    """Multiplications of the verified norms of a block."""
    dim, width, mlp, norm = config.dim, config.head_dim, config.mlp, norm_products
    queries, keys = config.heads * width, config.key_heads * width
    heads = config.heads + config.key_heads
    attention = 2 * norm(dim, queries) + 2 * norm(dim, keys) + (heads + config.key_heads) * norm(dim, width)
    attention += heads * (dim * width**2 + 10 * width**3)  # errors in the directions in which they are read
    if config.mlp_kind == "gated":
        return attention + 3 * norm(dim, mlp) + norm(dim, dim)  # both branches side by side: the sum of their Gram matrices
    return attention + (2 * norm(dim, mlp) + 2 * dim * mlp * dim + norm(dim, dim) if mlp else 0)


class Calibration:
    """What this machine takes for small things; timed when it is first asked for."""

    def __init__(self, model: Model, kind: str, clock: Clock = WALL, progress: Callable[[str], None] = lambda step: None) -> None:
        self.config, self.kind, self.clock, self.progress = model.config, kind, clock, progress
        self._given = {name for name, _ in model.weights.named()}
        self._rates: dict[tuple[int, int], float] = {}
        self._timed: dict[tuple[int, int, int, bool], list[dict[str, float]]] = {}
        self._tables: dict[int, float] = {}

    @cached_property
    def product(self) -> Product:
        self.progress("a small product")
        return Product(self.kind, self.clock)

    @cached_property
    def probes(self) -> list[Probe]:
        self.progress("two small models")
        self.built  # noqa: B018 - tables first: none of the models is to be blamed for them
        return [Probe.of(self.config, self._given, self.kind, large, self.clock) for large in (False, True)]

    @cached_property
    def built(self) -> float:
        """Seconds for the tables of e^x and of the activation, as floats want them; 0 where they are there already."""
        start = self.clock()
        exp_float(np.zeros(1))
        if self.config.mlp and self.config.activation is not None:
            activate_float(np.zeros(1), self.config.activation)
        return self.clock() - start

    @cached_property
    def memory(self) -> float:
        """Seconds for a byte of new memory."""
        return self.product.memory_seconds()

    @cached_property
    def norms(self) -> float:
        """Seconds for a multiplication of a verified norm."""
        self.progress("a small norm")
        return self.product.norm_seconds()

    def rate(self, limbs: int, length: int) -> float:
        """Seconds of a product with one weight, for so many tokens."""
        if (limbs, length) not in self._rates:
            self._rates[limbs, length] = self.product.seconds(limbs, length)
        return self._rates[limbs, length]

    def timed(self, limbs: int, length: int, past: int = 0, whole: bool = False) -> list[dict[str, float]]:
        """Seconds by part of both small models."""
        key = (limbs, length, past, whole)
        if key not in self._timed:
            self.progress(f"small passes in {f'{limbs} limbs' if limbs else 'floats'}, {length} tokens")
            found = [probe.seconds(*key, self.clock) for probe in self.probes]
            self._tables.setdefault(limbs, found[0][1])  # of the smaller, whose slices are cut in no time
            self._timed[key] = [parts for parts, _ in found]
        return self._timed[key]

    def part(self, part: str, sizes: Sizes, limbs: int, length: int, past: int = 0, whole: bool = False) -> Seconds:
        """A part of a block, or the head: its products, and the line through what two sizes of it take besides theirs."""
        longest = SCOUTED if limbs == FLOAT else _LONGEST
        if not sizes.widths[part]:
            return Seconds()
        if length > longest:
            most = self.part(part, sizes, limbs, longest, past, whole)
            if part == HEAD and not whole:
                return most
            return _longer(self.part(part, sizes, limbs, longest // 2, past, whole), most, longest, length, part == "attn")
        rate = self.rate(limbs, length if part != HEAD or whole else 1)
        seconds = [found[part] for found in self.timed(limbs, length, past, whole)]
        low, high = (max(spent - rate * probe.weights[part], spent / 4) for spent, probe in zip(seconds, self.probes, strict=True))
        narrow, wide = (probe.widths[part] for probe in self.probes)
        unit = max(0.0, high - low) / (wide - narrow) if wide > narrow else low / narrow
        fixed = max(0.0, low - unit * narrow)
        return Seconds(fixed, unit * sizes.widths[part] + rate * sizes.weights[part])

    def tables(self, schedule: Sequence[int]) -> float:
        """Made once: that of e^x with the most limbs, which come first; those of angles for every other number of limbs."""
        first, *others = sorted({min(n, MOST) for n in schedule}, reverse=True)
        timed = [seconds for n, seconds in self._tables.items() if n != first]
        return self._tables.get(first, 0.0) + (sum(timed) / len(timed) * len(others) if timed else 0.0)


def _longer(half: Seconds, whole: Seconds, longest: int, length: int, square: bool) -> Seconds:
    """What is spread grows with the tokens; in attention as α T + β T²."""
    first, last = 2 * half.spread / longest, whole.spread / longest
    beta = max(0.0, last - first) * 2 / longest if square else 0.0
    return Seconds(whole.alone, (last - beta * longest) * length + beta * length**2)


def nodes(schedule: Sequence[int]) -> list[int]:
    """The numbers of limbs to time for a schedule: some from the most to the fewest, and floats.

    >>> nodes((18, 18, 17, 15, 12, 9, 6, 4, 0)), nodes((28, 27, 26)), nodes((0, 0, 0))
    ([18, 15, 9, 4, 0], [25], [0])
    """
    limbs = sorted({min(n, MOST) for n in schedule if n != FLOAT}, reverse=True)
    some = {limbs[round(i * (len(limbs) - 1) / (_NODES - 1))] for i in range(_NODES)} if limbs else set()
    return [*sorted(some, reverse=True), *([FLOAT] if FLOAT in schedule else [])]


def between(known: Mapping[int, float], limbs: int) -> float:
    """As a power of the limbs, between two that are known and beyond the last.

    >>> between({4: 16.0, 8: 64.0, 0: 1.0}, 6), between({4: 16.0, 8: 64.0}, 16), between({0: 1.0}, 0)
    (36.0, 256.0, 1.0)
    """
    if limbs in known:
        return known[limbs]
    points = sorted(n for n in known if n != FLOAT)
    if len(points) == 1:
        return known[points[0]] * (limbs / points[0]) ** 2
    right = next((i for i, n in enumerate(points) if n > limbs and i), len(points) - 1)
    a, b = points[right - 1], points[right]
    if not (known[a] > 0 and known[b] > 0):
        return max(known[a], known[b])
    power = max(0.0, math.log2(known[b] / known[a]) / math.log2(b / a))
    return float(known[a] * (limbs / a) ** power)


def half_seconds(calibration: Calibration, sizes: Sizes, schedule: Sequence[int], length: int, past: int = 0) -> list[Seconds]:
    """Of every half of a block and of what follows the blocks: attention and MLP, each with half of what a block does besides."""
    at = nodes(schedule)
    known = {part: {n: calibration.part(part, sizes, n, length, past) for n in at} for part in (*PARTS, HEAD)}

    def found(part: str, limbs: int) -> Seconds:
        alone, spread = (
            between({n: getattr(seconds, kind) for n, seconds in known[part].items()}, limbs) for kind in ("alone", "spread")
        )
        return Seconds(alone, spread)

    halves = [found(("attn", "mlp")[i % 2], limbs) + found("stream", limbs) * 0.5 for i, limbs in enumerate(schedule[:-1])]
    return [*halves, found(HEAD, schedule[-1])]


def preparation_seconds(calibration: Calibration, sizes: Sizes) -> Seconds:
    """Norms, and a scout in floats with all its logits."""
    read = min(SCOUTED, calibration.config.length or SCOUTED)
    scout = calibration.part(HEAD, sizes, FLOAT, read, whole=True)
    for part in PARTS:
        scout += calibration.part(part, sizes, FLOAT, read, whole=True) * sizes.blocks
    rate, small = calibration.norms, calibration.probes[0]
    again = sum(calibration.timed(FLOAT, SCOUTED, whole=True)[0].values())
    fixed = max(0.0, small.prepared_in - again - rate * block_norms(small.model.config))  # tables of angles, and such
    return scout + Seconds(calibration.product.checked + calibration.built + fixed, rate * sizes.norms * sizes.blocks)
