"""Which nodes are built alike: the same operation on the same things, in whatever order a sum or a product holds them."""

from __future__ import annotations

from typing import Any

from exactformer.numbers.nodes import Named, nodes_below

_MOST_KINDS = 20_000  # beyond this, nodes are distinguished by identity alone


class Structure:
    """Names for nodes, equal for nodes that are built alike. It lives as long as a query, or as the pass that asks many.

    >>> from exactformer.numbers import exp, exact
    >>> structure = Structure()
    >>> structure.name(exp(1) + exp(2)) == structure.name(exp(2) + exp(1)), structure.name(exp(1)) == structure.name(exp(2))
    (True, False)
    """

    def __init__(self) -> None:
        self._names: dict[int, int] = {}  # by identity
        self._kept: list[Named] = []  # the nodes behind those identities, which must not be given to other nodes
        self._kinds: dict[Any, int] = {}

    def name(self, root: Named) -> int:
        for node in nodes_below(root, self._names):
            self._names[id(node)] = self._kind(node)
            self._kept.append(node)
        return self._names[id(root)]

    def _kind(self, node: Named) -> int:
        args = [self._names[id(a)] if type(a) is Named else (int(a.value.p), int(a.value.q)) for a in node.args]  # type: ignore[union-attr]
        data = node.data
        if node.op == "lin":
            key: Any = ("lin", tuple(sorted(zip(args, data[0], strict=True))), data[1:])
        elif node.op == "dot":
            half = len(args) // 2
            key = ("dot", tuple(sorted(tuple(sorted(pair)) for pair in zip(args[:half], args[half:], strict=True))))
        else:
            key = (node.op, tuple(args), None if data is None else (int(data.p), int(data.q)))
        if len(self._kinds) < _MOST_KINDS:
            return self._kinds.setdefault(key, len(self._kinds))
        return self._kinds.get(key, len(self._names) + _MOST_KINDS)
