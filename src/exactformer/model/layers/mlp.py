"""The MLP: a matrix, an activation, a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from exactformer.model.arithmetics.roles import Activation, FusedLayers
from exactformer.model.axes import DIMENSION, UNIT
from exactformer.model.fields import Array, along, one_of, setting, whole
from exactformer.model.operations.activations import ACTIVATIONS
from exactformer.model.operations.products import LINEAR
from exactformer.model.recorder import Handle, Recorder


@dataclass(frozen=True, kw_only=True)
class MlpFields:
    mlp: int = 0  # width; 0: attention only
    activation: Activation | None = setting(None, worksheet="must", needs="mlp")

    def check(self) -> None:
        whole("mlp", self.mlp, 0)
        if self.mlp:
            one_of("activation", self.activation, get_args(Activation))


@dataclass(frozen=True, kw_only=True)
class MlpWeights:
    W_in: Array = along(DIMENSION, UNIT)
    W_out: Array = along(UNIT, DIMENSION)
    b_in: Array | None = along(UNIT, optional=True)
    b_out: Array | None = along(DIMENSION, optional=True)


def mlp(p: Recorder, x: Handle, weights: MlpWeights, name: str) -> Handle:
    """activation(x W_in + b_in) W_out + b_out"""
    activation = ACTIVATIONS[p.config.activation or "identity"]
    p = p.within(name, "MLP")
    if isinstance(p.ops, FusedLayers):
        p = p.given(p.ops.mlp(x.value, weights, p.config, p.layer))
    pre = p.do("pre", LINEAR, x, p.weight("W_in", weights.W_in), p.weight("b_in", weights.b_in))  # [T, mlp]
    post = p.do("post", activation, pre)
    return p.do("out", LINEAR, post, p.weight("W_out", weights.W_out), p.weight("b_out", weights.b_out))  # [T, dim]
