"""Steps drawn by matplotlib, where it is installed: a heat map for each head, with tokens on the axes."""

from __future__ import annotations

import math
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np

from exactformer.messages import NotInstalled, Refused, short
from exactformer.model.operations.attention import SOFTMAX
from exactformer.render.tables import column_names, entry, matrices, row_names
from exactformer.trace import Step
from exactformer.trace.steps import Steps

_MOST_NAMES = 40  # on an axis
_MOST_CELLS = 100  # of a map whose numbers are written into it
_PER_ROW, _SIDE = 4, 2.6  # maps in a row; inches of one


def plot_named(found: Steps, name: str, **kwargs: Any) -> Any:
    """The plot of a step, by its name: `trace.plot("pattern")`."""
    return plot_step(found[name], **kwargs)


def plot_step(step: Step, head: int | None = None, decimals: int = 2) -> Any:
    """A figure: a map for each head, or of one `head`. Numbers are written into small maps, each digit proved."""
    drawn = [(n, matrix) for n, matrix in enumerate(matrices(step)) if head in (None, n)]
    if not drawn:
        raise Refused(step.name, f"there is no head {head}: it has {len(matrices(step))}")
    down, across = math.ceil(len(drawn) / _PER_ROW), min(len(drawn), _PER_ROW)
    figure = _figure()(figsize=(across * _SIDE * 1.15, down * _SIDE), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    floats = step.to_numpy()
    ends = _ends(step, floats)
    for axis, (n, matrix) in zip(axes.flat, drawn, strict=False):
        image = axis.imshow(np.atleast_2d(floats[n] if floats.ndim == 3 else floats), aspect="auto", **ends)
        axis.set_title(step.name if len(matrices(step)) == 1 else f"{step.name}, head {n}", fontsize=9)
        _named(axis.set_yticks, row_names(step, len(matrix)))
        _named(axis.set_xticks, column_names(step, n, matrix.shape[1]), rotation=90)
        if matrix.size <= _MOST_CELLS:
            _numbers(axis, matrix, decimals, image)
    for axis in list(axes.flat)[len(drawn) :]:
        axis.set_axis_off()
    return figure


@cache
def _figure() -> Any:
    """A figure that a notebook shows, whichever way matplotlib is set up there; nothing is kept in its list of open figures."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NotInstalled("plots need matplotlib", "plot") from None

    class Plot(Figure):
        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png", dpi=110)
            return file.getvalue()

    return Plot


def _ends(step: Step, floats: Any) -> dict[str, Any]:
    """Weights of attention lie between 0 and 1; what may be negative is drawn around 0."""
    if step.operation is SOFTMAX:
        return {"vmin": 0, "vmax": 1, "cmap": "Blues"}
    finite = floats[np.isfinite(floats)]
    most = float(np.abs(finite).max()) if finite.size else 1.0
    return {"vmin": -most or -1.0, "vmax": most or 1.0, "cmap": "RdBu_r"}


def _named(put: Any, names: list[str], **kwargs: Any) -> None:
    """The names of an axis; of many, every second, every third, …"""
    every = math.ceil(len(names) / _MOST_NAMES)
    put(range(0, len(names), every), [short(name, 12) for name in names[::every]], fontsize=8, **kwargs)


def _numbers(axis: Any, matrix: Any, decimals: int, image: Any) -> None:
    shades = np.nan_to_num(np.asarray(image.norm(image.get_array()), dtype=float), nan=0.5, posinf=1, neginf=0)
    dark = shades > 0.6 if image.norm.vmin == 0 else abs(shades - 0.5) > 0.3
    for place, value in np.ndenumerate(matrix):
        colour = "white" if dark[place] else "black"
        axis.text(*place[::-1], entry(value, decimals, decimals + 1), ha="center", va="center", fontsize=8, color=colour)
