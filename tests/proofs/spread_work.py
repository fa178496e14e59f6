"""Models that workers open themselves: a module that they can import."""

from __future__ import annotations

from pathlib import Path

import exactformer as xf
from exactformer.checkpoints import open_checkpoint
from exactformer.model import Model
from exactformer.worksheets.models import model_folder


def stories() -> Model:
    return xf.load("stories").model


def some(blocks: range) -> Model:
    """The same, of which these blocks alone are read."""
    return open_checkpoint(model_folder("stories"), blocks=blocks).model


def changing(path: str, blocks: range) -> Model:
    """Another model once a file is there."""
    return xf.load("length4").model if Path(path).exists() else some(blocks)
