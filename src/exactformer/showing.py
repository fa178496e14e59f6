"""Things that show themselves: as text when printed, as a table in a notebook.

How they look is the business of `render`, which stands above them; so they ask here, and the package says who answers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

WRITERS = "exactformer.render.shown"  # has `text` and `html`, each of any thing that shows itself


class Shown:
    def __str__(self) -> str:
        return str(_written("text", self))

    def _repr_html_(self) -> str:
        return str(_written("html", self))


def _written(form: str, thing: Any) -> Any:
    return getattr(import_module(WRITERS), form)(thing)
