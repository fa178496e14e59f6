"""How the wiring says what it does: every step is an operation on handles, and is taken down under its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from exactformer.model.arithmetics.roles import Primitives, Values
from exactformer.model.cache import Cache
from exactformer.model.operations.operation import Operation
from exactformer.model.step import Remarks, Step

if TYPE_CHECKING:
    from exactformer.model.config import Config

Note = Callable[[Step], Any]  # takes down a step, and hands back the value to go on with


def unnoted(step: Step) -> Any:
    return step.values


def following(progress: Callable[[str], None]) -> Note:
    """Tells the name of each step once it is done."""

    def note(step: Step) -> Any:
        progress(step.name)
        return step.values

    return note


@dataclass(frozen=True, slots=True)
class Handle:
    """A value of a pass with its name: what a formula says was read is what was read."""

    name: str
    value: Any


@dataclass(frozen=True)
class Recorder:
    """A pass under way. Within a layer, names are relative to it."""

    config: Config
    ops: Values
    note: Note
    positions: range  # those that are computed now; earlier ones are in the cache
    cache: Cache | None = None
    layer: str = ""
    stage: str = ""
    values: Mapping[str, Any] | None = None  # of a layer that the arithmetic has computed as a whole

    def within(self, layer: str, stage: str) -> Recorder:
        return Recorder(self.config, self.ops, self.note, self.positions, self.cache, layer, stage, self.values)

    def given(self, values: Mapping[str, Any]) -> Recorder:
        """The same, where the values of the steps are known: the wiring only takes them down."""
        return replace(self, values=values)

    def do(self, name: str, op: Operation, *reads: Handle | None, remarks: Remarks = ()) -> Handle:
        """One step: the operation applied to what is there of `reads`."""
        there, name = [read for read in reads if read is not None], self._whole(name)
        if self.values is None:
            value = op.apply(self.ops, *(read.value for read in there))
        elif name in self.values:
            value = self.values[name]
        else:  # a line between that the arithmetic did without
            return Handle(name, None)
        if self.note is not unnoted:
            value = self.note(Step(name, op, tuple(read.name for read in there), value, remarks, self.stage))
        return Handle(name, value)

    def weight(self, name: str, weights: Any | None) -> Handle | None:
        """A weight in the numbers of the arithmetic, if it is there."""
        return None if weights is None else Handle(self._whole(name), self.ops.load(weights))

    def marked(self, x: Handle) -> Handle:
        """The same, as a place where proofs about what follows look first."""
        return Handle(x.name, self.ops.mark(x.value)) if isinstance(self.ops, Primitives) else x

    def agree(self, op: Operation, x: Handle, y: Handle) -> bool:
        """Does the operation give the same for both, proved?"""
        if not isinstance(self.ops, Primitives):
            return False
        return self.ops.agree(op.apply(self.ops, x.value), op.apply(self.ops, y.value))

    def kept(self, k: Handle, v: Handle) -> tuple[Handle, Handle]:
        """Keys and values with those of earlier positions before them."""
        if self.cache is None or self.values is not None:
            return k, v
        keys, values = self.cache.extended(self.layer, k.value, v.value)
        return Handle(k.name, keys), Handle(v.name, values)

    def _whole(self, name: str) -> str:
        return f"{self.layer}.{name}" if self.layer else name
