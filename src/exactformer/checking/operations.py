"""The operations that a claim can name: one record each.

One operand is called `of`, two are called `left` and `right`. A vector is a row; what has one entry a row loses that axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from exactformer.checking.functions import (
    OPS,
    cross_entropy,
    each,
    largest,
    layer_norm,
    length,
    masked,
    pairwise,
    quotient,
    rms_norm,
    rotary,
    scaled,
    shares,
    sigmoid,
    softmax_of,
    std,
    variance,
    with_other,
)
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import exact, exp, log, sqrt
from exactformer.numbers.arrays import Array
from exactformer.numbers.field import add, divide, multiply, subtract

Kind = Literal["entries", "pairs", "rows", "product", "matrix"]


@dataclass(frozen=True)
class Operation:
    """`kind`: of each entry; of two entries in the same place; of each row; of two matrices; of one.

    `slips` are ways to do it wrong that people really take, in words.
    """

    function: Callable[..., Array]  # of matrices, and of parameters by name
    kind: Kind
    operands: tuple[str, ...] = ("of",)
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    reduces: bool = False  # to one entry a row
    masked: bool = False  # are entries -inf allowed?
    slips: tuple[tuple[str, Callable[..., Array]], ...] = ()


_GELU = {kind: with_other(lambda x, kind: OPS.activate(x, kind), kind=kind) for kind in ("gelu", "gelu_tanh", "relu", "silu")}
_ROOTS = ("ddof", "epsilon_at")
_SAMPLE = "divided by n - 1 instead of n"
_OUTSIDE = "ε is added outside of the root"
_NO_EPSILON = "ε is forgotten"
_BY = ("by",)


OPERATIONS: dict[str, Operation] = {
    "matmul": Operation(lambda left, right: OPS.linear(left, right, None), "product", ("left", "right")),
    "scores": Operation(lambda left, right: OPS.linear(left, right.T, None), "product", ("left", "right")),  # left · rightᵀ
    "attention": Operation(lambda x: x, "matrix", ("q", "k", "v"), optional=("scale", "mask")),  # made of others: attending.py
    "transpose": Operation(lambda x: x.T, "matrix"),
    "add": Operation(pairwise(add), "pairs", ("left", "right"), optional=_BY),
    "subtract": Operation(pairwise(subtract), "pairs", ("left", "right"), optional=_BY),
    "multiply": Operation(pairwise(multiply), "pairs", ("left", "right"), optional=_BY),
    "divide": Operation(pairwise(quotient), "pairs", ("left", "right"), optional=_BY),
    "scale": Operation(
        scaled, "entries", required=("factor",),
        slips=(
            ("the factor is forgotten", lambda x, factor: x),
            ("the factor is taken twice: d for √d", lambda x, factor: scaled(x, multiply(factor, factor))),
            ("it is divided by the factor", lambda x, factor: scaled(x, divide(exact(1), factor))),
        ),
    ),
    "exp": Operation(each(lambda x: exact(0) if x is MASKED else exp(x)), "entries", masked=True),
    "log": Operation(each(log), "entries"),
    "sqrt": Operation(each(sqrt), "entries"),
    "tanh": Operation(lambda x: OPS.tanh(x), "entries"),
    "sigmoid": Operation(each(sigmoid), "entries"),
    "relu": Operation(_GELU["relu"], "entries"),
    "silu": Operation(_GELU["silu"], "entries", slips=(("this is the sigmoid alone", each(sigmoid)),)),
    "gelu": Operation(_GELU["gelu"], "entries", slips=(("this is the tanh form of GELU", _GELU["gelu_tanh"]),)),
    "gelu_tanh": Operation(_GELU["gelu_tanh"], "entries", slips=(("this is GELU with erf", _GELU["gelu"]),)),
    "mask": Operation(masked, "rows", required=("mask",), slips=(("the mask is forgotten", lambda x, mask: x),)),
    "shift": Operation(lambda x: OPS.shift(x), "rows", masked=True),  # minus the largest of each row
    "softmax": Operation(
        softmax_of, "rows", optional=("temperature", "by"), masked=True,
        slips=(
            ("the temperature is forgotten", lambda x, **said: softmax_of(x)),
            ("multiplied by the temperature", lambda x, temperature: softmax_of(x, divide(exact(1), temperature))),
            ("the numbers are divided by their sum, without e to their power", shares),
            ("not divided by the sum of the row", lambda x, **said: each(exp)(x)),
        ),
    ),
    "sum": Operation(lambda x: OPS.total(x, -1)[:, None], "rows", optional=_BY, reduces=True),
    "mean": Operation(lambda x: OPS.mean(x), "rows", optional=_BY, reduces=True),
    "max": Operation(largest, "rows", optional=_BY, reduces=True, masked=True),
    "norm": Operation(length, "rows", optional=_BY, reduces=True),
    "variance": Operation(
        variance, "rows", optional=("ddof", "by"), reduces=True,
        slips=((_SAMPLE, with_other(variance, ddof=1)), ("divided by n instead of n - 1", with_other(variance, ddof=0))),
    ),
    "std": Operation(
        std, "rows", optional=("epsilon", *_ROOTS, "by"), reduces=True,
        slips=(
            (_SAMPLE, with_other(std, ddof=1)), ("divided by n instead of n - 1", with_other(std, ddof=0)),
            ("the root is forgotten", lambda x, ddof=0, **said: variance(x, ddof)),
            (_OUTSIDE, with_other(std, epsilon_at="outside")), (_NO_EPSILON, with_other(std, epsilon=exact(0))),
        ),
    ),
    "layer_norm": Operation(
        layer_norm, "rows", required=("epsilon",), optional=("gamma", "beta", *_ROOTS),
        slips=(
            (_SAMPLE, with_other(layer_norm, ddof=1)), ("divided by n instead of n - 1", with_other(layer_norm, ddof=0)),
            (_OUTSIDE, with_other(layer_norm, epsilon_at="outside")),
            ("ε is added inside of the root", with_other(layer_norm, epsilon_at="inside")),
            (_NO_EPSILON, with_other(layer_norm, epsilon=exact(0))), ("γ is forgotten", with_other(layer_norm, gamma=None)),
            ("β is forgotten", with_other(layer_norm, beta=None)),
        ),
    ),
    "rms_norm": Operation(
        rms_norm, "rows", required=("epsilon",), optional=("gamma", "epsilon_at"),
        slips=(
            ("the mean is subtracted: this is LayerNorm", layer_norm), (_OUTSIDE, with_other(rms_norm, epsilon_at="outside")),
            (_NO_EPSILON, with_other(rms_norm, epsilon=exact(0))), ("γ is forgotten", with_other(rms_norm, gamma=None)),
        ),
    ),
    "cross_entropy": Operation(cross_entropy, "rows", required=("correct",), reduces=True),
    "rotary": Operation(
        rotary, "rows", optional=("base", "pairs", "position"),
        slips=(
            ("halves are turned together, not neighbours", with_other(rotary, pairs="halves")),
            ("neighbours are turned together, not halves", with_other(rotary, pairs="neighbours")),
            ("positions are counted from 1", lambda x, position=0, **said: rotary(x, position=position + 1, **said)),
        ),
    ),
}  # fmt: skip
