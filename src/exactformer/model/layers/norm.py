"""LayerNorm: mean, deviation, division; then a stretch and a shift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from exactformer.model.arithmetics.roles import FusedLayers
from exactformer.model.axes import DIMENSION
from exactformer.model.fields import Array, ConfigError, along, one_of
from exactformer.model.operations.norms import CENTER, MEAN, VARIANCE, Deviation, Normalise
from exactformer.model.recorder import Handle, Recorder
from exactformer.numbers import Exact, array

Norm = Literal["none", "pre", "post"]


@dataclass(frozen=True, kw_only=True)
class NormFields:
    norm: Norm  # none; pre: before attention and MLP; post: after each residual add
    epsilon: Exact | None = None  # of every LayerNorm; 0 is allowed
    final_norm: bool = False

    def check(self) -> None:
        one_of("norm", self.norm, get_args(Norm))
        if self.norm == "none" and not self.final_norm:
            if self.epsilon is not None:
                raise ConfigError("epsilon", "is given, but the model has no LayerNorm")
        elif self.epsilon is None:
            raise ConfigError("epsilon", "is missing: every LayerNorm needs one (0 is allowed)")
        elif not isinstance(self.epsilon, Exact):
            raise ConfigError("epsilon", f'{self.epsilon!r} is not an exact number: write exact("1e-5")')
        elif self.epsilon < 0:
            raise ConfigError("epsilon", f"{self.epsilon} is negative")


@dataclass(frozen=True, kw_only=True)
class NormWeights:
    w: Array = along(DIMENSION, usual=lambda c: array([1] * c.dim))  # γ
    b: Array = along(DIMENSION, usual=lambda c: array([0] * c.dim))  # β


def layer_norm(p: Recorder, x: Handle, weights: NormWeights, name: str) -> Handle:
    """w · (x − mean) / √(var + ε) + b"""
    epsilon = p.config.epsilon
    assert epsilon is not None
    p = p.within(name, "layernorm")
    if isinstance(p.ops, FusedLayers):
        p = p.given(p.ops.layer_norm(x.value, weights, p.config, p.layer))
    x = p.marked(x)
    mean = p.do("mean", MEAN, x)  # [T, 1]
    centered = p.do("centered", CENTER, x, mean)  # [T, dim]
    variance = p.do("var", VARIANCE, centered)  # [T, 1]
    deviation = p.do("std", Deviation(epsilon), variance)  # [T, 1]
    return p.do("out", Normalise(p.layer), centered, deviation, p.weight("w", weights.w), p.weight("b", weights.b))  # [T, dim]
