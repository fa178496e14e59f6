"""Small models with the wiring of a large one, and how long their certified passes take on this machine, part by part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from exactformer.certificates import Prepared
from exactformer.certificates.memory import available
from exactformer.certified.arithmetic import CertifiedArithmetic
from exactformer.certified.ball import FLOAT
from exactformer.certified.limbs import split
from exactformer.certified.products import in_blocks
from exactformer.certified.slices import check_blas, from_floats
from exactformer.certified.weights import Matrix, VerifiedNorms
from exactformer.model import Config, Model, Step, forward
from exactformer.model.cache import Cache
from exactformer.model.weights import assembled, declared

Clock = Callable[[], float]
PARTS = ("attn", "mlp", "stream")  # of a block; stream: norms and sums, whose work is that of the width of the stream
HEAD = "head"  # what comes before and after the blocks
_SMALL, _LARGE = (96, 256, 256), (320, 768, 16384)  # of two probes: widths of the stream and of the MLP, tokens of the vocabulary
_TOKENS = 256
_ROOM = 192  # positions
_SIDE = 1536  # of the matrix of the small product: larger than caches of one core, as those of models are
_NORMED = 768  # side of the matrix whose norm is verified
_NEW = 256 << 20  # bytes, at most: more than a program keeps of what it gave back
_ROUNDS = 2


@dataclass(frozen=True)
class Probe:
    """A model of one block, prepared; and how wide each of its parts is."""

    model: Model
    prepared: Prepared
    widths: dict[str, int]
    weights: dict[str, int]  # numbers in the matrices of a part
    prepared_in: float  # seconds

    @classmethod
    def of(cls, config: Config, given: set[str], kind: str, large: bool, clock: Clock) -> Probe:
        model = Model(small := _narrowed(config, *(_LARGE if large else _SMALL), large), _weights(small, given, kind))
        prepared = Prepared(model)
        start = clock()
        prepared.prepare()
        named = [(name, int(values.size)) for name, values in model.weights.named() if values.ndim > 1]
        weights = {part: sum(size for name, size in named if f".{part}." in name) for part in PARTS}
        weights[HEAD] = len(small.spoken) * small.dim
        widths = {"attn": small.key_heads, "mlp": small.mlp, "stream": small.dim, HEAD: len(small.spoken)}
        return cls(model, prepared, widths, weights, clock() - start)

    def seconds(self, limbs: int, length: int, past: int, whole: bool, clock: Clock) -> tuple[dict[str, float], float]:
        """Of each part of a pass over `length` tokens after `past` others; and what the first pass took besides, for its tables.

        With the logits of the last position, or, of a `whole` pass, of all.
        """
        ops = CertifiedArithmetic(self.prepared.store, (limbs,), last_only=not whole)
        self.prepared.store.trim(ops.limbs_at)
        cache = Cache() if past else None
        if past:
            forward(self.model, [n % _TOKENS for n in range(past)], ops, cache=cache)
        found, totals = [], []
        for _ in range(2 if whole else _ROUNDS + 1):  # a whole pass is long, and its tables are there
            ends = [("", clock())]

            def note(step: Step) -> Any:
                ends.append((step.name, clock()))  # noqa: B023 - within the round
                return step.values

            forward(self.model, [n % _TOKENS for n in range(length)], ops, note, copy(cache))
            spent = dict.fromkeys((*PARTS, HEAD), 0.0)
            for (_, before), (name, after) in pairwise(ends):
                part = name.split(".")[2] if name.startswith("blocks.") else HEAD
                spent[part if part in spent else "stream"] += after - before
            found.append(spent)
            totals.append(ends[-1][1] - ends[0][1])
        best = {part: min(each[part] for each in found[1:]) for part in found[0]}
        return best, max(0.0, totals[0] - min(totals[1:]))


def groups(config: Config, large: bool) -> int:
    """Heads of keys of a probe: up to four, or half as many; fewer where many heads share each."""
    most = min(config.key_heads, max(1, 12 * config.key_heads // config.heads), 4)
    return most if large else max(1, most // 2)


def _narrowed(config: Config, dim: int, mlp: int, tokens: int, large: bool) -> Config:
    count = groups(config, large)
    heads = config.heads // config.key_heads * count
    return replace(
        config, vocabulary=tuple(map(str, range(tokens))), dim=dim, blocks=1, heads=heads,
        kv_heads=0 if count == heads else count, mlp=mlp if config.mlp else 0, full_blocks=(),
        length=None if config.length is None else _ROOM,
    )  # fmt: skip


def _weights(config: Config, given: set[str], kind: str) -> Any:
    """Random ones of the size that trained ones have; those that need not be there, where the model has them."""
    random, values = np.random.default_rng(0), {}
    for name, weight in declared(config).items():
        if weight.optional and name not in given:
            continue
        last = name.split(".")[-1]
        inputs = math.prod(weight.shape[:-1]) if last == "W_O" else weight.shape[-2] if len(weight.shape) > 1 else 1
        size = 1.0 if last in ("W_E", "W_pos", "w") else 0.02 if last.startswith("b") else inputs**-0.5
        array = random.standard_normal(weight.shape) * size
        values[name] = rounded(np.ones(weight.shape) - config.norm_unit if last == "w" else array, kind)
    return assembled(config, values)


def rounded(values: Any, kind: str) -> Any:
    """Floats of a kind, as a model holds them: those of 16 bits as float32. Numbers of worksheets are taken for float32."""
    if kind == "F64":
        return np.asarray(values, dtype=np.float64)
    single = np.ascontiguousarray(values, dtype=np.float32)
    return (single.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32) if kind in ("BF16", "F16") else single


class Product:
    """A small product of the kind of which a pass is made."""

    def __init__(self, kind: str, clock: Clock) -> None:
        start = clock()
        check_blas()
        self.checked = clock() - start  # seconds, once a process
        values = rounded(np.random.default_rng(1).standard_normal((_SIDE, _SIDE)) * 0.03, kind).astype(np.float64)
        self.kind, self.dense, self.clock = kind, values, clock
        taken = []
        for _ in range(_ROUNDS):
            start = clock()
            self.sliced = from_floats(values)
            taken.append(clock() - start)
        self.cut = min(taken) / values.size  # seconds for a weight

    @property
    def slices(self) -> int:
        return self.sliced.count

    def seconds(self, limbs: int, length: int) -> float:
        """For a weight and all `length` tokens."""
        x = np.random.default_rng(2).uniform(-1, 1, (length, _SIDE))
        y = None if limbs == FLOAT else split(x, limbs)[0]

        def once() -> float:
            start = self.clock()
            in_blocks(x, self.dense) if y is None else self.sliced.times(y)
            return self.clock() - start

        once()
        return min(once() for _ in range(_ROUNDS)) / int(self.dense.size)

    def memory_seconds(self) -> float:
        """For each byte of memory that was not this program's before."""
        size = max(1, min(_NEW, (available() or _NEW) // 8))
        start = self.clock()
        np.empty(size, dtype=np.uint8).fill(1)
        return (self.clock() - start) / size

    def norm_seconds(self) -> float:
        """For each multiplication that `norm_products` counts, of a matrix with one large singular value, as trained ones have."""
        values = rounded(self.dense[:_NORMED] + 0.002, self.kind)
        start = self.clock()
        matrix = Matrix((values,), "", VerifiedNorms())
        matrix.norm()
        matrix.largest_column(None)
        return (self.clock() - start) / norm_products(*values.shape)


def norm_products(rows: int, columns: int) -> int:
    """Multiplications of a verified norm: a Gram matrix, its Cholesky factor, and the product of that with itself."""
    few, many = sorted((rows, columns))
    return few**2 * many + 4 * few**3 // 3


WALL: Clock = time.perf_counter
