"""Models that workers open themselves: a module that they can import."""

from __future__ import annotations

from pathlib import Path

import exactformer as xf
from exactformer.model import Model


def stories() -> Model:
    return xf.load("stories").model


def changing(path: str) -> Model:
    """Another model from the second time on."""
    seen = Path(path)
    seen.write_text(seen.read_text() + ".")
    return stories() if len(seen.read_text()) == 1 else xf.load("capstone").model
