"""From a program to a model: one-hot codes side by side in the stream, a head for each selector, an MLP that reads codes exactly.

Position 0 is BOS. Operations of level n are computed by block n − 1: its heads mix what the chosen positions hold, and its MLP
turns each mixture into a one-hot code, exactly 0 and 1 as long as no head leaks more than it tolerates (docs/programs.md, Lemma 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from exactformer.messages import quoted
from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, Weights
from exactformer.numbers import Exact, exact
from exactformer.numbers.arrays import Array, zeros
from exactformer.numbers.field import ONE
from exactformer.programs.operators import Apply, Input, Places, ProgramError, Scope, SOp, Tokens
from exactformer.programs.selectors import Aggregate, Attending, Count, Mean

BOS = "BOS"
RAMP = Fraction(1, 4)  # of the gap between two points: the part in which a reading is neither one nor the other
_BOS_DIMENSION = 0
_MOST_ENTRIES = 4_000_000  # of all weights together
_HALF = Fraction(1, 2)
Row = tuple[Fraction, ...]
Weighted = dict[int, Fraction]  # dimensions of the stream, with weights
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Unit:
    """A unit of an MLP: relu(Σ weight · dimension + bias), times weights, is added to dimensions."""

    reads: Weighted
    bias: Fraction
    writes: Weighted


@dataclass(frozen=True)
class Reading:
    """One number that a head computes: the values that it takes without leaks, ascending, and the code that each stands for."""

    points: Row
    codes: tuple[int | None, ...]  # which value of the operation; None: this number alone says nothing

    @property
    def gap(self) -> Fraction | None:
        return min((b - a for a, b in pairwise(self.points)), default=None)


@dataclass(frozen=True)
class Mixing:
    """What a head does for an operation: a row of numbers for each value that it reads, one for BOS, and what BOS scores."""

    rows: tuple[Row, ...]
    bos: Row
    score: Fraction  # of BOS, where what is chosen scores 1 and all else 0
    readings: tuple[Reading, ...]

    @property
    def spread(self) -> Fraction:
        """How far apart two numbers of a column are at most: a leak changes a mixture by no more than its part of this."""
        columns: list[Row] = list(zip(*self.rows, self.bos, strict=True))
        return max(max(column) - min(column) for column in columns)

    @property
    def tolerance(self) -> Fraction | None:
        """The leak up to which every reading is exact; None: any."""
        gaps = [reading.gap for reading in self.readings if reading.gap is not None]
        return None if not gaps or not self.spread else min(gaps) * (1 - RAMP) / 2 / self.spread


def mixing(node: Attending, scope: Scope) -> Mixing:
    """The mixture of an operation."""
    values = scope.of(node)
    if isinstance(node, Count):  # BOS is chosen with the others, so its weight is 1/(n + 1) where n are chosen
        points = tuple(Fraction(1, n + 1) for n in reversed(values))
        rows: tuple[Row, ...] = ((_ZERO,),) * len(scope.of(node.selector.key))
        return Mixing(rows, (_ONE,), _ONE, (Reading(points, tuple(reversed(range(len(values))))),))
    assert node.of is not None
    score, held = _ZERO if node.total else _HALF, scope.of(node.of)
    if isinstance(node, Aggregate):  # one-hot codes are copied
        place = {value: n for n, value in enumerate(values)}
        rows = tuple(_one_hot(place[value], len(values)) for value in held)
        bos = _one_hot(None if node.total else place[node.default], len(values))
        return Mixing(rows, bos, score, tuple(Reading((_ZERO, _ONE), (None, n)) for n in range(len(values))))
    assert isinstance(node, Mean)
    bos = (node.numbers(scope)[0] if node.total else Fraction(node.default),)  # a number among the others
    return Mixing(tuple((number,) for number in node.numbers(scope)), bos, score, (Reading(values, tuple(range(len(values)))),))


def _one_hot(place: int | None, size: int) -> Row:
    return tuple(Fraction(n == place) for n in range(size))


class Compiler:
    """A program for inputs up to a length: where everything is in the stream, and the weights."""

    def __init__(self, output: SOp, vocabulary: Tokens, length: int) -> None:
        self.output, self.scope = output, Scope(vocabulary, length)
        self.nodes = list(output.everything())
        self.heads = {level: [n for n in self.nodes if isinstance(n, Attending) and n.level == level] for level in self.levels}
        self.mixings = {id(n): mixing(n, self.scope) for n in self.nodes if isinstance(n, Attending)}
        self.spans: dict[int, range] = {}  # of codes, by the identity of the operation
        self.raw: dict[int, range] = {}  # of what heads write
        start = 1
        for node in self.nodes:
            for spans, size in (
                (self.spans, len(self.scope.of(node))),
                (self.raw, len(getattr(self.mixings.get(id(node)), "bos", ()))),
            ):
                spans[id(node)] = range(start, start + size)
                start += size
        self.dim = start
        self._check_size()

    @property
    def levels(self) -> range:
        return range(1, self.output.level + 1)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The values of the output as tokens."""
        names = tuple(map(answer, self.scope.of(self.output)))
        if len(set(names)) < len(names) or BOS in names:
            raise ProgramError(f"two answers are written alike, or one is {BOS}: {', '.join(map(quoted, names))}")
        return names

    @cached_property
    def units(self) -> dict[int, list[Unit]]:
        """Those of the MLP of each level."""
        return {level: [unit for node in self.nodes if node.level == level for unit in self._units(node)] for level in self.levels}

    @cached_property
    def config(self) -> Config:
        heads = [node for nodes in self.heads.values() for node in nodes]
        widths = [max(len(self.spans[id(node.selector.query)]), len(self.raw[id(node)])) for node in heads]
        vocabulary = tuple(dict.fromkeys((BOS, *self.scope.vocabulary, *self.answers)))
        units = max(map(len, self.units.values()), default=0)
        return Config(
            vocabulary=vocabulary, dim=self.dim, blocks=len(self.levels), heads=max([1, *map(len, self.heads.values())]),
            head_dim=max([1, *widths]), norm="none", mask="none", scale="none", positions="table", length=self.scope.length + 1,
            unembedding="own", mlp=units, activation="relu" if units else None,
        )  # fmt: skip

    def _check_size(self) -> None:
        config = self.config
        block = config.dim * (4 * config.heads * config.head_dim + 2 * config.mlp)
        entries = config.blocks * block + config.dim * (2 * len(config.vocabulary) + self.scope.length)
        if entries > _MOST_ENTRIES:
            raise ProgramError(f"the model would have {entries:,} weights; up to {_MOST_ENTRIES:,} are compiled")

    def model(self, strength: Exact, hard: bool = False) -> Model:
        config = replace(self.config, hard=hard)
        W_E, W_pos, W_U = (zeros(n, self.dim) for n in (len(config.vocabulary), self.scope.length + 1, len(config.vocabulary)))
        W_E[0, _BOS_DIMENSION] = ONE
        for node in self.nodes:
            span = self.spans[id(node)]
            for n, dimension in enumerate(span):
                if isinstance(node, Input):
                    W_E[n + 1, dimension] = ONE
                elif isinstance(node, Places):
                    W_pos[n + 1, dimension] = ONE
        for name, dimension in zip(self.answers, self.spans[id(self.output)], strict=True):
            W_U[config.vocabulary.index(name), dimension] = ONE
        blocks = tuple(BlockWeights(attn=self._attention(level, strength), mlp=self._mlp(level)) for level in self.levels)
        return Model(config, Weights(W_E=W_E, W_pos=W_pos, blocks=blocks, W_U=W_U.T.copy()))

    def _attention(self, level: int, strength: Exact) -> AttentionWeights:
        config = self.config
        W_Q, W_K, W_V = (zeros(config.heads, self.dim, config.head_dim) for _ in range(3))
        W_O = zeros(config.heads, config.head_dim, self.dim)
        for h, node in enumerate(self.heads[level]):
            selector, mixed = node.selector, self.mixings[id(node)]
            for q, (query, dimension) in enumerate(self._coded(selector.query)):
                W_Q[h, dimension, q] = strength
                W_K[h, _BOS_DIMENSION, q] = exact(mixed.score)
                for key, place in self._coded(selector.key):
                    if selector.matches(key, query):
                        W_K[h, place, q] = ONE
            held = self._coded(node.of if node.of is not None else selector.key)
            for row, place in [*zip(mixed.rows, (place for _, place in held), strict=True), (mixed.bos, _BOS_DIMENSION)]:
                for n, number in enumerate(row):
                    W_V[h, place, n] = exact(number)
            for n, dimension in enumerate(self.raw[id(node)]):
                W_O[h, n, dimension] = ONE
        return AttentionWeights(W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O)

    def _mlp(self, level: int) -> MlpWeights:
        width = self.config.mlp
        W_in, b_in, W_out = zeros(self.dim, width), zeros(width), zeros(width, self.dim)
        for n, unit in enumerate(self.units[level]):
            _fill(W_in[:, n], unit.reads)
            _fill(W_out[n], unit.writes)
            b_in[n] = exact(unit.bias)
        return MlpWeights(W_in=W_in, b_in=b_in, W_out=W_out)

    def _coded(self, node: SOp) -> list[tuple[Any, int]]:
        """The values of an operation, with the dimension of each."""
        return list(zip(self.scope.of(node), self.spans[id(node)], strict=True))

    def _units(self, node: SOp) -> Iterator[Unit]:
        if isinstance(node, Apply):
            places = [dict(self._coded(part)) for part in node.parts]
            code = dict(self._coded(node))
            for given, value in node.table(self.scope):  # all of them at once: relu(x + y − 1)
                yield Unit(_counted(places, given), Fraction(1 - len(given)), {code[value]: _ONE})
        elif isinstance(node, Attending):
            for reading, raw in zip(self.mixings[id(node)].readings, self.raw[id(node)], strict=True):
                yield from _read(reading, raw, self.spans[id(node)])


