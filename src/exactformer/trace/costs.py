"""What a pass costs: operations by stage, counted at small lengths, and from there proved for large ones.

For a fixed model every count is a polynomial of degree at most 2 in the length T: each operation loops over shapes, and T stands
in at most two of their axes. So three counts determine it. Two more are counted and must lie on it, as a check of the argument.
With a window, that holds beyond its length, and up to it as if there were none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from exactformer.model import Config, Model, forward
from exactformer.model.arithmetics.counting import KINDS, Counted, CountingArithmetic
from exactformer.model.arithmetics.exact import MASKED, hidden
from exactformer.model.backward import backward
from exactformer.model.cache import Cache
from exactformer.model.operations.operation import Part
from exactformer.model.operations.others import GIVEN
from exactformer.model.step import Step
from exactformer.model.weights import declared, rebuilt_weights
from exactformer.trace.schedules import online_row

Counts = dict[str, Counter[str]]  # by stage
_SAMPLES, _CHECKS = 3, 2  # lengths that determine the polynomial, and that must lie on it
_WEIGHT = np.frombuffer(bytes(8)).reshape(())  # stands for every weight: nobody can write to it, so a model does not copy it


@dataclass(frozen=True)
class Costs:
    """Counts of one way to compute, by stage, at several lengths."""

    name: str
    lengths: tuple[int, ...]
    stages: dict[str, dict[int, Counter[str]]]
    counted: tuple[int, ...]  # the lengths that were counted; the others follow from the polynomial

    def total(self, length: int) -> Counter[str]:
        return sum((counts[length] for counts in self.stages.values()), Counter())


def costs(model: Model, lengths: tuple[int, ...], tile: int, head_dim: int | None = None) -> list[Costs]:
    """Forward, backward, decoding with a KV cache, and attention in tiles."""
    sized = resized(model.config, head_dim)
    ways: dict[str, Callable[[Model, int], Counts]] = {"forward": _forward, "backward": _backward}
    if sized.mask != "none":
        ways["decoding with a KV cache"] = _decoding
    result = [_cost(name, count, model, sized, lengths) for name, count in ways.items()]
    exact = tuple(length for length in lengths if length <= 64)
    if exact:
        tiles = {length: _tiled(sized, length, tile) for length in exact}
        result.append(_collected(f"attention in tiles of {tile}", exact, tiles, exact))
    return result


def forward_costs(model: Model, length: int) -> Counts:
    """The forward pass alone, over `length` tokens. Where no window tells blocks apart, one is counted, and stands for all."""
    config, times = model.config, 1
    if config.blocks > 1 and not config.window:
        config, times = replace(config, blocks=1), config.blocks
        model = Model(config, replace(model.weights, blocks=model.weights.blocks[:1]))
    found = _cost("forward", _forward, model, config, (length,))
    inside = ("attn.", "mlp.", "ln1", "ln2", "resid_mid", "resid_post")  # what comes before the first block is its resid_pre
    return {
        stage: Counter({kind: n * (times if stage.startswith(inside) else 1) for kind, n in counts[length].items()})
        for stage, counts in found.stages.items()
    }


def _cost(name: str, count: Callable[[Model, int], Counts], model: Model, config: Config, lengths: tuple[int, ...]) -> Costs:
    """Up to the length of a window it hides nothing; beyond it, counts lie on another polynomial."""
    table: dict[int, Counts] = {}
    counted: list[int] = []
    near = tuple(length for length in lengths if not config.window or length <= config.window)
    for part, first, sized in (
        (near, 1, replace(config, window=0, full_blocks=())),
        (tuple(length for length in lengths if length not in near), config.window, config),
    ):
        if part:
            found = {length: count(_blank(sized, model, length), length) for length in _counted_lengths(first, part)}
            table |= _interpolated(name, found, part, first)
            counted += [length for length in part if length in found]
    return _collected(name, lengths, table, tuple(counted))


def _counted_lengths(first: int, lengths: tuple[int, ...]) -> list[int]:
    return sorted({*range(first, first + _SAMPLES + _CHECKS), *(length for length in lengths if length <= 6)})


def _interpolated(name: str, counted: dict[int, Counts], lengths: tuple[int, ...], first: int) -> dict[int, Counts]:
    stages = list(dict.fromkeys(stage for counts in counted.values() for stage in counts))
    for check in range(first + _SAMPLES, first + _SAMPLES + _CHECKS):
        for stage in stages:
            for kind in KINDS:
                if counted[check][stage][kind] != _at(counted, stage, kind, check, first):
                    raise AssertionError(f"{name}, {stage}: the count at T = {check} is not on the polynomial of the smaller ones")
    return {
        length: counted.get(length)
        or {stage: Counter({kind: _at(counted, stage, kind, length, first) for kind in KINDS}) for stage in stages}
        for length in lengths
    }


def _collected(name: str, lengths: tuple[int, ...], table: dict[int, Counts], counted: tuple[int, ...]) -> Costs:
    stages = list(dict.fromkeys(stage for length in lengths for stage in table[length]))
    return Costs(name, lengths, {s: {n: table[n].get(s, Counter()) for n in lengths} for s in stages}, counted)


def _at(counted: dict[int, Counts], stage: str, kind: str, length: int, first: int) -> int:
    """The polynomial through the samples, at another length (Lagrange, in fractions)."""
    value, samples = Fraction(0), range(first, first + _SAMPLES)
    for i in samples:
        weight = Fraction(counted[i][stage][kind])
        for j in samples:
            if j != i:
                weight *= Fraction(length - j, i - j)
        value += weight
    assert value.denominator == 1
    return int(value)


def resized(config: Config, head_dim: int | None) -> Config:
    if head_dim is None:
        return config
    dim = config.heads * head_dim if config.heads * config.head_dim == config.dim else config.dim
    return replace(config, head_dim=head_dim, dim=dim)


def _blank(config: Config, model: Model, length: int) -> Model:
    """A model of the same wiring with room for `length` positions: only its shapes are looked at."""
    roomy = replace(config, length=length if config.positions == "table" else None)
    weights = declared(roomy)
    values = {name: np.broadcast_to(_WEIGHT, weights[name].shape) for name, _ in model.weights.named()}
    return Model(roomy, rebuilt_weights(model.weights, values))


def _forward(model: Model, length: int, cache: Cache | None = None) -> Counts:
    ops, counts = CountingArithmetic(), Counts()

    def note(step: Step) -> object:
        _take(ops, counts, step.name)
        return step.values

    forward(model, [0] * length, ops, note, cache)
    return counts


def _backward(model: Model, length: int) -> Counts:
    ops, counts, steps = CountingArithmetic(), Counts(), list[Step]()

    def note(step: Step) -> object:
        steps.append(step)
        return step.values

    forward(model, [0] * length, ops, note)
    ops.tally.clear()
    last = steps[-1]
    value = ops.cross_entropy(last.values, [0] * length)[1] if last.name == "logits" else last.values

    back_from = [last.name]

    def record(name: str, value: object, parts: Sequence[Part]) -> None:
        """What was counted since the last gradient was spent on handing that one back."""
        _take(ops, counts, back_from[0])
        back_from[0] = name

    backward(model, [0] * length, steps, Part(last.name, GIVEN, value, ()), ops, record)
    _take(ops, counts, back_from[0])
    return counts


def _decoding(model: Model, length: int) -> Counts:
    """All of `length` tokens, one at a time."""
    cache, counts = Cache(), Counts()
    for _ in range(length):
        for stage, tally in _forward(model, 1, cache).items():
            counts[stage] = counts.get(stage, Counter()) + tally
    return counts


def _tiled(config: Config, length: int, tile: int) -> Counts:
    tally: Counter[str] = Counter()
    scores = np.full((1, length, length), Counted(tally))
    v = np.full((length, 1), Counted(tally, config.head_dim))
    for row in hidden(scores, config.sight_at(0), MASKED)[0]:
        online_row(row, v, tile, True, "", [])
    return {"softmax and mix": Counter({kind: n * config.heads * config.blocks for kind, n in tally.items()})}


def _take(ops: CountingArithmetic, counts: Counts, name: str) -> None:
    """What was counted since the last step belongs to this one."""
    stage = name.removeprefix("grad.")
    parts = stage.split(".")
    stage = ".".join(parts[2:]) if parts[0] == "blocks" else stage
    counts[stage] = counts.get(stage, Counter()) + Counter(ops.tally)
    ops.tally.clear()
