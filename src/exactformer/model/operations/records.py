"""Every operation that a step may have: for whoever goes through all of them, such as the catalogue of a language."""

from __future__ import annotations

from exactformer.model.operations import activations, attention, lookup, norms, others, products, rotation, stream
from exactformer.model.operations.operation import Operation


def _named(kind: type[Operation]) -> list[type[Operation]]:
    return ([kind] if "name" in vars(kind) else []) + [each for below in kind.__subclasses__() for each in _named(below)]


_MODULES = {each.__name__ for each in (activations, attention, lookup, norms, others, products, rotation, stream)}
RECORDS: tuple[type[Operation], ...] = tuple(
    sorted((kind for kind in _named(Operation) if kind.__module__ in _MODULES), key=lambda kind: kind.name)
)
