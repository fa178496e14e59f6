"""No two packages export two things under one name."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from typing import Any

import exactformer


def test_a_name_is_one_thing() -> None:
    things: dict[str, dict[int, Any]] = defaultdict(dict)
    for found in pkgutil.iter_modules(exactformer.__path__):
        if found.ispkg:
            package = importlib.import_module(f"exactformer.{found.name}")
            for name in getattr(package, "__all__", ()):
                thing = getattr(package, name)
                things[name][id(thing)] = f"{getattr(thing, '__module__', package.__name__)}.{name}"
    for name in exactformer.__all__:
        things[name][id(getattr(exactformer, name))] = f"exactformer.{name}"
    assert len(things) > 50
    assert {name: sorted(places.values()) for name, places in things.items() if len(places) > 1} == {}
