"""What the axes of arrays count: the shape of a weight, and the words beside a table, are both read off them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from exactformer.model.config import Config


class Axis(NamedTuple):
    word: str
    size: Callable[[Config], int]
    names: Callable[[Config], tuple[str, ...]] | None = None  # what each is called, where a configuration says it


TOKEN = Axis("token", lambda c: len(c.vocabulary), lambda c: c.vocabulary)  # that is read
SPOKEN = Axis("token", lambda c: len(c.spoken), lambda c: c.spoken)  # that is said
POSITION = Axis("position", lambda c: c.length or 0)
DIMENSION = Axis("dimension", lambda c: c.dim)
HEAD = Axis("head", lambda c: c.heads)
KEY_HEAD = Axis("head", lambda c: c.key_heads)
HEAD_DIMENSION = Axis("dimension", lambda c: c.head_dim)
UNIT = Axis("unit", lambda c: c.mlp)
NOTHING = Axis("", lambda c: 1)  # one entry a row
