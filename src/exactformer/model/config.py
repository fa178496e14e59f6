"""What a model is, apart from its weights: the fields of its layers, and how they are put together."""

from __future__ import annotations

from dataclasses import dataclass

from exactformer.model.fields import whole
from exactformer.model.layers.attention import AttentionFields
from exactformer.model.layers.embedding import EmbeddingFields
from exactformer.model.layers.mlp import MlpFields
from exactformer.model.layers.norm import NormFields


@dataclass(frozen=True, kw_only=True)
class Config(EmbeddingFields, AttentionFields, MlpFields, NormFields):
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

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1)
        whole("blocks", self.blocks, 0)
        for layer in Config.__bases__:
            layer.check(self)  # type: ignore[attr-defined]
