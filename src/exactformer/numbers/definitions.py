"""Long closed forms in symbols: x1+1/x1, with a list of what the symbols stand for.

Whether a node gets a symbol depends on what lies below it alone, and so does how it is written, up to the numbers of the symbols.
So the numbers of one pass, which share most of their nodes, share this work.
"""

from __future__ import annotations

import re

from exactformer.numbers import display, formula
from exactformer.numbers.as_written import tree
from exactformer.numbers.formula import Symbol
from exactformer.numbers.nodes import Definitions, Named, Number, nodes_below

_CHUNK = 24  # nodes of a formula in a list of definitions
_MOST_DEFINITIONS = 40
_WIDEST = 2000  # characters of a closed form in symbols
_PLACE = re.compile("\0(\\d+)\0")


class Symbols:
    """Which nodes have symbols, and how they are written: for the numbers of one pass.

    >>> from exactformer.numbers import exp
    >>> x = exp(1)
    >>> for _ in range(6): x = x + 1 / x
    >>> d = Symbols().define(x)
    >>> d.text, d.where[0]
    ('x1+1/x1+1/(x1+1/x1)+1/(x1+1/x1+1/(x1+1/x1))', ('x1', 'e^1+1/e^1+1/(e^1+1/e^1)+1/(e^1+1/e^1+1/(e^1+1/e^1))'))
    """

    def __init__(self) -> None:
        self._below: dict[int, tuple[Named, ...]] = {}  # for each node, by identity: the nearest nodes below that have symbols
        self._sizes: dict[int, int] = {}  # nodes of the formula, with symbols
        self._kept: list[Named] = []  # the nodes behind those identities, which must not be given to other nodes
        self._symbols: dict[int, Symbol] = {}  # places for names, which differ from number to number
        self._written: dict[int, str] = {}

    def define(self, x: Number) -> Definitions:
        if type(x) is not Named:
            return Definitions(display.simplified(x), ())
        order = self._in_order(x) if self._learn(x) else None
        if order is not None:
            names = {self._symbols[id(node)].text: f"x{n}" for n, node in enumerate(order, 1)}
            text = self._text(x, names)
            if len(text) <= _WIDEST:
                return Definitions(text, tuple((f"x{n}", self._text(node, names)) for n, node in enumerate(order, 1)))
        return Definitions(display.by_digits(x), ())

    def _learn(self, root: Named) -> bool:
        """Look at what lies below `root`, each node after what it is made of; False where too many symbols were met on the way."""
        met = len(self._symbols)
        for node in nodes_below(root, self._below):
            if len(self._symbols) - met > _MOST_DEFINITIONS:
                return False
            below: dict[int, Named] = {}
            size = 1
            for arg in reversed(node.args):
                if type(arg) is not Named or id(arg) in self._symbols:
                    size += 1
                    below |= {id(arg): arg} if type(arg) is Named else {}
                else:
                    size += self._sizes[id(arg)]
                    below |= {id(n): n for n in self._below[id(arg)]}
            self._below[id(node)], self._sizes[id(node)] = tuple(below.values()), size
            if size >= _CHUNK:
                self._symbols[id(node)] = Symbol(f"\0{len(self._kept)}\0", "")
            self._kept.append(node)
        return True

    def _in_order(self, root: Named) -> list[Named] | None:
        """The nodes below `root` that have symbols, each after those that it is made of; None where they are too many."""
        order: list[Named] = []
        seen: set[int] = set()
        stack = [(node, False) for node in reversed(self._below[id(root)])]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                if len(seen) > _MOST_DEFINITIONS:
                    return None
                stack.append((node, True))
                stack.extend((below, False) for below in reversed(self._below[id(node)]))
        return order

    def _text(self, node: Named, names: dict[str, str]) -> str:
        if id(node) not in self._written:
            self._written[id(node)] = formula.text(tree(node, self._symbols))
        return _PLACE.sub(lambda place: names[place[0]], self._written[id(node)])
