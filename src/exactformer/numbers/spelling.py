"""Numbers as plain data, whole: for hashes, which must not depend on how much of a number is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from exactformer.numbers.nodes import Exact, Named, Number, Undefined, nodes_below


def spelled(numbers: Iterable[Number]) -> Iterator[tuple[Any, ...]]:
    """Texts, integers and tuples of these, from which the numbers could be built again: different ones are spelled differently.

    A node of a closed form is spelled once, after what it is made of, and named by its place among the nodes from then on. So are
    nodes that are built alike: whether a number was computed once or twice is not seen.

    >>> from exactformer.numbers import exact, exp
    >>> list(spelled([exact("-1/2"), exp(exact(3))]))
    [('exact', -1, 2), ('node', 'exp', (('exact', 3, 1),), None), ('named', 0)]
    """
    names: dict[int, int] = {}  # by identity: the nodes live as long as the numbers do
    places: dict[tuple[Any, ...], int] = {}
    for number in numbers:
        if isinstance(number, Named):
            for node in nodes_below(number, names):
                spelling = ("node", node.op, tuple(_leaf(arg, names) for arg in node.args), _data(node.data))
                if spelling not in places:
                    places[spelling] = len(places)
                    yield spelling
                names[id(node)] = places[spelling]
        yield _leaf(number, names)


def _leaf(number: Number, names: dict[int, int]) -> tuple[Any, ...]:
    if isinstance(number, Exact):
        return "exact", int(number.value.p), int(number.value.q)
    if isinstance(number, Undefined):
        return "undefined", number.why, number.undecided
    return "named", names[id(number)]


def _data(data: Any) -> Any:
    """What a node has besides numbers: integers of a sum, the exponent of a power."""
    if data is None:
        return None
    if isinstance(data, tuple | list):
        return tuple(_data(part) for part in data)
    return (int(data.p), int(data.q)) if hasattr(data, "q") else int(data)