def _counted(places: Sequence[dict[Any, int]], given: tuple[Any, ...]) -> Weighted:
    """A dimension for each value; what is read twice counts twice."""
    reads: Weighted = {}
    for place, one in zip(places, given, strict=True):
        reads[place[one]] = reads.get(place[one], _ZERO) + 1
    return reads


def _read(reading: Reading, raw: int, code: range) -> Iterator[Unit]:
    """Between two points next to each other a step from 0 to 1; a value is between one step and the next. At BOS, 0."""
    points, dimensions = reading.points, [None if n is None else code[n] for n in reading.codes]
    if dimensions[0] is not None:
        yield Unit({_BOS_DIMENSION: -_ONE}, _ONE, {dimensions[0]: _ONE})
    for n, (low, high) in enumerate(pairwise(points)):
        slope, middle = 1 / (RAMP * (high - low)), (low + high) / 2
        reads: Weighted = {raw: slope, _BOS_DIMENSION: -slope * (max(_ONE, points[-1]) - min(_ZERO, points[0]))}
        for start, sign in ((middle - RAMP * (high - low) / 2, _ONE), (middle + RAMP * (high - low) / 2, -_ONE)):
            writes = {at: sign * way for at, way in ((dimensions[n], -1), (dimensions[n + 1], 1)) if at is not None}
            yield Unit(reads, -slope * start, writes)


def _fill(column: Array, weights: Weighted) -> None:
    for place, weight in weights.items():
        column[place] = exact(weight)


def answer(value: Any) -> str:
    """A value as a token."""
    if isinstance(value, tuple) or not str(value):
        raise ProgramError(f"the answer {quoted(value)} is not a text, a number or a truth value")
    return str(value)
