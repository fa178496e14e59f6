"""Norms. LayerNorm: mean, deviation, division; then a stretch and a shift. RMSNorm: the same without mean and shift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from exactformer.model.arithmetics.roles import FusedLayers
from exactformer.model.axes import DIMENSION, HEAD_DIMENSION
from exactformer.model.fields import Array, ConfigError, Part, along, one_of, setting
from exactformer.model.operations.norms import CENTER, MEAN, MEAN_SQUARE, VARIANCE, Deviation, Normalise, RootMeanSquare
from exactformer.model.recorder import Handle, Recorder
from exactformer.numbers import Exact, array

Norm = Literal["none", "pre", "post"]
NormKind = Literal["layer", "rms"]


@dataclass(frozen=True, kw_only=True)
class NormFields:
    norm: Norm  # none; pre: before attention and MLP; post: after each residual add
    norm_kind: NormKind = "layer"
    norm_unit: bool = False  # is the gain 1 + w?
    post_norms: bool = False  # is there a norm after each sub-layer too, before it is added to the stream?
    epsilon: Exact | None = None  # of every norm; 0 is allowed
    final_norm: bool = False
    qk_norm: bool = setting(False)  # an RMSNorm of every head's queries and keys

    def check(self) -> None:
        one_of("norm", self.norm, get_args(Norm))
        one_of("norm_kind", self.norm_kind, get_args(NormKind))
        if self.post_norms and self.norm != "pre":
            raise ConfigError("post_norms", 'goes with norm = "pre"')
        if self.norm == "none" and not self.final_norm and not self.qk_norm:
            for name in ("norm_unit", "epsilon"):
                if getattr(self, name) not in (None, False):
                    raise ConfigError(name, "is given, but the model has no norm")
        elif self.epsilon is None:
            raise ConfigError("epsilon", "is missing: every norm needs one (0 is allowed)")
        elif not isinstance(self.epsilon, Exact):
            raise ConfigError("epsilon", f'{self.epsilon!r} is not an exact number: write exact("1e-5")')
        elif self.epsilon < 0:
            raise ConfigError("epsilon", f"{self.epsilon} is negative")


@dataclass(frozen=True, kw_only=True, repr=False)
class NormWeights(Part):
    w: Array = along(DIMENSION, usual=lambda c: array([0 if c.norm_unit else 1] * c.dim))  # γ
    b: Array | None = along(
        DIMENSION, when=lambda c: c.norm_kind == "layer", goes_with='norm_kind = "layer"', usual=lambda c: array([0] * c.dim)
    )  # β


@dataclass(frozen=True, kw_only=True, repr=False)
class HeadNormWeights(Part):
    w: Array = along(HEAD_DIMENSION, usual=lambda c: array([0 if c.norm_unit else 1] * c.head_dim))


def normed(p: Recorder, x: Handle, weights: NormWeights, name: str) -> Handle:
    """The norm that the model has, of the rows of the stream."""
    rms = p.config.norm_kind == "rms"
    p = p.within(name, "RMSNorm" if rms else "layernorm")
    if isinstance(p.ops, FusedLayers):
        p = p.given(p.ops.layer_norm(x.value, weights, p.config, p.layer))
    return _rms(p, x, weights.w) if rms else _layer(p, x, weights)


def head_norm(p: Recorder, x: Handle, weights: HeadNormWeights, name: str) -> Handle:
    """An RMSNorm of each head by itself: [heads, T, head_dim]"""
    return _rms(p.within(f"{p.layer}.{name}", p.stage), x, weights.w)


def _layer(p: Recorder, x: Handle, weights: NormWeights) -> Handle:
    """w · (x − mean) / √(var + ε) + b"""
    assert p.config.epsilon is not None
    x = p.marked(x)
    mean = p.do("mean", MEAN, x)  # [T, 1]
    centered = p.do("centered", CENTER, x, mean)  # [T, dim]
    variance = p.do("var", VARIANCE, centered)  # [T, 1]
    deviation = p.do("std", Deviation(p.config.epsilon), variance)  # [T, 1]
    normalise = Normalise(p.layer, p.config.norm_unit)
    return p.do("out", normalise, centered, deviation, p.weight("w", weights.w), p.weight("b", weights.b))  # [T, dim]


def _rms(p: Recorder, x: Handle, gain: Array) -> Handle:
    """w · x / √(mean of squares + ε)"""
    assert p.config.epsilon is not None
    x = p.marked(x)
    squares = p.do("ms", MEAN_SQUARE, x)  # [T, 1]
    size = p.do("rms", RootMeanSquare(p.config.epsilon), squares)  # [T, 1]
    return p.do("out", Normalise(p.layer, p.config.norm_unit, biased=False), x, size, p.weight("w", gain))  # [T, dim]
