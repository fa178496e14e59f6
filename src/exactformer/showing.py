"""Things that show themselves: as text when printed, as a table in a notebook.

How they look is the business of `render`, which stands above them; so they ask here, and the package says who answers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

WRITERS = "exactformer.render.shown"  # has `text`, `html`, `plot` and `save`


class Shown:
    def __str__(self) -> str:
        return str(_written("text", self))

    def _repr_html_(self) -> str:
        return str(_written("html", self))


class Saved(Shown):
    """A model, or what has one."""

    def save(self, path: Any) -> None:
        """Write a folder that is opened again, or with the ending .toml a worksheet; what the format cannot say is refused."""
        _written("save", self, path)


class Plotted(Shown):
    """What is drawn as well, by matplotlib where that is installed."""

    def plot(self, *args: Any, **kwargs: Any) -> Any:
        """A heat map for each head, as a figure of matplotlib; `render/plots.py` says what it takes."""
        return _written("plot", self, *args, **kwargs)


def _written(form: str, thing: Any, *args: Any, **kwargs: Any) -> Any:
    return getattr(import_module(WRITERS), form)(thing, *args, **kwargs)
