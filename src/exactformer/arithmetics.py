"""The arithmetics by name: the one list of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from exactformer.messages import quoted
from exactformer.model import ConfigError, InputError, Values
from exactformer.model.arithmetics.roles import Adjoints

_PLACES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "exact": ("exactformer.model.arithmetics.wide", "WideExactArithmetic", {}),
    "arb": ("exactformer.model.arithmetics.arb", "ArbArithmetic", {}),
    "certified": ("exactformer.certified.arithmetic", "CertifiedArithmetic", {"traced": True}),
    "float64": ("exactformer.model.arithmetics.floats", "FloatArithmetic", {"name": "float64"}),
    "float32": ("exactformer.model.arithmetics.floats", "FloatArithmetic", {"name": "float32"}),
    "float16": ("exactformer.model.arithmetics.narrow", "NarrowArithmetic", {"name": "float16"}),
    "bfloat16": ("exactformer.model.arithmetics.narrow", "NarrowArithmetic", {"name": "bfloat16"}),
}
ARITHMETICS = tuple(_PLACES)


@cache
def kind(name: str) -> type[Values]:
    """The class of an arithmetic, on which it says what it can do; its module is read when it is first asked for.

    >>> kind("arb").proves, kind("certified").differentiates
    (True, False)
    """
    if name not in _PLACES:
        raise InputError(f"{quoted(name)} is not an arithmetic: there are {', '.join(ARITHMETICS)}")
    module, title, _ = _PLACES[name]
    found: type[Values] = getattr(import_module(module), title)
    return found


def able(can: Callable[[type[Values]], bool]) -> tuple[str, ...]:
    """The arithmetics whose classes say so.

    >>> able(lambda kind: kind.proves)
    ('exact', 'arb', 'certified')
    """
    return tuple(name for name in ARITHMETICS if can(kind(name)))


def arithmetic(name: str) -> Values:
    """The arithmetic of that name.

    >>> arithmetic("exact").name
    'exact'
    """
    found = kind(name)
    return found(**_PLACES[name][2])


def adjoints(name: str) -> Adjoints:
    """The same for a backward pass; not every arithmetic has one."""
    found = arithmetic(name)
    if not isinstance(found, Adjoints):
        others = ", ".join(able(lambda kind: kind.differentiates))
        raise ConfigError(name, f"this arithmetic computes whole passes forwards; gradients go with {others}")
    return found


def one_by_one(name: str) -> Adjoints:
    """For what is computed with single numbers of a pass: its own arithmetic; the balls of whole layers are balls.

    >>> one_by_one("exact").name, one_by_one("certified").name
    ('exact', 'arb')
    """
    return adjoints(name if kind(name).stepwise else "arb")
