"""What a model is, apart from its weights: the fields of its layers, and how they are put together."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from reprlib import Repr
from typing import Any

from exactformer.model.fields import ConfigError, whole
from exactformer.model.layers.attention import AttentionFields
from exactformer.model.layers.embedding import EmbeddingFields
from exactformer.model.layers.mlp import MlpFields
from exactformer.model.layers.norm import NormFields
from exactformer.model.layers.rotary import RotaryFields

_BRIEFLY = Repr()


@dataclass(frozen=True, kw_only=True)
class Config(EmbeddingFields, AttentionFields, RotaryFields, MlpFields, NormFields):
    """A validated configuration.

    >>> Config(vocabulary=("a", "b"), dim=2, blocks=1, norm="none", mask="causal", scale="sqrt").scale_factor
    <1/√2>
    >>> Config(vocabulary=("a", "a"), dim=2, blocks=1, norm="none", mask="causal", scale="sqrt")
    Traceback (most recent call last):
    exactformer.model.fields.ConfigError: vocabulary: has the token 'a' twice
    """

    dim: int
    blocks: int
    residual: bool = True  # is what a sub-layer computes added to the stream, or put in its place?
    parallel: bool = False  # does the MLP read the stream that attention reads, and not what follows it?
    shared_norm: bool = False  # where they are parallel, do both read the norm ln1?

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1)
        whole("blocks", self.blocks, 0)
        for layer in Config.__bases__:
            layer.check(self)  # type: ignore[attr-defined]
        if self.parallel and self.norm == "post":
            raise ConfigError("parallel", 'goes with norm = "pre" or "none": after each sub-layer there is no norm to put')
        if self.shared_norm and not (self.parallel and self.norm == "pre" and self.mlp):
            raise ConfigError("shared_norm", 'goes with parallel = true, norm = "pre" and an MLP')
        if any(type(block) is not int or not 0 <= block < self.blocks for block in self.full_blocks):
            raise ConfigError("full_blocks", f"are not among the {self.blocks} blocks, counted from 0")

    def __repr__(self) -> str:
        """What is as usual is left out, and so is the middle of long lists and texts.

        >>> Config(vocabulary=tuple("abcdefghijk"), dim=2, blocks=1, norm="none", mask="causal", scale="sqrt")
        Config(norm='none', dim=2, mask='causal', scale='sqrt', vocabulary=('a', 'b', 'c', 'd', 'e', 'f', ...), blocks=1)
        """
        shown = [field.name for field in fields(self) if field.default is MISSING or field.name in self.changed()]
        shown = [name for name in shown if name != "head_dim" or self.head_dim * self.heads != self.dim]
        return f"Config({', '.join(f'{name}={_BRIEFLY.repr(getattr(self, name))}' for name in shown)})"

    def differs(self, other: Config) -> str | None:
        """The first field in which another configuration is not the same; None where there is none."""
        return next((field.name for field in fields(self) if getattr(self, field.name) != getattr(other, field.name)), None)

    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults, which change nothing.

        >>> Config(vocabulary=("a",), dim=2, blocks=1, norm="none", mask="causal", scale="sqrt", heads=2, kv_heads=1).changed()
        {'head_dim': 1, 'heads': 2, 'kv_heads': 1}
        """
        optional = (field for field in fields(self) if field.default is not MISSING)
        return {field.name: getattr(self, field.name) for field in optional if getattr(self, field.name) != field.default}
