"""Models that workers open themselves: a module that they can import."""

from __future__ import annotations

from pathlib import Path

import exactformer as xf
from exactformer.model import Model


def stories() -> Model:
    return xf.load("stories").model


def changing(path: str) -> Model:
    """Another model once a file is there."""
    return xf.load("length4").model if Path(path).exists() else stories()
