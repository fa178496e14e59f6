"""The MLP: a matrix, an activation, a matrix; or two matrices, of which one is a gate for the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from exactformer.model.arithmetics.roles import Activation, FusedLayers
from exactformer.model.axes import DIMENSION, UNIT
from exactformer.model.fields import Array, Part, along, one_of, setting, whole
from exactformer.model.operations.activations import ACTIVATIONS, Gate
from exactformer.model.operations.products import LINEAR
from exactformer.model.recorder import Handle, Recorder

MlpKind = Literal["plain", "gated"]


@dataclass(frozen=True, kw_only=True)
class MlpFields:
    mlp: int = 0  # width; 0: attention only
    activation: Activation | None = setting(None, worksheet="must", needs="mlp")
    mlp_kind: MlpKind = "plain"  # gated: activation(x W_gate) · x W_in

    def check(self) -> None:
        whole("mlp", self.mlp, 0)
        one_of("mlp_kind", self.mlp_kind, get_args(MlpKind))
        if self.mlp:
            one_of("activation", self.activation, get_args(Activation))


_GATED: dict[str, Any] = {"when": lambda c: c.mlp_kind == "gated", "goes_with": 'mlp_kind = "gated"'}


@dataclass(frozen=True, kw_only=True, repr=False)
class MlpWeights(Part):
    W_in: Array = along(DIMENSION, UNIT)
    W_out: Array = along(UNIT, DIMENSION)
    b_in: Array | None = along(UNIT, optional=True)
    b_out: Array | None = along(DIMENSION, optional=True)
    W_gate: Array | None = along(DIMENSION, UNIT, **_GATED)
    b_gate: Array | None = along(UNIT, optional=True, **_GATED)


def mlp(p: Recorder, x: Handle, weights: MlpWeights, name: str) -> Handle:
    """activation(x W_in + b_in) W_out + b_out; gated: (activation(x W_gate + b_gate) · (x W_in + b_in)) W_out + b_out"""
    activation = ACTIVATIONS[p.config.activation or "identity"]
    p = p.within(name, "MLP")
    if isinstance(p.ops, FusedLayers):
        p = p.given(p.ops.mlp(x.value, weights, p.config, p.layer))
    W_in, b_in = p.weight("W_in", weights.W_in), p.weight("b_in", weights.b_in)
    if p.config.mlp_kind == "gated":
        gate = p.do("pre", LINEAR, x, p.weight("W_gate", weights.W_gate), p.weight("b_gate", weights.b_gate))  # [T, mlp]
        post = p.do("post", Gate(activation), gate, p.do("pre_linear", LINEAR, x, W_in, b_in))
    else:
        post = p.do("post", activation, p.do("pre", LINEAR, x, W_in, b_in))
    return p.do("out", LINEAR, post, p.weight("W_out", weights.W_out), p.weight("b_out", weights.b_out))  # [T, dim]
