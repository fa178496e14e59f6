"""Rows of tables: of tokens, and of positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exactformer.model.operations.operation import Operation, Part, Written
from exactformer.model.positions import sinusoidal

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Values
    from exactformer.model.backward import Tape
    from exactformer.model.step import Step

_SUMMED = Written("{0}, summed over the places of each row", r"\textstyle\sum {0}")


def _scattered(tape: Tape, step: Step, gradient: Any, rows: list[int]) -> Iterator[Part]:
    """Each row of the table gets what the places hand back that it was looked up for."""
    table = step.reads[-1]
    size = len(tape[table])
    yield Part(table, _SUMMED, tape.ops.scatter(gradient, rows, size), (step.gradient,))


class _Lookup(Operation):
    name, title, formula = "lookup", "look up each token's vector", Written("{1}[{0}]", "{1}[{0}]")
    about = "Each token is a row of a table: from here on the model computes with these numbers, and no longer with words."
    letters, entry = ("ij", "i", "tj"), "{1}"

    def apply(self, ops: Values, ids: list[int], table: Any) -> Any:
        return ops.embed(table, ids)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        return _scattered(tape, step, gradient, tape.ids)


@dataclass(frozen=True)
class Table(Operation):
    """The rows of the positions in a table that the model has learnt."""

    positions: range
    name, title = "table", "look up the position"
    about = "Each position is a row of a table: without it, attention could not tell in which order the tokens stand."
    formula = Written("{0}[position]", r"{0}[\text{{position}}]")
    letters, entry = ("ij", "ij"), "{0}"

    def apply(self, ops: Values, table: Any) -> Any:
        return ops.embed(table, list(self.positions))

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        return _scattered(tape, step, gradient, list(self.positions))


@dataclass(frozen=True)
class Sinusoidal(Operation):
    """Sines and cosines: nothing is read, so nothing is handed back."""

    positions: range
    dim: int
    name, title = "sinusoidal", "sines and cosines of the position"
    about = "Each position is encoded as waves of different lengths, so that near positions look alike and far ones do not."
    formula = Written("sin, cos(position / 10000^(2i/dim))", r"\sin,\cos\left(\text{{position}}/10000^{{2i/d}}\right)")
    letters = ("ij",)

    def apply(self, ops: Values) -> Any:
        return ops.embed(ops.load(sinusoidal(self.positions.stop, self.dim)), list(self.positions))


LOOKUP = _Lookup()
