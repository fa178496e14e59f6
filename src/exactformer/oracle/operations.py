"""The operations as they are called: shapes are checked, and what IEEE's infinities and NaN decide is taken out."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.messages import quoted
from exactformer.numbers.formats import Format
from exactformer.oracle import formulas, sides
from exactformer.oracle.checks import axis_of, broadcast, cut, entrywise, formats, optional, rowwise
from exactformer.oracle.formats import OracleError
from exactformer.oracle.taking import integers, real, taken
from exactformer.oracle.truth import Block, Operation, Part, Truth

SOFTMAX = Operation("softmax", formulas.softmax, sides.of_softmax, lifted=True)
LOG_SOFTMAX = Operation("log_softmax", formulas.log_softmax, sides.of_log_softmax)
CROSS_ENTROPY = Operation("cross_entropy", formulas.cross_entropy, sides.of_cross_entropy)
LAYER_NORM = Operation("layer_norm", formulas.layer_norm, sides.of_layer_norm)
RMS_NORM = Operation("rms_norm", formulas.rms_norm, sides.of_rms_norm)
GELU = Operation("gelu", formulas.gelu, sides.of_activation)
GELU_TANH = Operation("gelu_tanh", formulas.gelu_tanh, sides.of_activation)
SILU = Operation("silu", formulas.silu, sides.of_activation)
SWIGLU = Operation("swiglu", formulas.swiglu, sides.of_swiglu)


def softmax(x: Any, axis: int = -1, dtype: Any = None) -> Truth:
    """e^x_i/Σ e^x_j along an axis.

    >>> softmax(np.float16([0, 1, -np.inf])).rounded()
    array([0.269, 0.731, 0.   ], dtype=float16)
    """
    return _softmax(SOFTMAX, x, axis, dtype)


def log_softmax(x: Any, axis: int = -1, dtype: Any = None) -> Truth:
    """x_i − log Σ e^x_j along an axis.

    >>> log_softmax(np.float32([0, 30])).ulps(np.float32([-30, 0]))  # -log(1 + e^-30) is not 0
    Ulps(most=1.381e+07, median=6.905e+06, where=(1,), format='float32')
    """
    return _softmax(LOG_SOFTMAX, x, axis, dtype)


def _softmax(operation: Operation, x: Any, axis: int, dtype: Any) -> Truth:
    array, form = taken(x, "x")
    axis = axis_of(axis, array)
    rows, form = _rows(array, axis), formats(dtype, ("x", form))
    if np.isfinite(rows).all():
        return rowwise(operation, form, array.shape, axis, (Part(rows), Part(True)), None)
    finite, seen, none = _seen(rows)
    given, decided = np.where(none, np.nan, -np.inf), np.broadcast_to(none, rows.shape)
    if operation is LOG_SOFTMAX:
        decided = decided | ~seen
    parts = Part(finite), Part(seen)
    return rowwise(operation, form, array.shape, axis, parts, (np.broadcast_to(given, rows.shape), decided))


def _rows(x: Any, axis: int) -> Any:
    moved = np.moveaxis(x, axis, -1)
    return np.ascontiguousarray(moved).reshape(-1, moved.shape[-1]) if x.size else np.zeros((0, x.shape[axis]))


def _seen(rows: Any) -> tuple[Any, Any, Any]:
    """Finite numbers in place of all; where e^x is not 0; rows that are NaN: with NaN or +∞, or without anything but −∞."""
    finite = np.isfinite(rows)
    none = (np.isnan(rows) | (rows == np.inf)).any(axis=-1, keepdims=True) | ~finite.any(axis=-1, keepdims=True)
    return np.where(finite, rows, 0.0), finite, none


def cross_entropy(
    x: Any, targets: Any, axis: int = -1, reduction: str = "mean", ignore_index: int = -100, dtype: Any = None
) -> Truth:
    """log Σ e^x_j − x_target along an axis, of every target, or their mean or sum; targets that are `ignore_index` do not count.

    >>> cross_entropy(np.float32([[0, 0, 0, 0]]), np.array([2])).rounded()
    array(1.3862944, dtype=float32)
    """
    array, form = taken(x, "x")
    axis = axis_of(axis, array)
    if reduction not in ("none", "mean", "sum"):
        raise OracleError("reduction", f"{quoted(reduction)} is none of none, mean, sum")
    shape = array.shape[:axis] + array.shape[axis + 1 :]
    wanted, classes = integers(targets, "targets"), array.shape[axis]
    if wanted.shape != shape:
        raise OracleError("targets", f"have the shape {wanted.shape}; the logits ask for {shape}")
    flat = wanted.reshape(-1)
    counted = flat != ignore_index
    if ((flat[counted] < 0) | (flat[counted] >= classes)).any():
        raise OracleError("targets", f"name a class that is not among the {classes:,}")
    rows = _rows(array, axis) if classes else np.zeros((len(flat), 1))
    finite, seen, none = _seen(rows)
    target = np.where(counted, flat, 0)[:, None]
    infinite = ~np.take_along_axis(seen, target, axis=-1) if len(flat) else np.zeros((0, 1), dtype=bool)
    given = np.where(counted[:, None], np.where(none, np.nan, np.inf), 0.0)
    decided = none | infinite | ~counted[:, None]
    form = formats(dtype, ("x", form))
    if reduction == "none":
        parts = Part(finite), Part(seen), Part(target), Part(None, rows=False)
        return _one_a_row(CROSS_ENTROPY, form, shape, parts, (given, decided), classes)
    keep = ~decided[:, 0]
    total = given[decided].sum() + (np.nan if reduction == "mean" and not counted.any() else 0.0)
    divisor = int(counted.sum()) if reduction == "mean" else 1
    fixed = np.array([[total]])
    whole = tuple(Part(p, rows=False) for p in (finite[keep], seen[keep], target[keep], max(divisor, 1)))
    settled = np.array([[not keep.any() or not np.isfinite(total)]])
    return Truth(
        CROSS_ENTROPY, form, (), 0, 1, (Block(0, 1, whole),), fixed if settled.any() else None, settled if settled.any() else None
    )


def _one_a_row(
    operation: Operation, form: Format, shape: tuple[int, ...], parts: tuple[Part, ...], given: Any, width: int
) -> Truth:
    """One entry of the output a row of the input."""
    values, decided = given if given[1].any() else (None, None)
    return Truth(operation, form, shape, len(shape), 1, tuple(cut(int(np.prod(shape)), width, parts)), values, decided)


def layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5, axis: int = -1, dtype: Any = None) -> Truth:
    """(x − μ)/√(σ² + ε) · weight + bias over all axes from `axis` on. ε: a float is the rational that it is, "1e-5" the decimal.

    >>> layer_norm(np.float32([1, 2, 3]), eps=0).rounded()
    array([-1.2247449,  0.       ,  1.2247449], dtype=float32)
    """
    return _norm(LAYER_NORM, x, weight, bias, eps, axis, dtype)


def rms_norm(x: Any, weight: Any = None, eps: Any = 1e-5, axis: int = -1, bias: Any = None, dtype: Any = None) -> Truth:
    """x/√(mean x² + ε) · weight + bias over all axes from `axis` on.

    >>> rms_norm(np.float64([3, 4]), eps=0).rounded()
    array([0.84852814, 1.13137085])
    """
    return _norm(RMS_NORM, x, weight, bias, eps, axis, dtype)


def _norm(operation: Operation, x: Any, weight: Any, bias: Any, eps: Any, axis: int, dtype: Any) -> Truth:
    array, form = taken(x, "x")
    axis = axis_of(axis, array)
    epsilon = real(eps, "eps")
    if epsilon < 0:
        raise OracleError("eps", "is negative")
    gain, gain_form = optional(weight, "weight", array.shape[axis:])
    shift, shift_form = optional(bias, "bias", array.shape[axis:])
    named = [("x", form), *((n, f) for n, f in (("weight", gain_form), ("bias", shift_form)) if f is not None)]
    form = formats(dtype, *named)
    if gain is not None and np.isinf(gain).any():
        raise OracleError("weight", "has an infinite entry")
    width = int(np.prod(array.shape[axis:]))
    rows = array.reshape(-1, width) if array.size else np.zeros((0, width))
    finite = np.isfinite(rows)
    bad = ~finite.all(axis=-1, keepdims=True)
    centred = operation is LAYER_NORM
    still = (rows == rows[:, :1]).all(axis=-1, keepdims=True) if centred else (rows == 0).all(axis=-1, keepdims=True)
    nan = bad if centred else np.isnan(rows).any(axis=-1, keepdims=True) | np.isinf(rows)
    nan = nan | (still if not epsilon else False)  # 0/0
    decided = np.broadcast_to(bad | nan, rows.shape)
    given = np.where(nan, np.nan, 0.0)  # a finite number over an infinite root
    for extra, product in ((gain, True), (shift, False)):
        if extra is not None:
            given = given * extra if product else given + extra
            decided = decided | ~np.isfinite(extra)
    given = np.broadcast_to(np.where(decided & np.isfinite(given) & ~bad, np.nan, given), rows.shape)
    gain, shift = (None if g is None else np.where(np.isfinite(g), g, 0.0) for g in (gain, shift))
    parts = Part(np.where(finite, rows, 0.0)), Part(gain, rows=False), Part(shift, rows=False), Part(epsilon, rows=False)
    truth = rowwise(operation, form, rows.shape, 1, parts, (given, decided))
    return Truth(operation, form, array.shape, array.ndim, truth.columns, truth.blocks, truth.given, truth.decided)


def gelu(x: Any, dtype: Any = None) -> Truth:
    """x Φ(x), Φ the distribution function of the normal distribution.

    >>> gelu(np.float32([-1, 0, 1])).rounded()
    array([-0.15865526,  0.        ,  0.8413448 ], dtype=float32)
    """
    return _activation(GELU, x, dtype)


def gelu_tanh(x: Any, dtype: Any = None) -> Truth:
    """x (1 + tanh(√(2/π) (x + 0.044715 x³)))/2, with the decimal 0.044715.

    >>> gelu_tanh(np.float32([-1])).rounded()
    array([-0.15880801], dtype=float32)
    """
    return _activation(GELU_TANH, x, dtype)


def silu(x: Any, dtype: Any = None) -> Truth:
    """x/(1 + e^−x).

    >>> silu(np.float64([-1000, 1])).rounded()
    array([-0.        ,  0.73105858])
    """
    return _activation(SILU, x, dtype)


def _activation(operation: Operation, x: Any, dtype: Any) -> Truth:
    array, form = taken(x, "x")
    finite = np.isfinite(array)
    given = np.where(array == np.inf, np.inf, np.nan)  # at −∞ each is ∞ times 0
    return entrywise(operation, formats(dtype, ("x", form)), array.shape, (np.where(finite, array, 0.0),), (given, ~finite))


def swiglu(gate: Any, up: Any, dtype: Any = None) -> Truth:
    """silu(gate) · up.

    >>> swiglu(np.float32([1]), np.float32([2])).rounded()
    array([1.4621172], dtype=float32)
    """
    (a, form), (b, other) = taken(gate, "gate"), taken(up, "up")
    b = broadcast(b, a.shape, "up")
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore"):
        sign = np.where(np.isfinite(a), np.sign(a), np.where(a == np.inf, np.inf, np.nan))
        given = sign * np.where(np.isfinite(b), np.sign(b), b)
    parts = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
    return entrywise(SWIGLU, formats(dtype, ("gate", form), ("up", other)), a.shape, parts, (given, ~finite))
