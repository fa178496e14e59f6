"""What is true, what is printed, and what follows from what is printed: the steps of a pass and the operations of claims.

Two worlds live side by side. In the true one nothing is rounded. In the printed one every number that was claimed is what the
page says (the decimals taken as exact), and whatever was not claimed is computed from that. A claim that is wrong in the true
world and right in the printed one carries on an error, or a rounding, from further up; else it is a new error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from exactformer.checking.printed import Claimed, Token
from exactformer.checking.verdicts import Verdict, judge
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers.arrays import Array

Index = tuple[int, ...]


@dataclass
class Node:
    """A step or an operation: its true value, and how it is computed from what it reads."""

    name: str
    truth: Array
    reads: tuple[str, ...]
    compute: Callable[[Sequence[Array]], Array]
    printed: dict[Index, Claimed] = field(default_factory=dict)
    shown: str = ""  # what a report calls it, where that is not its name
    of_tokens: bool = False
    slips: tuple[tuple[str, Callable[[Sequence[Array]], Array]], ...] = ()  # other ways to compute it, which are wrong, in words


class Record:
    """The nodes of one worked example by name."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.has_gradients = False
        self._computed: dict[str, Array | None] | None = None

    def add(self, node: Node) -> None:
        self.nodes[node.name] = node

    def follows(self, name: str, index: Index, printed: Claimed) -> bool:
        """Is the number right once it is computed from the printed numbers before it?"""
        if self._computed is None:
            self._computed = self._recompute()
        values = self._computed.get(name)
        return values is not None and judge(values[index], printed) is Verdict.RIGHT

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

    def _recompute(self) -> dict[str, Array | None]:
        """For each node with something printed above it: its value in the printed world, before its own printed numbers."""
        wanted = self.above([name for name, node in self.nodes.items() if node.printed])
        computed: dict[str, Array | None] = {}
        world: dict[str, Array | None] = {}
        for name in TopologicalSorter({name: self.nodes[name].reads for name in wanted}).static_order():
            node = self.nodes[name]
            value: Array | None = node.truth
            inputs = [world[read] for read in node.reads]
            if any(x is None for x in inputs):
                value = computed[name] = None
            elif any(x is not self.nodes[read].truth for read, x in zip(node.reads, inputs, strict=True)):
                value = computed[name] = _attempt(node, inputs)
            world[name] = value if value is None or not node.printed else _as_printed(value, node)
        return computed


def _attempt(node: Node, inputs: Sequence[Any]) -> Array | None:
    """None where the printed numbers lead to something that does not exist, such as the root of a negative variance."""
    try:
        return node.compute(inputs)
    except (ValueError, ArithmeticError):
        return None


def _as_printed(value: Array, node: Node) -> Array:
    result = np.array(value, dtype=object)
    for index, printed in node.printed.items():
        if isinstance(printed, Token):
            result[index] = printed.text
        elif printed.value is not None:
            result[index] = printed.value
        elif node.truth[index] is MASKED:
            result[index] = MASKED
    return result
