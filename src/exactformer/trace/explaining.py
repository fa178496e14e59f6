"""A logit taken apart: a direction goes back through all that is linear, as gradients do, and is held against what is there.

With its scale held at its true value, a norm is linear in what it reads. So a logit is a sum over what was added to the stream, and
over the biases on the way: direction · embedding, direction · what a head wrote. Nothing of it is approximate (docs/explain.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exactformer.messages import quoted
from exactformer.model.arithmetics.roles import Adjoints
from exactformer.model.backward import Tape
from exactformer.model.config import Config
from exactformer.model.errors import InputError
from exactformer.model.operations.activations import Activate, Gate
from exactformer.model.operations.attention import MIX
from exactformer.model.operations.lookup import LOOKUP, Sinusoidal, Table
from exactformer.model.operations.norms import Deviation, Normalise
from exactformer.model.operations.products import UNEMBED, transposed
from exactformer.model.step import Step
from exactformer.model.weights import block_of
from exactformer.numbers import Budget, Exact, Number, Undecided, Undefined, UndefinedValue
from exactformer.numbers.balls import presented
from exactformer.numbers.decide import prove_zero
from exactformer.trace.explanation import Contribution, Explanation, summed
from exactformer.trace.trace import Trace

_BUDGET = Budget(nodes=20_000, generators=100, work=3_000_000, terms=20_000)  # of the proof that a step loses nothing


def explain(trace: Trace, token: str | None = None, over: str | None = None, position: int = -1) -> Explanation:
    """The logit of `token` at a position as a sum, or its lead over another; by default of the token that the pass says.

    >>> from exactformer.worksheets import load
    >>> found = explain(load("induction").trace("a b a"), "b", "a")
    >>> found
    <explanation of the lead of 'b' over 'a' at position 2: 4 contributions, equal>
    >>> [each.name for each in found if each.value != 0]
    ['blocks.1.attn.head.0']
    """
    if trace.model.config.unembedding == "none":
        raise InputError("the model has no logits: there is nothing to explain")
    if trace.model.config.late_rotary:
        raise InputError("late_rotary: a mistake in which results are turned by their positions is not explained")
    position = trace.place(position)
    token = _said(trace, position) if token is None else token
    if token == over:
        raise InputError(f"the lead of {quoted(token)} over itself is 0")
    row = _Row.of(trace, position)
    last = row.by_name["logits" if trace.model.config.logit_cap is None else "uncapped"]
    columns = [trace.model.column(name) for name in (token, over) if name is not None]
    value = _difference(row.ops, [last.values[position, column] for column in columns])
    if isinstance(value, Undefined):
        raise Undecided(value.why, 0) if value.undecided else UndefinedValue(f"the logit is undefined: {value.why}")
    walk = _Walk(row)
    contributions = walk.back(last, columns, value)
    found = Explanation(
        trace.title, trace.arithmetic, trace.tokens, position, token, over, last.name, value, contributions, walk.norms
    )
    return replace(found, proof="equal" if walk.proved else found.proved(row.ops))


@dataclass(frozen=True)
class _Row(Tape):
    """A pass as one position sees it: each step is its row there, for each head where there are several; weights are whole."""

    position: int
    by_name: dict[str, Step]
    config: Config

    @classmethod
    def of(cls, trace: Trace, position: int) -> _Row:
        """Balls of whole layers are balls: what is computed with them here is done number by number."""
        ops = trace.going_on()
        by_name = {step.name: step for step in trace.steps}
        return cls(
            trace.model.ids(trace.tokens),
            trace.steps,
            dict(trace.model.weights.named()),
            ops,
            position,
            by_name,
            trace.model.config,
        )

    def read_by(self, step: Step) -> list[Any]:
        """What a step reads of other steps: of attention, the values at all positions."""
        values = step.reads[1] if step.operation is MIX else ""
        return [self.by_name[name].values if name == values else self[name] for name in step.reads if name in self.by_name]

    def __getitem__(self, name: str) -> Any:
        if name not in self.by_name:
            return self.ops.load(self.values[name])
        return self.by_name[name].values[..., self.position : self.position + 1, :]


class _Walk:
    """From the logits back to what was added to the stream. `proved`: was each step of the way proved to lose nothing?"""

    def __init__(self, row: _Row) -> None:
        self.row, self.proved = row, row.ops.numbers == "exact"
        self.norms: tuple[str, ...] = ()  # those on the way, in the order of the pass
        self.pending: dict[str, Any] = {}  # the direction of each step that is still to be looked at

    def back(self, last: Step, columns: list[int], value: Any) -> tuple[Contribution, ...]:
        row, ops = self.row, self.row.ops
        x, table, *bias = last.reads
        loaded = ops.load(row.values[table][columns] if last.operation is UNEMBED else row.values[table][:, columns].T)
        self.pending[x] = _difference(ops, list(loaded))[None]  # [1, dim]
        found = [Contribution(b, _difference(ops, list(row[b][columns]))) for b in bias]
        self._lose_nothing(value, [_inner(ops, row[x], self.pending[x]), *(each.value for each in found)], row[x])
        for step in reversed(row.steps):
            if step.name in self.pending:
                direction = ops.settle(self.pending.pop(step.name))  # the same numbers: rational again where that is proved
                found += reversed(self._through(step, direction))
        return tuple(reversed(found))

    def _through(self, step: Step, direction: Any) -> list[Contribution]:
        """What is added at a step; the directions of what it reads are taken down."""
        row, ops = self.row, self.row.ops
        if isinstance(step.operation, Normalise):
            self.norms = (step.name.removesuffix(".out"), *self.norms)
        found, parts = list(_found(row, step, direction)), list(_handed_back(row, step, direction))
        for part in parts:
            before = self.pending.get(part.target)
            self.pending[part.target] = part.value if before is None else ops.add(before, part.value)
        if parts:
            terms = [*(_inner(ops, row[part.target], part.value) for part in parts), *(each.value for each in found)]
            self._lose_nothing(_inner(ops, _computed(row[step.name]), direction), terms, direction, *row.read_by(step))
        if step.operation is MIX:
            for each, z, d in zip(found, row[step.name], direction, strict=True):
                whole = _inner(ops, _computed(z), d)
                self._lose_nothing(whole, [part.value for part in each.parts], direction, *row.read_by(step))
        elif found and found[0].parts:
            self._lose_nothing(found[0].value, [part.value for part in found[0].parts], direction, row[step.name])
        return found

    def _lose_nothing(self, whole: Any, terms: list[Any], *atoms: Any) -> None:
        """Is the whole the sum of its terms, whatever numbers the atoms are?"""
        self.proved = self.proved and isinstance(whole, Number)  # over a large vocabulary, logits are balls
        if self.proved:
            numbers = [number for array in atoms for number in array.flat]
            rest = _computed(np.array([whole, *terms], dtype=object))
            gap = self.row.ops.subtract(rest[0], summed(list(rest[1:]), self.row.ops))[()]
            self.proved = prove_zero(gap, numbers, _BUDGET)


def _handed_back(row: _Row, step: Step, direction: Any) -> Iterator[Any]:
    """The directions of what a step reads, where it is linear in that: up to the first weight, or the first scale of a norm."""
    if step.operation in (MIX, LOOKUP) or isinstance(step.operation, Activate | Gate | Table | Sinusoidal):
        return
    for part in step.operation.back(row, step, direction):
        if part.target not in row.by_name or isinstance(row.by_name[part.target].operation, Deviation):
            return
        yield part


def _found(row: _Row, step: Step, direction: Any) -> Iterator[Contribution]:
    """What is added here: a row of a table, what heads took from each position, units, a bias."""
    ops, op = row.ops, step.operation
    if op is MIX:
        yield from _heads(row, step, direction)
    elif isinstance(op, Activate | Gate):
        units = ops.settle(ops.times(row[step.name], direction))[0]
        parts = tuple(Contribution(f"unit {n}", value) for n, value in enumerate(units))
        yield Contribution(step.name.removesuffix(".post"), _dot(ops, row[step.name], direction), parts)
    elif op is LOOKUP or isinstance(op, Table | Sinusoidal):
        yield Contribution(step.name, _dot(ops, row[step.name], direction))
    elif op.added is not None and len(step.reads) > op.added:
        bias = step.reads[op.added]
        yield Contribution(bias, _dot(ops, row[bias][None], direction))


def _heads(row: _Row, step: Step, direction: Any) -> Iterator[Contribution]:
    """Each head's part, which is the sum over source positions of weight · (direction · value)."""
    ops, (pattern, v), layer = row.ops, step.reads, step.name.removesuffix(".z")
    sight = row.config.sight_at(block_of(layer) or 0)
    seen = [j for j in range(len(row.ids)) if sight.sees(row.position, j)]
    for h, d in enumerate(direction):  # [1, head_dim]
        fitting = ops.product(row.by_name[v].values[h, seen], transposed(d))[:, 0] if seen else []
        sources = ops.settle(ops.times(row[pattern][h, 0, seen], fitting)) if seen else []
        parts = tuple(Contribution(f"position {j}", value) for j, value in zip(seen, sources, strict=True))
        yield Contribution(f"{layer}.head.{h}", _dot(ops, row[step.name][h], d), parts)


def _computed(values: Any) -> Any:
    """Numbers as they were computed: of one that was recovered, what it was recovered from."""
    found = np.empty(values.size, dtype=object)
    found[:] = [x.origin if type(x) is Exact and x.origin is not None else x for x in values.flat]
    return found.reshape(values.shape)


def _inner(ops: Adjoints, x: Any, direction: Any) -> Any:
    """Of two arrays of the same shape, over all of it."""
    return ops.total(ops.times(x, direction).ravel(), 0)[()]


def _dot(ops: Adjoints, x: Any, direction: Any) -> Any:
    """Of two rows, [1, n] each."""
    return presented(ops.settle(ops.product(x, transposed(direction)))[0, 0])


def _difference(ops: Adjoints, both: list[Any]) -> Any:
    """The first of two, less the other; or the only one."""
    return both[0] if len(both) == 1 else ops.subtract(both[0], both[1])[()]


def _said(trace: Trace, position: int) -> str:
    """The token that the pass says."""
    output = trace.output[position]
    if output.token is None:
        raise InputError(f"position {position}: {output.why or 'no token is decided'}: say which logit is to be explained")
    return output.token
