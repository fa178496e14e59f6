"""What is true, what is printed, and what follows from what is printed: the steps of a pass and the operations of claims.

Two worlds live side by side. In the true one nothing is rounded. In a printed one every number that was claimed is what the
page says (the decimals taken as exact), and whatever was not claimed is computed from that. A claim that is wrong in the true
world and right in a printed one carries on an error, or a rounding, from further up; else it is a new error.

A page may print a step more than once, and go on from any of its prints. So there are several printed worlds: that of the nearest
prints, that of the first ones, and those in which one step is taken from another of its prints, or as it was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from exactformer.checking.printed import Claimed, Token
from exactformer.checking.verdicts import Verdict, judge
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers.arrays import Array

Index = tuple[int, ...]
Slip = tuple[str, Callable[[Sequence[Array]], Array]]  # in words, and what comes of it
_MOST_WORLDS = 24
_FOLLOWS = (Verdict.RIGHT, Verdict.TRUNCATED)


class Print(NamedTuple):
    """A number as it is printed in a place of the page: the larger `order` is, the further down."""

    order: int
    said: Claimed


@dataclass
class Node:
    """A step or an operation: its true value, and how it is computed from what it reads."""

    name: str
    truth: Array
    reads: tuple[str, ...]
    compute: Callable[[Sequence[Array]], Array]
    printed: dict[Index, list[Print]] = field(default_factory=dict)
    shown: str = ""  # what a report calls it, where that is not its name
    of_tokens: bool = False
    slips: tuple[Slip, ...] = ()  # other ways to compute it, which are wrong

    def print(self, index: Index, order: int, said: Claimed) -> None:
        self.printed.setdefault(index, []).append(Print(order, said))
        self.printed[index].sort(key=lambda each: each.order)

    def before(self, order: int) -> dict[Index, list[Claimed]]:
        """What is printed of it further up."""
        found = {index: [each.said for each in prints if each.order < order] for index, prints in self.printed.items()}
        return {index: prints for index, prints in found.items() if prints}


World = Mapping[str, Mapping[Index, Claimed]]  # of the nodes that are taken as printed: which prints


class Record:
    """The nodes of one worked example by name."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.has_gradients = False
        self.mistaken: Callable[[], Sequence[tuple[str, Mapping[str, Array]]]] = (
            tuple  # the same pass with classic mistakes, in words
        )
        self._computed: dict[Any, dict[str, Array | None]] = {}

    def add(self, node: Node) -> None:
        self.nodes[node.name] = node

    def follows(self, name: str, index: Index, printed: Claimed, order: int) -> bool:
        """Does the number repeat a print further up, or is it right once it is computed from the printed numbers there?"""
        earlier = self.nodes[name].before(order).get(index, [])
        if any(judge(_value(said), printed) in _FOLLOWS for said in earlier if _value(said) is not None):
            return True
        for world in self.worlds(name, order):
            values = self.computed(name, world)
            if values is not None and judge(values[index], printed) in _FOLLOWS:
                return True
        return False

    def worlds(self, name: str, order: int) -> Iterator[World]:
        """The printed worlds in which a node can be computed, the likeliest first."""
        above = self.above(self.nodes[name].reads)
        prints = {each: found for each in sorted(above) if (found := self.nodes[each].before(order))}
        nearest = {each: {index: said[-1] for index, said in found.items()} for each, found in prints.items()}
        if not nearest:
            return
        yield nearest
        yield {each: {index: said[0] for index, said in found.items()} for each, found in prints.items()}
        others = [world for each, found in prints.items() for world in _others(each, found, nearest)]
        yield from others[:_MOST_WORLDS]

    def inputs(self, name: str, world: World) -> list[Array] | None:
        """What a node reads in a world; None where there is no such number."""
        values = self._world(name, world)
        found = [values[read] for read in self.nodes[name].reads]
        return None if any(x is None for x in found) else [x for x in found if x is not None]

    def computed(self, name: str, world: World) -> Array | None:
        """A node computed from what it reads in a world, whatever is printed of itself; None where nothing in it is not true."""
        inputs = self.inputs(name, world)
        node = self.nodes[name]
        if inputs is None or all(x is self.nodes[read].truth for read, x in zip(node.reads, inputs, strict=True)):
            return None
        values = self._world(name, world)
        if name not in values:
            values[name] = _attempt(node, inputs)
        return values[name]

    def above(self, names: Sequence[str]) -> set[str]:
        """The nodes that are read on the way to `names`, and these."""
        found: set[str] = set()
        stack = list(names)
        while stack:
            name = stack.pop()
            if name not in found:
                found.add(name)
                stack.extend(self.nodes[name].reads)
        return found

    def _world(self, name: str, world: World) -> dict[str, Array | None]:
        """The values of all that is above a node, as printed where that is said."""
        key = (
            name,
            tuple((each, tuple(sorted((i, said.text) for i, said in prints.items()))) for each, prints in sorted(world.items())),
        )
        if key in self._computed:
            return self._computed[key]
        values: dict[str, Array | None] = {}
        wanted = self.above(self.nodes[name].reads)
        for each in TopologicalSorter({each: self.nodes[each].reads for each in wanted}).static_order():
            node = self.nodes[each]
            value: Array | None = node.truth
            inputs = [values[read] for read in node.reads]
            if any(x is None for x in inputs):
                value = None
            elif any(x is not self.nodes[read].truth for read, x in zip(node.reads, inputs, strict=True)):
                value = _attempt(node, inputs)
            values[each] = value if value is None or each not in world else _as_printed(value, node, world[each])
        self._computed[key] = values
        return values


def _others(name: str, prints: Mapping[Index, list[Claimed]], nearest: World) -> Iterator[World]:
    """The worlds in which one node is taken from another of its prints, or as it was computed."""
    for n in range(max(map(len, prints.values())) - 1):
        yield {**nearest, name: {index: said[min(n, len(said) - 1)] for index, said in prints.items()}}
    yield {each: said for each, said in nearest.items() if each != name}


def _value(said: Claimed) -> Any:
    return said.text if isinstance(said, Token) else said.value


def _attempt(node: Node, inputs: Sequence[Any]) -> Array | None:
    """None where the printed numbers lead to something that does not exist, such as the root of a negative variance."""
    try:
        return node.compute(inputs)
    except (ValueError, ArithmeticError):
        return None


def _as_printed(value: Array, node: Node, printed: Mapping[Index, Claimed]) -> Array:
    result = np.array(value, dtype=object)
    for index, said in printed.items():
        if _value(said) is not None:
            result[index] = _value(said)
        elif node.truth[index] is MASKED:
            result[index] = MASKED
    return result
